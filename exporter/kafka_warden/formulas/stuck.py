"""When a move is stuck, and the first cause that explains it. docs/spec/moves.md#stuck.

Evaluated first on the sum of remaining bytes of all moves between a pair of brokers, target and source, under the same
limits: one replica among many waits long for its turn, and that is healthy.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kafka_warden.formulas.folds import Stall
from kafka_warden.formulas.law import DEFAULT_WINDOW, Verdict, Window

POLLS: Final = 3
"""No new minimum over three polls ..."""

WINDOWS: Final = 2
"""... and two quota windows: a lowered limit stops everything for most of one."""

TURNS: Final = 5
"""Turns that a replica misses before it is stuck while its broker advances; the longest healthy wait seen is 69 s."""


class Cause(StrEnum):
    """Why a move is stuck; values of the label `cause`, in order of precedence."""

    TARGET_DOWN = "target_down"
    LEADER_UNRESPONSIVE = "leader_unresponsive"
    NO_LEADER = "no_leader"
    LOG_DIR_OFFLINE = "log_dir_offline"
    LOG_DIR_FULL = "log_dir_full"
    TARGET_DISK_TOO_SMALL = "target_disk_too_small"
    FETCHER_FAILED = "fetcher_failed"
    AUX_STATE_ERROR = "aux_state_error"
    THROTTLE_BLOCKED = "throttle_blocked"
    THROTTLE_BELOW_INBOUND = "throttle_below_inbound"
    COPIED_NOT_COMPLETED = "copied_not_completed"
    NO_PROGRESS = "no_progress"


FACTS: Final = frozenset(
    {Cause.TARGET_DOWN, Cause.LEADER_UNRESPONSIVE, Cause.NO_LEADER, Cause.LOG_DIR_OFFLINE, Cause.THROTTLE_BLOCKED}
)
"""Causes that are shown after two polls that agree, without waiting for a lack of progress."""


EXPLAINED: Final = frozenset({Cause.LEADER_UNRESPONSIVE, Cause.NO_LEADER})
"""Causes that another alert reports: KafkaReassignmentStuck leaves such moves out."""

LASTING: Final = frozenset(
    {
        Cause.THROTTLE_BLOCKED,
        Cause.THROTTLE_BELOW_INBOUND,
        Cause.LOG_DIR_FULL,
        Cause.LOG_DIR_OFFLINE,
        Cause.TARGET_DISK_TOO_SMALL,
    }
)
"""Causes that do not end by themselves: KafkaReassignmentStuck does not wait for such moves to last."""

BURST: Final = 180.0
"""Seconds for which producers may write more than the throttle lets through: a burst of two minutes, and until the mean
inbound rate shows its end."""

STUCK_WAIT: Final = 255.0
"""Seconds for which a move with another cause has to be stuck before the alert counts it, `stuck_wait` of
rules/thresholds.yml."""

BLINDING: Final = FACTS - {Cause.THROTTLE_BLOCKED}
"""While one of these facts holds, no ETA is shown."""


@dataclass(frozen=True, slots=True)
class MoveFacts:
    """Facts about a move that does not advance. An unknown fact keeps its default."""

    target_answers: bool = True
    """The broker of the replica is unfenced, in metadata, and answers."""
    leader_exists: bool = True
    leader_answers: bool = True
    log_dir_online: bool = True
    """The one that holds the replica is."""
    usable_bytes: float | None = None
    """Free in the replica's log dir, in the one with most space while unknown, None before Kafka 3.3."""
    next_fetch_bytes: float = 0.0
    """`replica.fetch.max.bytes`: with less room than that the volume is full."""
    remaining_bytes: float = 0.0
    """Of all moves to that log dir."""
    failed_partitions: float = 0.0
    """ReplicaFetcherManager FailedPartitionsCount of the target."""
    dead_threads: float = 0.0
    aux_state_errors: float = 0.0
    """BuildRemoteLogAuxStateErrorsPerSec count gained by the target since the last new minimum."""
    leader_limit: float = math.inf
    """Effective limit of the leader where its list names the replica and it is not in sync, else `+inf`."""
    follower_limit: float = math.inf
    verdict: Verdict = Verdict.UNKNOWN
    """Of the flow, `law.verdict`."""
    throttle_may_lose: bool = True
    """`law.may_lose`: the throttle can be the reason for a verdict of never."""
    adding_in_isr: bool = False
    """All adding replicas of the partition, if any, are in the ISR, and it is still listed as reassigning."""


