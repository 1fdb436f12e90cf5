"""Values of the model that have a form of their own in the tables, and the way back."""

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_warden.formulas.throttle_problems import Problem as ThrottleProblem
from kafka_warden.history.poll import topic_id_bytes, topic_id_text
from kafka_warden.model import LogGaps, ProcessBeans, Side, Source, SourceStatus


@dataclass(frozen=True, slots=True)
class MissingLog:
    """A replica of which its broker showed no log."""

    topic: str
    topic_id: str
    partition: int


@dataclass(frozen=True, slots=True)
class StrayLog:
    """A log that the metadata does not assign to its broker."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Gaps:
    """`LogGaps`."""

    at: float
    missing: tuple[MissingLog, ...] | None
    stray: tuple[StrayLog, ...]

    @classmethod
    def of(cls, gaps: LogGaps) -> "Gaps":
        """Write."""
        missing = None
        if gaps.missing is not None:
            missing = tuple(
                MissingLog(topic, topic_id_text(uid), number) for topic, uid, number in sorted(gaps.missing)
            )
        return cls(gaps.at, missing, tuple(StrayLog(topic, number) for topic, number in sorted(gaps.stray)))

    def back(self) -> LogGaps:
        """Read."""
        missing = None
        if self.missing is not None:
            missing = frozenset((log.topic, topic_id_bytes(log.topic_id), log.partition) for log in self.missing)
        return LogGaps(self.at, missing, frozenset((log.topic, log.partition) for log in self.stray))


@dataclass(frozen=True, slots=True)
class Directory:
    """`LogDir` of the broker whose row it is in."""

    path: str
    online: bool
    bytes: int
    usable_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class PlacedLog:
    """Where one of the logs lies that are asked about in every poll."""

    topic: str
    partition: int
    log_dir: str


@dataclass(frozen=True, slots=True)
class Beans:
    """`ProcessBeans`, but for those of clients, which are in `quotas`."""

    at: float
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ControllerBeans:
    """The same of a controller."""

    node: str
    at: float
    values: Mapping[str, float]

    @classmethod
    def of(cls, node: str, beans: ProcessBeans) -> "ControllerBeans":
        """Write."""
        return cls(node, beans.at, beans.values)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`SourceStatus` of one source at one broker."""

    source: Source
    broker: str
    up: bool
    duration: float
    last_success: float | None
    errors: Mapping[str, int]

    @classmethod
    def of(cls, key: tuple[Source, str], status: SourceStatus) -> "Outcome":
        """Write."""
        return cls(*key, status.up, status.duration, status.last_success, status.errors)

    def back(self) -> tuple[tuple[Source, str], SourceStatus]:
        """Read."""
        return (self.source, self.broker), SourceStatus(self.up, self.duration, self.last_success, self.errors)


@dataclass(frozen=True, slots=True)
class Problem:
    """A throttle problem of the broker whose row it is in."""

    side: Side
    problem: ThrottleProblem
    seconds: float


@dataclass(frozen=True, slots=True)
class FlowJudged:
    """What catches up on the broker whose row it is in, from one leader and under the same limits."""

    leader: int
    leader_listed: bool
    follower_listed: bool
    remaining: float | None
    eta: float | None
    side_eta: float | None


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """The broker and side that binds."""

    broker: int
    side: Side
