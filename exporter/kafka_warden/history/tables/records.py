"""Values of the model that are stored in another form, with both conversions."""

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_warden.formulas.throttle_problems import Problem as ThrottleProblem
from kafka_warden.history.poll import topic_id_bytes, topic_id_text
from kafka_warden.model import LogGaps, Side, Source, SourceStatus


@dataclass(frozen=True, slots=True)
class MissingLog:
    """A replica without a log on its broker."""

    topic: str
    topic_id: str
    partition: int


@dataclass(frozen=True, slots=True)
class StrayLog:
    """A log that is not assigned to its broker."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Gaps:
    """`LogGaps`."""

    at: float
    missing: tuple[MissingLog, ...] | None
    stray: tuple[StrayLog, ...] | None

    @classmethod
    def from_model(cls, gaps: LogGaps) -> "Gaps":
        """Convert from the model."""
        missing = None
        if gaps.missing is not None:
            missing = tuple(
                MissingLog(topic, topic_id_text(uid), number) for topic, uid, number in sorted(gaps.missing)
            )
        stray = None if gaps.stray is None else tuple(StrayLog(topic, number) for topic, number in sorted(gaps.stray))
        return cls(gaps.at, missing, stray)

    def to_model(self) -> LogGaps:
        """Convert to the model."""
        missing = None
        if self.missing is not None:
            missing = frozenset((log.topic, topic_id_bytes(log.topic_id), log.partition) for log in self.missing)
        stray = None if self.stray is None else frozenset((log.topic, log.partition) for log in self.stray)
        return LogGaps(self.at, missing, stray)


@dataclass(frozen=True, slots=True)
class Directory:
    """`LogDir` without its broker."""

    path: str
    online: bool
    bytes: int
    usable_bytes: int
    total_bytes: int
    cordoned: bool = False


@dataclass(frozen=True, slots=True)
class PlacedLog:
    """Log directory of one log that is requested in every poll."""

    topic: str
    partition: int
    log_dir: str


@dataclass(frozen=True, slots=True)
class Beans:
    """`ProcessBeans` without the beans of clients, which are in `quotas`."""

    at: float
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ControllerBeans:
    """`Beans` of a controller."""

    node: str
    at: float
    values: Mapping[str, float]


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
    def from_model(cls, key: tuple[Source, str], status: SourceStatus) -> "Outcome":
        """Convert from the model."""
        return cls(*key, status.up, status.duration, status.last_success, status.errors)

    def to_model(self) -> tuple[tuple[Source, str], SourceStatus]:
        """Convert to the model."""
        return (self.source, self.broker), SourceStatus(self.up, self.duration, self.last_success, self.errors)


@dataclass(frozen=True, slots=True)
class Problem:
    """A throttle problem of a broker."""

    side: Side
    problem: ThrottleProblem
    seconds: float


@dataclass(frozen=True, slots=True)
class DerivedFlow:
    """The flow from one leader to a broker under the same limits."""

    leader: int
    leader_listed: bool
    follower_listed: bool
    remaining: float | None
    eta: float | None
    side_eta: float | None


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """The broker and side that limit the moves."""

    broker: int
    side: Side