def stall_limit(poll_interval: float, window: Window = DEFAULT_WINDOW) -> float:
    """Seconds without a new minimum of a pair of brokers before it is stuck: three polls and two quota windows."""
    return max(POLLS * poll_interval, WINDOWS * window.seconds)


def single_stall_limit(
    pair_limit: float, moves: int, fetch_max_bytes: float, headroom: float | None, gross: float | None
) -> float | None:
    """The same for one replica while its broker advances: the larger of that and five turns of all moves, in seconds.

    5 x moves on the broker x replica.fetch.max.bytes / c: 100 moves at 1 MB/s with 1 MiB get a turn every 105 s each.
    c is the smaller of headroom and measured gross rate: a link or a disk may be slower than any limit.
    None (never stuck alone) while one of them is unknown or 0.
    """
    if headroom is None or gross is None or min(headroom, gross) <= 0:
        return None
    return max(pair_limit, TURNS * moves * fetch_max_bytes / min(headroom, gross))


def is_stuck(
    pair: Stall | None,
    single: Stall | None,
    pair_limit: float,
    single_limit: float | None,
    *,
    settled: bool = True,
    gains: bool = False,
) -> bool:
    """Whether a replica is stuck: its pair of brokers is, or it alone is. Unknown (None) is not stuck.

    `settled` is false for 12 s and a poll after a change of limit, list, leader or ISR: a lowered limit stops all.
    `gains`: the pair copies more than comes in, as measured. It makes up for a burst: none of its replicas is stuck.
    """
    stalled = _past(pair, pair_limit)
    if not settled or (stalled and gains):
        return False
    return stalled or (single_limit is not None and _past(single, single_limit))


def _past(stall: Stall | None, limit: float) -> bool:
    return stall is not None and stall.samples >= POLLS and stall.seconds >= limit


def is_settled(since_change: float, poll_interval: float, window: Window = DEFAULT_WINDOW) -> bool:
    """Whether the last change is 12 s and a poll ago: docs/spec/throttle-law.md#after-a-change."""
    return since_change >= window.settling + poll_interval


def may_be_burst(cause: Cause, seconds: float, advanced_at: float, changed_at: float, settled_after: float) -> bool:
    """Return whether a move that made no progress for so long may only wait for the end of a burst.

    It did advance under the present limits, which no producer exceeded then. A throttle under which it never did is too
    low. Monotonic seconds: of the last new minimum, and of the last change. `settled_after`: as in `is_settled`.
    """
    return cause is Cause.THROTTLE_BELOW_INBOUND and seconds < BURST and advanced_at > changed_at + settled_after


def has_lasted(cause: Cause, seconds: float) -> bool:
    """Return whether the alert counts a move that is stuck for so long, apart from the `for` of the alert.

    Prometheus knows that of each move with series of its own. Moves without are counted here.
    """
    return cause in LASTING | EXPLAINED or seconds >= STUCK_WAIT


def cause(facts: MoveFacts) -> Cause:
    """The first cause that holds, by docs/spec/moves.md#causes; `no_progress` when none is known."""
    return next(iter(holding(facts)), Cause.NO_PROGRESS)


def fact(facts: MoveFacts) -> Cause | None:
    """The first cause that needs no waiting, whatever else holds: a small disk must not hide a target that is down."""
    return next((found for found in holding(facts) if found in FACTS), None)


def holding(facts: MoveFacts) -> list[Cause]:
    """All causes that hold, in the order of docs/spec/moves.md#causes."""
    usable = math.inf if facts.usable_bytes is None else facts.usable_bytes
    never = facts.verdict is Verdict.NEVER and facts.throttle_may_lose
    rules = (
        (not facts.target_answers, Cause.TARGET_DOWN),
        (facts.leader_exists and not facts.leader_answers, Cause.LEADER_UNRESPONSIVE),
        (not facts.leader_exists, Cause.NO_LEADER),
        (not facts.log_dir_online, Cause.LOG_DIR_OFFLINE),
        (usable < max(facts.next_fetch_bytes, 1.0), Cause.LOG_DIR_FULL),
        (usable < facts.remaining_bytes, Cause.TARGET_DISK_TOO_SMALL),
        (facts.failed_partitions > 0 or facts.dead_threads > 0, Cause.FETCHER_FAILED),
        (facts.aux_state_errors > 0, Cause.AUX_STATE_ERROR),
        (min(facts.leader_limit, facts.follower_limit) <= 0, Cause.THROTTLE_BLOCKED),
        (never, Cause.THROTTLE_BELOW_INBOUND),
        (facts.adding_in_isr, Cause.COPIED_NOT_COMPLETED),
    )
    return [found for holds, found in rules if holds]
