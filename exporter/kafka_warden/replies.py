"""Parts of a snapshot that are replies to one question: log directories of brokers, and the metadata quorum."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple


@dataclass(frozen=True, slots=True)
class FutureReplica:
    """A replica on its way to another log directory of the same broker (KIP-113)."""

    topic: str
    partition: int
    broker: int
    log_dir: Annotated[str, "new log directory"]
    size: Annotated[int, "size in the new directory", "bytes"]
    offset_lag: Annotated[int, "lag that the broker reports", "messages"]


@dataclass(frozen=True, slots=True)
class LogDir:
    """One log directory of one broker. Bytes; `UNKNOWN` where the broker does not report it (offline, before 3.3)."""

    broker: int
    path: Annotated[str, "path"]
    online: Annotated[bool, "usable"]
    bytes: Annotated[int, "size of its logs; null while it is offline", "bytes"]
    usable_bytes: Annotated[int, "free bytes of its volume (Kafka 3.3)", "bytes"]
    total_bytes: Annotated[int, "size of its volume (Kafka 3.3)", "bytes"]
    cordoned: Annotated[bool, "cordoned (Kafka 4.3)"] = False
    """`cordoned.log.dirs` has it: it keeps its replicas and gets no new ones (KIP-1066, Kafka 4.3)."""


def for_new_replicas(directories: Iterable[LogDir]) -> list[LogDir]:
    """Return which log directories of a broker may get a new replica of its choice; none if all are offline.

    If all that are online are cordoned, the broker uses one of them. No new replica should get there:
    Kafka places none on such a broker, and from 4.4 on it refuses assignments that name it (KAFKA-20832).
    """
    online = [directory for directory in directories if directory.online]
    return [directory for directory in online if not directory.cordoned] or online


def cordoned_brokers(directories: Iterable[LogDir]) -> frozenset[int]:
    """Return the brokers whose log directories are all cordoned, offline ones left out."""
    online = [directory for directory in directories if directory.online]
    return frozenset(each.broker for each in online) - {each.broker for each in online if not each.cordoned}


class MissingLog(NamedTuple):
    """A replica without a log on its broker."""

    topic: Annotated[str, "topic name"]
    topic_id: Annotated[bytes, "topic id"]
    partition: Annotated[int, "partition number"]


class StrayLog(NamedTuple):
    """A log that is not assigned to its broker."""

    topic: Annotated[str, "topic name"]
    partition: Annotated[int, "partition number"]


@dataclass(frozen=True, slots=True)
class LogGaps:
    """Where the log directories of one broker and the metadata of the same poll differ."""

    at: Annotated[float, "clock of that poll", "monotonic s"]
    missing: Annotated[frozenset[MissingLog] | None, "replicas without a log; null while a directory is offline"]
    """`None` while a log directory is offline: they may lie there."""
    stray: Annotated[frozenset[StrayLog] | None, "logs without a replica; null if too many"]
    """Future replicas are none. `None` if there are too many to keep."""


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    """One member of the metadata quorum (DescribeQuorum). Times are Unix seconds, `None` where not reported."""

    node: Annotated[int, "node id"]
    voter: Annotated[bool, "voter; else observer"]
    log_end_offset: Annotated[int, "end of its metadata log", "offset"]
    last_caught_up_time: Annotated[float | None, "when it was last caught up", "Unix s"]


@dataclass(frozen=True, slots=True)
class Quorum:
    """The metadata quorum. `controllers` maps a node id to `host:port` of its listener (v2, Kafka 3.9+)."""

    leader: Annotated[int, "node id of the active controller"]
    leader_epoch: Annotated[int, "leader epoch"]
    high_watermark: Annotated[int, "high watermark of the metadata log", "offset"]
    replicas: Annotated[tuple[QuorumReplica, ...], "voters and observers"] = ()
    controllers: Annotated[Mapping[int, str], "`host:port` by node id (Kafka 3.9)"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ControllerWindow:
    """`controller.quota.window.num` x `controller.quota.window.size.seconds` of the active controller."""

    samples: Annotated[int, "`controller.quota.window.num`"]
    seconds: Annotated[float, "`controller.quota.window.size.seconds`", "s"]
