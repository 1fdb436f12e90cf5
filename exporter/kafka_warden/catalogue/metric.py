"""The definition of a metric, the data that it is read from, and the order in which series are placed."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from functools import partial
from typing import Final, Generic, TypeVar

import numpy as np

from kafka_warden.derive import Derived
from kafka_warden.derive.moves import Move
from kafka_warden.model import Bools, Floats, Parameters, PollResult, SinkStatus, Snapshot


class Rank(IntEnum):
    """Ranks in the order in which series are placed: the last ones are left out first, but `FIXED` never."""

    VERDICTS = 0
    """States of replicas with a problem, causes of stuck moves."""
    PROBLEMS = 1
    """Problems of throttles and of tiered storage, by broker; the partitions that are longest under-replicated; the
    topics with most partitions that are offline or under min.insync.replicas."""
    BROKERS = 2
    """Series by broker, node or source, except those of brokers that Metadata never described."""
    ALERTS = 3
    """Other series that expressions of alerts read. Without a series of this rank or before, an alert cannot fire."""
    DETAILS = 4
    """Series by adding replica or follower, and states without a problem."""
    CLIENTS = 5
    """Series by user and client id."""
    UNKNOWN_BROKERS = 6
    """Series by broker of ids that host replicas and that Metadata never described."""
    TOPICS = 7
    """Series by topic, zeros included: thousands of topics must not displace what is before."""
    RATES = 8
    """Bytes in and end offsets by partition."""
    FIXED = 9
    """Families whose number of series does not grow with the cluster. Placed last: one counts what is dropped."""


_BY_NAME: Final = {
    "controller_mutation_burst_tokens": Rank.ALERTS,
    "controller_mutation_quota_per_second": Rank.ALERTS,
    "controller_mutation_tokens": Rank.ALERTS,
    "controller_mutations_per_second": Rank.ALERTS,
    "leader_candidate": Rank.TOPICS,
    "log_dir_move_eta_seconds": Rank.ALERTS,
    "partition_bytes_in_per_second": Rank.RATES,
    "partition_end_offset_total": Rank.RATES,
    "partition_under_replicated_seconds": Rank.PROBLEMS,
    "reassignment_stuck": Rank.VERDICTS,
    "replica_state": Rank.VERDICTS,
    "replication_throttle_problem_seconds": Rank.PROBLEMS,
    "tiered_storage_problem_seconds": Rank.PROBLEMS,
    "topic_offline_partitions": Rank.PROBLEMS,
    "topic_remote_copy_overdue_bytes": Rank.ALERTS,
    "topic_remote_copy_stalled_seconds": Rank.ALERTS,
    "topic_under_min_isr_partitions": Rank.PROBLEMS,
}
_BY_LABEL: Final = {
    "partition": Rank.DETAILS,
    "topic": Rank.TOPICS,
    "user": Rank.CLIENTS,
    "broker": Rank.BROKERS,
    "node": Rank.BROKERS,
}


def rank_of_labels(labels: tuple[str, ...]) -> Rank:
    """Return the rank of families with these labels that have none by name."""
    return next((rank for label, rank in _BY_LABEL.items() if label in labels), Rank.FIXED)


PREFIX: Final = "kafka_warden_"


class Kind(StrEnum):
    """Prometheus' types, as far as they are used."""

    GAUGE = "gauge"
    COUNTER = "counter"
    INFO = "info"
    SUMMARY = "summary"
    """Quantiles, which Prometheus refuses on anything else."""


Labels = tuple[str, ...]
Sample = tuple[Labels, float]
"""Label values in the order of the metric's label names, and a value. NaN means unknown and is left out."""


Figures = Mapping[str, Mapping[Labels, float | None]]
"""Name of a family, without prefix, to its samples: what the parts of the exporter count. `None` is not shown."""


@dataclass(frozen=True, slots=True)
class Build:
    """Which program this is."""

    version: str
    revision: str
    python: str


