"""Tiered storage: overdue bytes, since when nothing is copied, and problems of the quotas (KIP-405, KIP-956).

docs/spec/tiered.md#overdue. The lag beans freeze while copying is throttled or fails; these formulas do not. `+inf` is
unlimited. `None` is unknown, as an argument and as a result: no problem is raised on unknown values.

Per topic: the sum of overdue bytes of its partitions, and the longest stall of one of them, both withheld while a part
is unknown. Per broker: problems of its led partitions, where tiered storage is on and some topic uses it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Final

import numpy as np

from kafka_warden.arrays import Axis, Longs, StateColumn
from kafka_warden.derive.columns import Saved, blank
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.model import DEFAULT, NOTHING_TIERED, UNKNOWN, Bools, BrokerConfig, Entity, Floats, TopicConfig


def overdue_bytes(uncopied: Floats, per_offset: Floats, segment_bytes: Floats) -> Floats:
    """Bytes (P,) that should have been copied: those beyond what an active segment may hold, never below 0.

    `uncopied`: offsets that are not in remote storage; the active segment never is. docs/spec/tiered.md#overdue.
    """
    return np.maximum(uncopied * per_offset - segment_bytes, 0.0)


def uncopied_offsets(end: Longs, start: Longs, tiered: Longs) -> Longs:
    """Offsets (P,) not yet in remote storage. `tiered` is the highest one there, inclusive; none counts from the start.

    All three must be known; a caller without an answer to `-5` leaves the partition out.
    """
    copied_to = np.where(tiered == NOTHING_TIERED, start, tiered + 1)
    return np.maximum(end - np.maximum(copied_to, start), 0)


def first_copied(start: Longs, tiered: Longs) -> Longs:
    """First offset of the local log that is not in remote storage, where an empty follower may begin. KIP-1023.

    `tiered` may be `UNKNOWN` or `NOTHING_TIERED`: then that is where the local log starts.
    """
    return np.where(tiered >= 0, np.maximum(tiered + 1, start), start)


def skips_tiered(topic: TopicConfig | None, broker: BrokerConfig | None) -> bool:
    """Return whether an empty follower on a broker begins behind what is in remote storage (KIP-1023).

    Only if its leader no longer has the log from its first record on: the leader answers a fetch of that one otherwise.
    """
    if topic is None or broker is None:
        return False
    return broker.follower_fetch_last_tiered and topic.remote_storage and not topic.compacted


def partition_overdue(
    end: Longs,
    start: Longs,
    tiered: Longs,
    per_offset: Floats,
    segment_bytes: Floats,
    lag_seconds: Floats,
    lag_bytes: Floats,
    due: Longs,
) -> Floats:
    """Overdue bytes (P,), NaN where a part is unknown. Without uncopied offsets no bytes per offset are needed.

    A segment is overdue as soon as one of both limits is passed: by all of its records, or by the bytes behind it.
    The limits, `lag_seconds` and `lag_bytes` (KIP-1241, Kafka 4.4), are 0 without a lag and `+inf` where one does not
    matter. `due`: offset from which on records are younger than finite `lag_seconds`, `UNKNOWN` where not known.
    """
    known = (end != UNKNOWN) & (start != UNKNOWN) & (tiered != UNKNOWN)
    uncopied = np.where(known, uncopied_offsets(end, start, tiered), np.nan)
    weight = np.where(uncopied == 0, 0.0, per_offset)
    due = np.where(lag_seconds == 0, end, np.where(np.isinf(lag_seconds), 0, due))
    old = np.where(due == UNKNOWN, np.nan, uncopied - np.clip(end - due, 0, uncopied))
    by_age = overdue_bytes(np.where(uncopied == 0, 0.0, old), weight, segment_bytes)
    overdue: Floats = np.maximum(by_age, overdue_bytes(uncopied, weight, segment_bytes + lag_bytes))
    return overdue


def latest_tiered(before: Longs, reported: Longs, end: Longs) -> Longs:
    """Highest offset in remote storage (P,): the one reported now, or the one before where that is higher.

    A broker that has just started, or just become leader, reports nothing or too little until its remote log manager
    has read the state (docs/spec/tiered.md#overdue): everything would be overdue for half a minute. A copied offset
    stays copied, unless the log was truncated below it. `UNKNOWN` where nothing is reported now.
    """
    kept = (reported != UNKNOWN) & (before >= 0) & (reported < before) & (before < end)
    return np.where(kept, before, reported)


@dataclass(frozen=True, slots=True)
class Copying:
    """State of the fold `stalled`: P rows. Seconds are monotonic; NaN while nothing is overdue."""

    tiered: Annotated[Longs, StateColumn(Axis.PARTITION, UNKNOWN, "tiered")]
    """`UNKNOWN` before the first answer."""
    since: Annotated[Floats, StateColumn(Axis.PARTITION, np.nan, "tiered_since", time=True)]


def stalled(state: Copying, clock: float, tiered: Longs, overdue: Floats) -> tuple[Copying, Floats]:
    """Seconds (P,) since the latest tiered offset last moved while something is overdue; 0 where nothing is.

    `overdue`: bytes. Where it is unknown (NaN) so are the seconds, and the clock neither starts nor ends.
    """
    known = ~np.isnan(overdue)
    begins = (tiered != state.tiered) | np.isnan(state.since)
    since = np.where(overdue > 0, np.where(begins, clock, np.fmin(state.since, clock)), np.nan)
    after = Copying(np.where(known, tiered, state.tiered), np.where(known, since, state.since))
    return after, np.where(known, np.where(np.isnan(since), 0.0, clock - since), np.nan)


FETCH_QUOTA_KEY: Final = "consumer_byte_rate"

BINDING: Final = 0.95
"""Part of a quota at which its rate is held back by it."""


class Problem(StrEnum):
    """Values of the label `problem` of `tiered_storage_problem_seconds`."""

    COPY_HELD_BACK = "copy_held_back"
    FETCH_HELD_BACK = "fetch_held_back"
    COPY_QUOTA_BELOW_SEGMENT = "copy_quota_below_segment"
    CLIENT_FETCH_QUOTA_ABOVE = "client_fetch_quota_above"


def is_binding(rate: float | None, quota: float) -> bool | None:
    """Whether a rate is at 0.95 of its quota or above; an unlimited quota holds nothing back, whatever the rate."""
    if quota == float("inf"):
        return False
    return None if rate is None else rate >= BINDING * quota


def copy_held_back(rate: float | None, quota: float, overdue: bool | None) -> bool | None:
    """Whether the copy quota holds back what the broker leads: it binds, and something of that is overdue.

    Needs no throttle bean, which vanishes after an hour without throttling (docs/spec/tiered.md#problems).
    """
    holds = (is_binding(rate, quota), overdue)
    if False in holds:
        return False
    return None if None in holds else True


def fetch_held_back(rate: float | None, quota: float, throttle: float | None) -> bool | None:
    """Whether the fetch quota holds back consumers: it binds, or some were throttled of late (seconds)."""
    if quota == float("inf"):
        return False
    # Without the bean the rate decides alone.
    return (throttle is not None and throttle > 0) or is_binding(rate, quota)


def copy_quota_below_segment(quota: float, segment_bytes: float, window: float) -> bool:
    """Whether the quota cannot be upheld, as the largest segment alone exceeds quota x window.

    `segment_bytes`: the largest `segment.bytes` of the topics with remote storage that the broker leads, 0 for none. A
    segment is copied whole: 1 GiB in 11 s needs 97.6 MB/s.
    """
    return quota * window < segment_bytes


def client_fetch_quota_above(quota: float, rates: Mapping[Entity, float] | None) -> bool | None:
    """Whether one client alone may exhaust the fetch quota: KIP-956's rogue client.

    Some client has no `consumer_byte_rate`, or one that is not below the fetch quota. `rates`: entity to
    `consumer_byte_rate`; empty when none is configured, None when that is not known.
    """
    if quota == float("inf"):
        return False
    if rates is None:
        return None
    defaults = {(DEFAULT, DEFAULT), (DEFAULT, None), (None, DEFAULT)}
    if not defaults & rates.keys():
        return True
    return any(rate >= quota for entity, rate in rates.items() if _applies(entity, rates))


def _applies(entity: Entity, rates: Mapping[Entity, float]) -> bool:
    """Whether any client has this quota: by Kafka's order another one may always come first."""
    user, client_id = entity
    if user is None:
        return not {(DEFAULT, DEFAULT), (DEFAULT, None)} & rates.keys()
    return client_id is not None or (user, DEFAULT) not in rates


Key = tuple[int, Problem]
"""Broker id and problem."""


@dataclass(frozen=True, slots=True)
class Holding:
    """One problem of one broker in the last polls."""

    shown: Annotated[bool, Saved("shown")]
    seen: Annotated[bool, Saved("seen")]
    start: Annotated[float | None, Saved("start", time=True)] = None
    """Monotonic time of the first of the polls that saw it."""


@dataclass(frozen=True, slots=True)
class TieredMemory:
    """State from poll to poll."""

    copying: Copying
    """(P,)"""
    problems: Annotated[Mapping[Key, Holding], Saved("tiered_problems", ("broker", "problem"))]


@dataclass(frozen=True, slots=True)
class Tiered:
    """T topics; NaN is unknown, and also means a topic that is not copied."""

    overdue: Annotated[Floats, "bytes overdue for remote storage", "bytes"]
    """(T,)"""
    stalled: Annotated[Floats, "time without a copy of these", "s"]
    """(T,)"""
    problems: Annotated[
        Mapping[Key, float],
        "age by problem of tiered storage; 0 if none, missing if unknown",
        "s",
    ]
    """Seconds, 0 where there is no problem; unknown ones are missing."""


@dataclass(frozen=True, slots=True)
class _Topics:
    """Configuration of T topics."""

    known: Bools
    remote: Bools
    copied: Bools
    """With remote storage, and copying not disabled: otherwise nothing can be overdue."""
    segment: Floats
    lag_seconds: Floats
    lag_bytes: Floats


def derive_tiered(indexed: IndexedSnapshot, per_offset: Floats, memory: TieredMemory) -> tuple[TieredMemory, Tiered]:
    """Derive the state of tiered storage; `per_offset` (P,) is in bytes, NaN where unknown."""
    topics = _topics(indexed)
    nothing = np.full(len(topics.remote), np.nan)
    if not topics.remote.any() and topics.known.all():
        return blank(TieredMemory, indexed.snapshot.keys), Tiered(nothing, nothing, {})
    copying, overdue, stalled = _partitions(indexed, topics, per_offset, memory.copying)
    if not topics.remote.any():
        return replace(memory, copying=copying), Tiered(nothing, nothing, {})
    facts = _facts(indexed, topics, overdue)
    clock = indexed.snapshot.clock
    evaluated = {key: _hold(memory.problems.get(key), clock, holds) for key, holds in facts.items()}
    return (
        TieredMemory(copying, {key: held for key, (held, _) in evaluated.items() if held is not None}),
        Tiered(
            overdue=_of_topics(indexed, topics, overdue, np.add),
            stalled=_of_topics(indexed, topics, stalled, np.maximum),
            problems={key: seconds for key, (_, seconds) in evaluated.items() if seconds is not None},
        ),
    )


def _topics(indexed: IndexedSnapshot) -> _Topics:
    configs = [indexed.snapshot.topic_configs.get(name) for name in indexed.snapshot.topics]
    return _Topics(
        known=np.array([config is not None for config in configs], bool),
        remote=np.array([config is not None and config.remote_storage for config in configs], bool),
        copied=np.array(
            [config is not None and config.remote_storage and not config.remote_copy_disabled for config in configs],
            bool,
        ),
        segment=np.array([config.segment_bytes if config is not None else np.nan for config in configs], float),
        lag_seconds=np.array([config.remote_copy_lag_seconds if config is not None else np.nan for config in configs]),
        lag_bytes=np.array([config.remote_copy_lag_bytes if config is not None else np.nan for config in configs]),
    )


def _partitions(
    indexed: IndexedSnapshot, topics: _Topics, per_offset: Floats, before: Copying
) -> tuple[Copying, Floats, Floats]:
    """Return the state of the fold, overdue bytes and seconds (P,); NaN for topics that are not copied."""
    table = indexed.snapshot.partitions
    copied = topics.copied[table.topic]
    reported = np.where(copied, table.tiered, UNKNOWN)
    latest = latest_tiered(before.tiered, reported, indexed.leader_end)
    segment, age, size = (each[table.topic] for each in (topics.segment, topics.lag_seconds, topics.lag_bytes))
    overdue = partition_overdue(indexed.leader_end, table.start, latest, per_offset, segment, age, size, table.copy_due)
    state, seconds = stalled(before, indexed.snapshot.clock, latest, overdue)
    # Remote data is deleted when a topic leaves remote storage. An unknown configuration does not mean that it left.
    left = (topics.known & ~topics.copied)[table.topic]
    state = Copying(np.where(left, UNKNOWN, state.tiered), np.where(left, np.nan, state.since))
    return state, overdue, seconds


def _of_topics(indexed: IndexedSnapshot, topics: _Topics, column: Floats, combine: np.ufunc) -> Floats:
    """Combine a column (P,) by topic; NaN where one of its partitions is."""
    topic, combined = indexed.snapshot.partitions.topic, np.zeros(len(topics.copied))
    combine.at(combined, topic, np.nan_to_num(column))
    unknown = np.bincount(topic[np.isnan(column)], minlength=len(combined)) > 0
    return np.where(unknown | ~topics.copied, np.nan, combined)


def _facts(indexed: IndexedSnapshot, topics: _Topics, overdue: Floats) -> dict[Key, bool | None]:
    """Return for every broker with tiered storage which problems hold now."""
    snapshot, facts = indexed.snapshot, dict[Key, bool | None]()
    quotas, key = snapshot.quotas, FETCH_QUOTA_KEY
    rates = None if quotas is None else {(q.user, q.client_id): q.values[key] for q in quotas if key in q.values}
    places = zip(
        indexed.brokers.tolist(),
        _overdue_of_brokers(indexed, topics, overdue),
        _segment_of_brokers(indexed, topics),
        strict=True,
    )
    for broker, late, (largest, complete) in places:
        config, beans = snapshot.broker_configs.get(broker), snapshot.broker_beans.get(broker)
        if config is None:
            facts |= dict.fromkeys(((broker, problem) for problem in Problem), None)
            continue
        # Kafka creates these beans when needed: 0 when JMX answered without.
        names = ("remote_copy_byte_rate", "remote_fetch_byte_rate", "remote_fetch_throttle_time_max")
        copied, fetched, throttle = (None if beans is None else beans.values.get(name, 0.0) for name in names)
        if (quota := config.remote_copy_quota) is not None:
            below = copy_quota_below_segment(quota, largest, config.remote_copy_window)
            facts[broker, Problem.COPY_HELD_BACK] = copy_held_back(copied, quota, late)
            facts[broker, Problem.COPY_QUOTA_BELOW_SEGMENT] = below or (False if complete else None)
        if (quota := config.remote_fetch_quota) is not None:
            facts[broker, Problem.FETCH_HELD_BACK] = fetch_held_back(fetched, quota, throttle)
            facts[broker, Problem.CLIENT_FETCH_QUOTA_ABOVE] = client_fetch_quota_above(quota, rates)
    return facts


def _overdue_of_brokers(indexed: IndexedSnapshot, topics: _Topics, overdue: Floats) -> list[bool | None]:
    """Return (B,) whether a partition that a broker leads is overdue. One known partition is enough."""
    late = indexed.led(overdue > 0) > 0
    unsure = (topics.copied | ~topics.known)[indexed.snapshot.partitions.topic]
    unknown = indexed.led(np.isnan(overdue) & unsure) > 0
    return [held or (None if blurred else False) for held, blurred in zip(late.tolist(), unknown.tolist(), strict=True)]


def _segment_of_brokers(indexed: IndexedSnapshot, topics: _Topics) -> list[tuple[float, bool]]:
    """Return (B,) the largest segment of the copied topics that a broker leads, 0 for none.

    The second value is False while the configuration of a topic that it leads is unknown.
    """
    topic = indexed.snapshot.partitions.topic
    rows = (indexed.led_by != UNKNOWN) & topics.copied[topic]
    largest = np.zeros(len(indexed.brokers))
    np.maximum.at(largest, indexed.led_by[rows], topics.segment[topic[rows]])
    complete = indexed.led(~topics.known[topic]) == 0
    return list(zip(largest.tolist(), complete.tolist(), strict=True))


def _hold(before: Holding | None, clock: float, holds: bool | None) -> tuple[Holding | None, float | None]:
    """Start or end one problem after two polls that agree, and return its age; unknown neither starts nor ends it.

    A rate over 11 s dips below its quota each time a segment leaves the window, while the problem goes on.
    """
    if holds is None:
        return before, None
    shown = holds if before is None or holds == before.seen else before.shown
    if not (shown or holds):
        return Holding(shown, holds), 0.0
    start = clock if before is None or before.start is None else min(before.start, clock)
    return Holding(shown, holds, start), clock - start if shown else 0.0
