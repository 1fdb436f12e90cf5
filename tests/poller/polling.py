"""A poller on scripted brokers and virtual time."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka_warden.clients.kafka.properties import translate
from kafka_warden.cycle import Cycle
from kafka_warden.errors import PollAbandonedError
from kafka_warden.model import Parameters, PollResult, Snapshot, Source, SourceStatus
from kafka_warden.poller import Poller, PollerSettings
from kafka_warden.poller.beans import JmxQuestions
from kafka_warden.settings.secrets import Secret
from kafka_warden.state import StateFile
from tests import scene
from tests.building import known
from tests.support.scripted import ScriptedCluster, VirtualClock

INTERVAL, DEADLINE = 10.0, 5.0
CONNECTED = "connected"


@dataclass(slots=True)
class Polling:
    """A poller with its brokers. `took` are the seconds of the last poll."""

    brokers: ScriptedCluster
    clock: VirtualClock
    poller: Poller
    took: float = 0.0

    def poll(self, after: float = INTERVAL) -> Snapshot:
        """Poll once, so many seconds after the end of the poll before; the cluster has been known before."""
        return known(self.poll_any(after))

    def poll_any(self, after: float = INTERVAL) -> Snapshot | None:
        """Poll as `poll` does; return `None` when no broker answers."""
        self.clock.advance(after)
        self.brokers.do("forget")
        started = self.clock.monotonic()
        result = self.poller.poll()
        self.took = self.clock.monotonic() - started
        return result if isinstance(result, Snapshot) else None

    @property
    def last(self) -> PollResult:
        """The result of the last poll, also of a cycle."""
        return self.poller._last

    def configure(self, **settings: Any) -> None:
        """Use other settings from the next poll on: the default ones, except these."""
        self.poller.configure(PollerSettings(interval=INTERVAL, deadline=DEADLINE, **settings), None, None)

    def cycle(self, state: Path | None = None, **parameters: Any) -> Cycle:
        """Make the page of the polls, with a state file if there is a path."""
        given = Parameters(**{"poll_interval": INTERVAL, **parameters})
        return Cycle(self.poller, given, scene.BUILD, StateFile(state) if state else None, clock=self.clock)

    def limit(self, versions: Mapping[str, tuple[int, int]]) -> None:
        """Let all brokers know these versions only, and close their connections."""
        self.brokers.each("versions", versions=versions)
        self.brokers.each("disconnect")

    def down(self) -> dict[str, str]:
        """Return the sources that did not answer in the last poll, with their broker, and all their reasons so far."""
        return {
            f"{source}{broker}": ",".join(status.errors)
            for (source, broker), status in self.last.status.items()
            if not status.up
        }

    @property
    def lead(self) -> int | None:
        """The broker that is asked for the metadata first."""
        return self.poller._state.lead

    def connections(self) -> int:
        return int(self.brokers.do("received").get(CONNECTED, 0))

    def status(self, source: Source, broker: str = "") -> SourceStatus:
        return self.last.status[source, broker]


@contextmanager
def polling(
    brokers: ScriptedCluster,
    clock: VirtualClock,
    properties: Mapping[str, str] | None = None,
    jmx: JmxQuestions | None = None,
    **settings: Any,
) -> Iterator[Polling]:
    kafka = {"bootstrap.servers": brokers.bootstrap, **(properties or {})}
    secrets = {"sasl.password": Secret("secret")} if "sasl.username" in kafka else {}
    poller = Poller(
        PollerSettings(interval=INTERVAL, deadline=DEADLINE, **settings), translate(kafka, secrets), jmx, clock
    )
    try:
        yield Polling(brokers, clock, poller)
    finally:
        with suppress(PollAbandonedError):  # where the test has closed it
            poller.close()