@dataclass(frozen=True, slots=True)
class ExporterState:
    """Data on the exporter itself, available with or without a snapshot."""

    polled: PollResult
    """Of the last poll."""
    build: Build
    snapshot_time: float | None = None
    dropped: Mapping[tuple[str, Rank], int] = field(default_factory=dict)
    """Full name of a family, and rank, to the series that are left out."""
    sinks: Mapping[str, SinkStatus] = field(default_factory=dict)
    """Destinations of history, by the name of the sink."""
    figures: Figures = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class View:
    """Everything that metrics are read from."""

    derived: Derived
    exporter: ExporterState
    topics: Bools
    """(T,) topics that may have series: `topics.allow` and `topics.deny`."""
    parameters: Parameters = field(default_factory=Parameters)
    uncounted: Bools | None = None
    """(T,) topics that `count` leaves out: `topics.uncounted`. `None` for none."""

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that the derived values are from."""
        return self.derived.indexed.snapshot

    def unknown_brokers(self) -> frozenset[str]:
        """Return the ids that host replicas and that Metadata never described: a broken cluster may have thousands."""
        return frozenset(str(each.id) for each in self.snapshot.brokers.values() if each.gone and not each.host)

    def count(self, partitions: Bools) -> tuple[int, int]:
        """Count chosen rows (P,) for critical alerts: without those of `topics.uncounted`, and only these."""
        total = int(partitions.sum())
        if self.uncounted is None or not total:
            return total, 0
        left_out = int(self.uncounted[self.snapshot.partitions.topic[partitions]].sum())
        return total - left_out, left_out

    def brokers(self, column: np.ndarray) -> Iterator[Sample]:
        """Read a column (B,) by broker."""
        for broker, value in zip(self.derived.indexed.brokers.tolist(), column.tolist(), strict=True):
            yield (str(broker),), value

    def leaders(self, column: np.ndarray) -> Iterator[Sample]:
        """Read a column (B,) by leader, without brokers of which it is not known what they lead."""
        hidden = set(map(str, self.derived.indexed.hidden))
        return ((labels, value) for labels, value in self.brokers(column) if labels[0] not in hidden)

    def partitions(self, column: Floats, rows: np.ndarray) -> "Counted":
        """Read the known values of some rows of a column (P,) by topic and partition."""
        table, names = self.snapshot.partitions, self.snapshot.topics
        chosen = rows[self.topics[table.topic[rows]] & ~np.isnan(column[rows])] if len(rows) else rows
        topics, numbers = table.topic[chosen].tolist(), table.number[chosen].tolist()
        samples = (
            ((names[topic], str(number)), value)
            for topic, number, value in zip(topics, numbers, column[chosen].tolist(), strict=True)
        )
        return Counted(samples, len(chosen))

    def replicas(self, column: np.ndarray, rows: np.ndarray) -> Iterator[Sample]:
        """Read some rows of a column (R,) by topic, partition and broker."""
        brokers = self.snapshot.replicas.broker
        table, names = self.snapshot.partitions, self.snapshot.topics
        for row in rows.tolist():
            partition = self.snapshot.replicas.partition[row]
            topic = table.topic[partition]
            if self.topics[topic]:
                yield (names[topic], str(table.number[partition]), str(brokers[row])), float(column[row])


@dataclass(frozen=True, slots=True)
class Counted:
    """Samples, all known and with labels of their own, and how many there are, so that not all must be read."""

    samples: Iterator[Sample]
    count: int

    def __iter__(self) -> Iterator[Sample]:
        return self.samples

    def __len__(self) -> int:
        return self.count


Data = TypeVar("Data")
Read = Callable[[View], Iterable[Sample]]


@dataclass(frozen=True, slots=True)
class Family(Generic[Data]):
    """One metric family."""

    name: str
    """Without the prefix."""
    help: str
    """What it is, in at most 160 characters."""
    labels: Labels
    read: Callable[[Data], Iterable[Sample]]
    kind: Kind = Kind.GAUGE
    rest: Callable[[Data], Iterable[Sample]] | None = None
    """Further samples, which have the rank of the labels, whatever that of the name."""

    @property
    def full_name(self) -> str:
        """The name in `/metrics`."""
        return PREFIX + self.name

    @property
    def rank(self) -> Rank:
        """When its series are placed."""
        return _BY_NAME[self.name] if self.name in _BY_NAME else rank_of_labels(self.labels)


@dataclass(frozen=True, slots=True)
class Metric(Family[View]):
    """A family that needs a snapshot."""

    source: str = field(kw_only=True)
    """The requests, beans or options that it is made of, and its document. For documents only."""
    column: Callable[[View], Floats] | None = field(default=None, kw_only=True)
    """Values (R,) of a family by replica, NaN where it has no series: to read some of very many."""
    value: Callable[[Move], float | None] | None = field(default=None, kw_only=True)
    """The same for a family by move: that of one."""


class SelfMetric(Family[ExporterState]):
    """A family that is served with or without a snapshot."""


def known(samples: Iterable[tuple[Labels, float | None]]) -> Iterator[Sample]:
    """Leave out unknown values."""
    return ((labels, value) for labels, value in samples if value is not None)


def by_broker(name: str, about: str, column: Callable[[Derived], np.ndarray], *, source: str) -> Metric:
    """Make a gauge of a derived column (B,)."""
    return Metric(name, about, ("broker",), lambda view: view.brokers(column(view.derived)), source=source)


def keyed(values: Iterable[tuple[tuple[object, ...], float]]) -> Iterator[Sample]:
    """Read the items of a mapping whose keys are labels."""
    return ((tuple(map(str, key)), value) for key, value in values)


def worst_first(column: np.ndarray, chosen: Bools) -> np.ndarray:
    """Order the chosen rows so that the budget, which cuts from the end, leaves the largest."""
    rows = np.flatnonzero(chosen)
    return rows[np.argsort(-column[rows], kind="stable")]


def broker_bean(short: str, view: View) -> Iterator[Sample]:
    """Read one attribute of every broker by its short name (sources/bean_list.py)."""
    for broker, beans in view.snapshot.broker_beans.items():
        if short in beans.values:
            yield (str(broker),), beans.values[short]


def broker_counter(name: str, help_text: str, *, source: str) -> Metric:
    """Make a counter out of a bean's Count, whose short name is the metric's without `broker_`."""
    read = partial(broker_bean, name.removeprefix("broker_"))
    return Metric(name, help_text, ("broker",), read, Kind.COUNTER, source=source)


def broker_gauge(name: str, help_text: str, short: str = "", *, source: str) -> Metric:
    """Make a gauge out of a bean's value; its short name is by default the metric's."""
    return Metric(name, help_text, ("broker",), partial(broker_bean, short or name), source=source)
