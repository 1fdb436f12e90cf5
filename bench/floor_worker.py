"""A worker that sends the bare requests of a poll and does not decode the replies.

Its steps: `bytes`, the requests as encoded once and the replies left as they come, so that the time is the brokers' and
the network's; `kafka-python`, requests encoded and replies decoded each time, as a program would that knows no better.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.network import Network
from kafka_warden.clients.kafka.properties import translate
from kafka_warden.clients.kafka.requests import (
    DescribeLogDirsRequest,
    ListOffsetsRequest,
    MetadataRequest,
    Repeated,
    request_log_dirs,
    request_metadata,
    request_offsets,
)
from kafka_warden.clock import monotonic
from kafka_warden.poller.tables import Rows
from kafka_warden.settings.strict import parse_address
from kafka_warden.sources.metadata import MetadataQuestion
from kafka_warden.sources.offsets import LATEST

TIME_LIMIT = 60.0
METADATA, LOG_DIRS = "metadata", "log dirs"


def _repeated(request_class: Any, build: Callable[[], Any]) -> Repeated:
    return Repeated(request_class, lambda version: build().encode(version=version))


class _Broker:
    """One broker: its link, and the requests that it is asked in every poll, by the round of the poll."""

    def __init__(self, link: BrokerLink, rows: Rows, broker: int) -> None:
        self.link = link
        self.builders: dict[str, tuple[Any, Callable[[], Any]]] = {
            "followers": (ListOffsetsRequest, lambda: request_offsets(rows.followed[broker], LATEST)),
            "leaders": (ListOffsetsRequest, lambda: request_offsets(rows.led[broker], LATEST)),
            LOG_DIRS: (DescribeLogDirsRequest, request_log_dirs),
        }
        self.repeated = {name: _repeated(*builder) for name, builder in self.builders.items()}

    async def ask(self, name: str, *, decoded: bool) -> None:
        request = self.builders[name][1]() if decoded else self.repeated[name]
        await self.link.ask(request, monotonic() + TIME_LIMIT)


class _Floor:
    def __init__(self, bootstrap: str) -> None:
        self.network = Network()
        self._settings = translate({"bootstrap.servers": bootstrap}, {})
        address = parse_address(bootstrap.partition(",")[0])
        self._door = BrokerLink(self.network, self._settings, address.host, address.port)
        self._metadata = _repeated(MetadataRequest, request_metadata)
        self.brokers: list[_Broker] = []
        self.network.run(self._meet)

    async def _meet(self) -> None:
        layout = await MetadataQuestion().read(self._door, monotonic() + TIME_LIMIT)
        rows = Rows(layout)
        for broker in np.unique(layout.broker).tolist():
            known = layout.brokers[broker]
            self.brokers.append(_Broker(BrokerLink(self.network, self._settings, known.host, known.port), rows, broker))

    def poll(self, *, decoded: bool, log_dirs: bool) -> dict[str, float]:
        """Send everything once, in the order of a poll: metadata, all followers, all leaders, log directories."""
        wall, cpu = time.perf_counter(), time.process_time()

        async def poll() -> None:
            await self._door.ask(request_metadata() if decoded else self._metadata, monotonic() + TIME_LIMIT)
            for name in ("followers", "leaders", *([LOG_DIRS] if log_dirs else [])):
                async with asyncio.TaskGroup() as tasks:
                    for broker in self.brokers:
                        tasks.create_task(broker.ask(name, decoded=decoded))

        self.network.run(poll)
        return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}

    async def close_links(self) -> None:
        self._door.close()
        for broker in self.brokers:
            broker.link.close()


@contextmanager
def prepare(argument: dict[str, Any]) -> Iterator[tuple[None, Callable[[str], Any]]]:
    """Connect to `argument["bootstrap"]`; `argument["everything"]` adds log directories to each poll."""
    floor = _Floor(argument["bootstrap"])
    try:
        yield None, lambda name: floor.poll(decoded=name == "kafka-python", log_dirs=argument["everything"])
    finally:
        floor.network.run(floor.close_links)
        floor.network.close()
