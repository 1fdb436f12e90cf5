"""Reads the metrics of a sidecar, poll by poll."""

import http
from collections.abc import Callable, Iterator

from prometheus_client.parser import text_string_to_metric_families

from sandbox.errors import SandboxError
from sandbox.monitoring_sidecar import Sidecar
from sandbox.waiting import wait_for

PREFIX = "kafka_warden_"
POLL_SECONDS = 60.0
"""Time limit for the next poll."""
LOOK_SECONDS = 0.25


class Watch:
    """Waits for polls and for values in them. Names are without `kafka_warden_`."""

    def __init__(self, sidecar: Sidecar) -> None:
        self._sidecar = sidecar

    def most(self, name: str, **labels: str) -> float:
        """The greatest sample that has these labels, 0 where there is none."""
        return max(self._values(name, labels), default=0.0)

    def least(self, name: str, **labels: str) -> float:
        """The least sample that has these labels, 0 where there is none."""
        return min(self._values(name, labels), default=0.0)

    def until(self, predicate: Callable[[], bool], seconds: float, what: str) -> None:
        """Wait until a condition on the metrics holds.

        Raises:
            WaitTimeoutError: It did not within `seconds`.
        """
        wait_for(predicate, seconds, what, LOOK_SECONDS)

    def polls(self, count: int) -> None:
        """Wait for this number of new polls."""
        for _ in range(count):
            last = self.most("snapshot_timestamp_seconds")

            def another(last: float = last) -> bool:
                return self.most("snapshot_timestamp_seconds") > last

            self.until(another, POLL_SECONDS, "the sidecar polls again")

    def _values(self, name: str, labels: dict[str, str]) -> Iterator[float]:
        status, body = self._sidecar.request("GET", "/metrics")
        if status != http.HTTPStatus.OK:
            raise SandboxError(f"{self._sidecar.name} answered {status} to /metrics:\n{self._sidecar.log_tail()}")
        for family in text_string_to_metric_families(body.decode()):
            for sample in family.samples:
                if sample.name == PREFIX + name and labels.items() <= sample.labels.items():
                    yield float(sample.value)
