"""What Prometheus stores of one exporter: a healthy cluster, then changes over time.

Times are seconds since the start of the test. A scrape stores the result of the last poll. If it fails, `up` is 0, and
every other series is missing.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kafka_warden.catalogue import OF_SNAPSHOT, PREFIX
from tests.support.over_time import HOUR, MINUTE, Function, Value, constant, during
from tests.support.promtool import Series, selector
from tests.support.rules import SERVED

_OF_SNAPSHOT: Final = {metric.name for metric in OF_SNAPSHOT}
_START: Final = "process_start_time_seconds"
_WITHOUT_POLL: Final = {"build_info", "poll_interval_seconds", "config_last_reload_successful", _START}
_FIRST_POLL: Final = 10.0  # seconds until a new process has results
_VERDICTS: Final = {"reassignment_stuck", "replication_throttle_problem_seconds", "tiered_storage_problem_seconds"}
_DECIDED: Final = 35.0
"""Seconds until a new process has the three polls that its verdicts need."""
_ABSENT_AT_0: Final = {"broker_state", "tiered_storage_problem_seconds"}
_COUNTERS: Final = {"source_errors_total", "topic_isr_shrinks_total", "topic_isr_expands_total"}
"""A new process counts them from 0 on. The broker counts those of beans."""


class Exporter:
    """The series of one exporter: those of a healthy cluster, until `set` and `add` change them.

    While `snapshot_timestamp_seconds` is absent, so is everything that needs a snapshot.

    Args:
        minutes: Length of the test.
        step: Scrape interval in seconds.
        cluster: Label of the target; None without one.
        instance: Label of the target.
        brokers: Ids of the brokers.
        poll: Poll interval in seconds.
        outages: When no process runs, as (stop, start), in order.
        lost: Whether the scrape at this time fails although the process runs.
        target: When Prometheus has the target, as (first, last).
        labels: More labels of the target.
    """

    def __init__(
        self,
        minutes: float,
        *,
        step: int = 15,
        cluster: str | None = "prod",
        instance: str = "a:10073",
        brokers: Sequence[int] = (1, 2, 3),
        poll: float = 10.0,
        outages: Sequence[tuple[float, float]] = (),
        lost: Callable[[float], bool] = lambda _: False,
        target: tuple[float, float] = (-math.inf, math.inf),
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self.step, self.brokers, self.minutes, self._poll = step, brokers, minutes, poll
        self.outages, self._lost, self._target = tuple(outages), lost, target
        self._labels = {"cluster": cluster or "", "job": "kafka-warden", "instance": instance, **(labels or {})}
        self._series: dict[tuple[str, tuple[tuple[str, str], ...]], Function] = {(_START, ()): self._started}
        self._together = [self]
        self._serve_cluster()
        for broker in brokers:
            self._serve_broker(broker)

    def beside(self, **given: Any) -> "Exporter":
        """Add an exporter to the same test, with these intervals, cluster and brokers where no others are given."""
        same = {"step": self.step, "poll": self._poll, "cluster": self._labels["cluster"], "brokers": self.brokers}
        made = Exporter(self.minutes, **{**same, **given})
        made._together = self._together
        self._together.append(made)
        return made

    def _serve_cluster(self) -> None:
        self.set("build_info", 1, version="0.1.0", revision="abc", python="3.11")
        self.name("")
        self.set("controller_info", 1, node=1)
        self.set("snapshot_timestamp_seconds", lambda t: t)
        self.set("poll_interval_seconds", self._poll)
        self.set("reassignment_deadline_seconds", 4 * HOUR)
        for name in ("cluster_reachable", "controller_reachable", "config_last_reload_successful"):
            self.set(name, 1)
        for name in ("offline", "under_min_isr", "unknown_min_isr", "at_min_isr", "under_replicated"):
            self.set(f"{name}_partitions", 0)
        for name in ("reassigning_partitions", "dropped_verdicts", "undescribed_topics"):
            self.set(name, 0)
        for source in ("metadata", "reassignments", "configs", "fenced_brokers", "quorum"):
            self.set("up", 1, source=source, broker="")

    def _serve_broker(self, broker: int) -> None:
        for source in ("offsets", "configs", "log_dirs", "jmx"):
            self.set("up", 1, source=source, broker=broker)
        self.set("broker_state", 1, broker=broker, state="active")
        for state in ("offline", "moving", "bootstrapping", "throttled", "stuck", "slow", "recovering"):
            self.set("broker_out_of_sync_replicas", 0, broker=broker, state=state)
        self.set("broker_replicas", 1000, broker=broker)
        self.set("broker_replica_lag_unknown_replicas", 0, broker=broker)
        for name, value in (("online", 1), ("usable_bytes", 0.6e12), ("total_bytes", 1e12)):
            self.set(f"log_dir_{name}", value, broker=broker, log_dir="/data/a")

    def set(self, name: str, value: Value, **labels: object) -> None:
        """Serve this series of the catalogue; it replaces the value that the exporter served before.

        Raises:
            KeyError: The catalogue has no such metric.
            ValueError: The metric has other labels.
        """
        if SERVED[name] != labels.keys():
            raise ValueError(f"{name} has the labels {sorted(SERVED[name])}, not {sorted(labels)}")
        self._series[_key(name, labels)] = constant(value)

    def name(self, name: str) -> None:
        """Let the cluster have this name in its info metric; empty for none."""
        self._series = {key: value for key, value in self._series.items() if key[0] != "cluster_info"}
        labels = {"cluster_id": f"id-{self._labels['cluster']}", "cluster_name": name, "kafka_version": "4.1.1"}
        self.set("cluster_info", 1, **labels)

    def add(self, name: str, value: Callable[[float], float | None], **labels: object) -> None:
        """Add `value` to a series that is served; the sum is absent where one of both is."""
        before = self._series[_key(name, labels)]
        self.set(name, lambda t: None if (a := before(t)) is None or (b := value(t)) is None else a + b, **labels)

    def end(self, time: float, **labels: object) -> None:
        """Serve no series with these labels from `time` on."""
        for key, function in self._series.items():
            if {(label, str(value)) for label, value in labels.items()} <= set(key[1]):
                self._series[key] = during(0, time, function, None)

    def answers(self, time: float) -> bool | None:
        """Return whether the scrape at this time succeeds; None without a target."""
        if not self._target[0] <= time <= self._target[1]:
            return None
        return not self._lost(time) and not any(stop <= time < start for stop, start in self.outages)

    def series_of_test(self) -> list[Series]:
        """Return the series of this exporter and of all beside it."""
        return [each for exporter in self._together for each in exporter.series()]

    def series(self) -> list[Series]:
        """Return the names and values of all series, `up` included, one value for each scrape."""
        times = [number * float(self.step) for number in range(int(self.minutes * MINUTE / self.step) + 1)]
        scrapes = [(time, self.answers(time)) for time in times]
        stored: list[Series] = [
            (selector("up", self._labels), [None if up is None else float(up) for _, up in scrapes])
        ]
        for (name, labels), function in self._series.items():
            full = selector(name if name == _START else PREFIX + name, self._labels | dict(labels))
            stored.append((full, [self._served(name, function, time) if up else None for time, up in scrapes]))
        return stored

    def _started(self, time: float) -> float:
        return max((start for _, start in self.outages if start <= time), default=-HOUR)

    def _served(self, name: str, function: Function, time: float) -> float | None:
        if name in _WITHOUT_POLL:
            return function(time)
        started, polled = self._started(time), time // self._poll * self._poll
        withdrawn = name in _OF_SNAPSHOT and self._series["snapshot_timestamp_seconds", ()](polled) is None
        if withdrawn or time < started + (_DECIDED if name in _VERDICTS else _FIRST_POLL):
            return None
        before = function(started) if started > 0 and name in _COUNTERS else None
        value = function(polled)
        return None if value is None or (not value and name in _ABSENT_AT_0) else value - (before or 0.0)


def _key(name: str, labels: Mapping[str, object]) -> tuple[str, tuple[tuple[str, str], ...]]:
    return name, tuple(sorted((label, str(value)) for label, value in labels.items()))
