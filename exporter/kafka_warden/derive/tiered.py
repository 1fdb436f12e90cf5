"""Tiered storage (docs/spec/tiered.md): overdue bytes, since when nothing is copied, and problems of the quotas.

Per topic: the sum of overdue bytes of its partitions, and the longest stall of one of them, both withheld while a part
is unknown. Per broker: problems of its led partitions, where tiered storage is on and some topic uses it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from kafka_warden.derive.columns import blank
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.formulas import tiered as formulas
from kafka_warden.formulas import tiered_problems as problems
from kafka_warden.formulas.folds import debounce, since
from kafka_warden.formulas.mutation import Entity
from kafka_warden.formulas.tiered_problems import Problem
from kafka_warden.model import UNKNOWN, Bools, BrokerConfig, Floats

Key = tuple[int, Problem]
"""Broker id and problem."""


@dataclass(frozen=True, slots=True)
class Holding:
    """One problem of one broker in the last polls."""

    shown: bool
    seen: bool
    start: float | None = None
    """Monotonic time of the first of the polls that saw it."""


@dataclass(frozen=True, slots=True)
class TieredMemory:
    """State from poll to poll."""

    copying: formulas.Copying
    """(P,)"""
    problems: Mapping[Key, Holding] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tiered:
    """T topics; NaN is unknown, and also means a topic that is not copied."""

    overdue: Annotated[Floats, "bytes that should have been copied to remote storage", "bytes"]
    """(T,)"""
    stalled: Annotated[Floats, "time for which no overdue bytes were copied", "s"]
    """(T,)"""
    problems: Annotated[
        Mapping[Key, float],
        "age by problem of tiered storage; 0 if it does not exist, missing if that is unknown",
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
    indexed: IndexedSnapshot, topics: _Topics, per_offset: Floats, before: formulas.Copying
) -> tuple[formulas.Copying, Floats, Floats]:
    """Return the state of the fold, overdue bytes and seconds (P,); NaN for topics that are not copied."""
    table = indexed.snapshot.partitions
    copied = topics.copied[table.topic]
    reported = np.where(copied, table.tiered, UNKNOWN)
    latest = formulas.latest_tiered(before.tiered, reported, indexed.leader_end)
    lag = formulas.Lag(topics.lag_seconds[table.topic], topics.lag_bytes[table.topic], table.copy_due)
    overdue = formulas.partition_overdue(
        indexed.leader_end, table.start, latest, per_offset, topics.segment[table.topic], lag
    )
    state, stalled = formulas.stalled(before, indexed.snapshot.clock, latest, overdue)
    # Remote data is deleted when a topic leaves remote storage. An unknown configuration does not mean that it left.
    left = (topics.known & ~topics.copied)[table.topic]
    state = formulas.Copying(np.where(left, UNKNOWN, state.tiered), np.where(left, np.nan, state.since))
    return state, overdue, stalled


def _of_topics(indexed: IndexedSnapshot, topics: _Topics, column: Floats, combine: np.ufunc) -> Floats:
    """Combine a column (P,) by topic; NaN where one of its partitions is."""
    topic, combined = indexed.snapshot.partitions.topic, np.zeros(len(topics.copied))
    combine.at(combined, topic, np.nan_to_num(column))
    unknown = np.bincount(topic[np.isnan(column)], minlength=len(combined)) > 0
    return np.where(unknown | ~topics.copied, np.nan, combined)


def _facts(indexed: IndexedSnapshot, topics: _Topics, overdue: Floats) -> dict[Key, bool | None]:
    """Return for every broker with tiered storage which problems hold now."""
    overdue_of = _overdue_of_brokers(indexed, topics, overdue)
    segment_of = _segment_of_brokers(indexed, topics)
    rates = _consumer_rates(indexed)
    facts: dict[Key, bool | None] = {}
    for place, broker in enumerate(indexed.brokers.tolist()):
        config = indexed.snapshot.broker_configs.get(broker)
        if config is None:
            continue
        copying = _of_copying(indexed, broker, config, overdue_of[place], segment_of[place])
        of_broker = copying | _of_fetching(indexed, broker, config, rates)
        facts |= {(broker, problem): holds for problem, holds in of_broker.items()}
    return facts


def _of_copying(
    indexed: IndexedSnapshot, broker: int, config: BrokerConfig, overdue: bool | None, segment: tuple[float, bool]
) -> dict[Problem, bool | None]:
    quota = config.remote_copy_quota
    if quota is None:
        return {}
    rate = _bean(indexed, broker, "remote_copy_byte_rate")
    largest, complete = segment
    below = problems.copy_quota_below_segment(quota, largest, config.remote_copy_window)
    return {
        Problem.COPY_HELD_BACK: problems.copy_held_back(rate, quota, overdue),
        Problem.COPY_QUOTA_BELOW_SEGMENT: problems.either(below, False if complete else None),
    }


def _of_fetching(
    indexed: IndexedSnapshot, broker: int, config: BrokerConfig, rates: dict[Entity, float] | None
) -> dict[Problem, bool | None]:
    quota = config.remote_fetch_quota
    if quota is None:
        return {}
    rate = _bean(indexed, broker, "remote_fetch_byte_rate")
    throttle = _bean(indexed, broker, "remote_fetch_throttle_time_max")
    return {
        Problem.FETCH_HELD_BACK: problems.fetch_held_back(rate, quota, throttle),
        Problem.CLIENT_FETCH_QUOTA_ABOVE: problems.client_fetch_quota_above(quota, rates),
    }


def _bean(indexed: IndexedSnapshot, broker: int, name: str) -> float | None:
    """Read a rate or a throttle time: 0 when JMX answered without it, as Kafka creates these beans when needed."""
    beans = indexed.snapshot.broker_beans.get(broker)
    return None if beans is None else beans.values.get(name, 0.0)


def _overdue_of_brokers(indexed: IndexedSnapshot, topics: _Topics, overdue: Floats) -> list[bool | None]:
    """Return (B,) whether a partition that a broker leads is overdue. One known partition is enough."""
    late = _led_any(indexed, overdue > 0)
    unknown = _led_any(indexed, np.isnan(overdue) & (topics.copied | ~topics.known)[indexed.snapshot.partitions.topic])
    return [held or (None if blurred else False) for held, blurred in zip(late.tolist(), unknown.tolist(), strict=True)]


def _segment_of_brokers(indexed: IndexedSnapshot, topics: _Topics) -> list[tuple[float, bool]]:
    """Return (B,) the largest segment of the copied topics that a broker leads, 0 for none.

    The second value is False while the configuration of a topic that it leads is unknown.
    """
    topic = indexed.snapshot.partitions.topic
    rows = (indexed.led_by != UNKNOWN) & topics.copied[topic]
    largest = np.zeros(len(indexed.brokers))
    np.maximum.at(largest, indexed.led_by[rows], topics.segment[topic[rows]])
    complete = ~_led_any(indexed, ~topics.known[topic])
    return list(zip(largest.tolist(), complete.tolist(), strict=True))


def _led_any(indexed: IndexedSnapshot, rows: Bools) -> Bools:
    led = indexed.led_by[rows & (indexed.led_by != UNKNOWN)]
    any_led: Bools = np.bincount(led, minlength=len(indexed.brokers)) > 0
    return any_led


def _consumer_rates(indexed: IndexedSnapshot) -> dict[Entity, float] | None:
    quotas = indexed.snapshot.quotas
    if quotas is None:
        return None
    key = problems.FETCH_QUOTA_KEY
    return {(entity.user, entity.client_id): entity.values[key] for entity in quotas if key in entity.values}


def _hold(before: Holding | None, clock: float, holds: bool | None) -> tuple[Holding | None, float | None]:
    """Start or end one problem after two polls that agree, and return its age; unknown neither starts nor ends it.

    A rate over 11 s dips below its quota each time a segment leaves the window, while the problem goes on.
    """
    if holds is None:
        return before, None
    shown, seen = debounce(before.shown if before else None, before.seen if before else None, holds)
    start, seconds = since(before.start if before else None, clock, shown or seen)
    return Holding(shown, seen, start), seconds if shown and seconds is not None else 0.0
