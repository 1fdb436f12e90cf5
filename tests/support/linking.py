"""Links to scripted brokers on virtual time."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.network import Network
from kafka_warden.clients.kafka.properties import translate
from kafka_warden.clients.kafka.requests import request_metadata
from kafka_warden.errors import KafkaWardenError
from tests.support.scripted import ScriptedCluster, VirtualClock

DEADLINE: Final = 30.0
"""Virtual seconds for a question."""
REAL_DEADLINE: Final = 30.0
"""Real seconds for threads and for the loop to finish what is under way."""
METADATA: Final = request_metadata()
CLUSTER: Final = "scripted-cluster-00001"
CONNECTED: Final = "connected"


@dataclass
class Client:
    """Links to scripted brokers. `took` are the seconds of the last question."""

    brokers: ScriptedCluster
    clock: VirtualClock
    network: Network
    links: list[BrokerLink] = field(default_factory=list)
    took: float = 0.0

    def link(self, broker: int = 1, host: str = "127.0.0.1", secret: Any = None, **properties: Any) -> BrokerLink:
        """Make a link to a broker. Underscores in the names of properties mean dots."""
        named = {name.replace("_", "."): value for name, value in properties.items()}
        settings = translate({"bootstrap.servers": "unused:1", **named}, {"sasl.password": secret} if secret else {})
        self.links.append(BrokerLink(self.network, settings, host, self.brokers.ports[broker]))
        return self.links[-1]

    def ask(self, link: BrokerLink, within: float = DEADLINE, request: Any = METADATA) -> str:
        """Ask for the metadata; return the id of the cluster."""
        began = self.clock.monotonic()
        try:
            return str(self.network.run(lambda: link.ask(request, began + within)).cluster_id)
        finally:
            self.took = self.clock.monotonic() - began

    def fail(self, link: BrokerLink, error: type[KafkaWardenError], message: str | None = None, **asked: Any) -> None:
        """Ask a question that fails with this error."""
        with pytest.raises(error, match=message):
            self.ask(link, **asked)

    def close(self) -> None:
        async def close() -> None:
            for link in self.links:
                link.close()
            await asyncio.sleep(0)

        self.network.run(close)

    def connections(self) -> int:
        return len(self.brokers.seen(CONNECTED))
