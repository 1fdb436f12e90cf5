"""One follower through a row of polls: its state in each."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from kafka_warden.catalogue import OF_SNAPSHOT, Build, ExporterState, Metric, Sample, View
from kafka_warden.derive import Derived, Memory, derive
from kafka_warden.derive.replica_state import STATES
from kafka_warden.model import Broker, BrokerConfig, Parameters, PollResult, Snapshot
from tests.building import Partition, judge_each, snapshot

RATE = 100
"""Messages a second that the leader gains, where nothing else is said."""

REPLICA = ("t", "0", "2")
"""Labels of the replica of broker 2."""

EVERY = 10
"""Seconds between two polls."""

CONFIGS = {broker: BrokerConfig() for broker in (1, 2, 3)}
"""The defaults, of brokers 1 to 3: replica.lag.time.max.ms of 30 s and a quota window of 11 s."""


def loaded(clock: float, lag: int = 0, **fields: Any) -> Partition:
    """A partition of three at constant load, of which broker 2 lacks some messages."""
    return Partition(end=10_000 + int(clock * RATE), lag={2: lag}, **fields)


def polls(until: int, every: int = EVERY) -> range:
    return range(0, until + 1, every)


def seen(clocks: Iterable[float], partition: Callable[[float], Partition], **fields: Any) -> list[Snapshot]:
    """What polls see of a topic `t` with one partition; fields of the snapshot may be functions of the clock."""
    return [snapshot({"t": [partition(clock)]}, clock=float(clock), **_now(fields, clock)) for clock in clocks]


def remembering(
    *snapshots: Snapshot, memory: Memory | None = None, parameters: Parameters | None = None
) -> list[tuple[Memory, Derived]]:
    """Derive some snapshots, poll after poll, and return the memory after each, too."""
    kept = list[tuple[Memory, Derived]]()
    for each in snapshots:
        memory, derived = derive(each, memory, parameters or Parameters())
        kept.append((memory, derived))
    return kept


def shown(partition: Callable[[float], Partition], until: int = 60, **fields: Any) -> list[str]:
    """The state of broker 2 that is shown in each poll."""
    return [state(derived, 2) for derived in judge_each(*seen(polls(until), partition, **fields))]


def _now(fields: Mapping[str, Any], clock: float) -> dict[str, Any]:
    given = {"broker_configs": CONFIGS, **fields}
    return {name: value(clock) if callable(value) else value for name, value in given.items()}


def row(derived: Derived, broker: int, topic: str = "t", number: int = 0) -> int:
    snap = derived.indexed.snapshot
    rows = zip(snap.replicas.partition.tolist(), snap.replicas.broker.tolist(), strict=True)
    partitions = zip(snap.partitions.topic.tolist(), snap.partitions.number.tolist(), strict=True)
    wanted = list(partitions).index((snap.topics.index(topic), number))
    return list(rows).index((wanted, broker))


def state(derived: Derived, broker: int, topic: str = "t") -> str:
    return STATES[derived.replicas.state[row(derived, broker, topic)]]


def lag_seconds(derived: Derived, broker: int, topic: str = "t") -> float:
    return float(derived.replicas.times.lag_seconds[row(derived, broker, topic)])


def behind(derived: Derived, broker: int, topic: str = "t") -> float:
    return float(derived.replicas.times.behind_seconds[row(derived, broker, topic)])


def late(derived: Derived, broker: int, topic: str = "t") -> bool:
    return bool(derived.replicas.times.late[row(derived, broker, topic)])


def page(derived: Derived, name: str, *, uncounted: str = "") -> dict[tuple[str, ...], float]:
    """One family as the page shows it: label values to value. Topics of one name are not counted."""
    names = derived.indexed.snapshot.topics
    left_out = np.array([each == uncounted for each in names], bool)
    view = View(
        derived, ExporterState(PollResult(), Build("0", "0", "3")), np.ones(len(names), bool), uncounted=left_out
    )
    metric = next(metric for metric in OF_SNAPSHOT if metric.name == name)
    samples = _samples(metric, view)
    assert not any(math.isnan(value) for _, value in samples)
    return dict(samples)


def families(derived: Derived, parameters: Parameters | None = None) -> dict[str, dict[tuple[str, ...], float]]:
    topics = np.ones(len(derived.indexed.snapshot.topics), bool)
    view = View(derived, ExporterState(PollResult(), Build("0", "0", "3")), topics, parameters or Parameters())
    return {metric.name: dict(_samples(metric, view)) for metric in OF_SNAPSHOT}


def _samples(metric: Metric, view: View) -> list[Sample]:
    return [*metric.read(view), *(metric.rest(view) if metric.rest else ())]


def brokers(*fenced: int, gone: tuple[int, ...] = ()) -> dict[int, Broker]:
    return {
        broker: Broker(broker, f"broker-{broker}.example", 9092, fenced=broker in fenced, gone=broker in gone)
        for broker in (1, 2, 3)
    }
