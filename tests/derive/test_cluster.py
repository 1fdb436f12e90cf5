"""States of brokers, since when a condition holds, and which replicas may lead partitions without a leader."""

from typing import Any, Final

import numpy as np
import pytest

from kafka_warden.derive.cluster import Candidacy, since
from kafka_warden.model import IN_ELR, LAST_KNOWN_ELR, UNKNOWN, Broker, BrokerState, ProcessBeans, Source, SourceStatus
from tests.building import Partition, answered, judge, snapshot


@pytest.mark.parametrize(
    ("why", "samples", "expected"),
    [
        ("never held", [(0, False)], np.nan),
        ("begins with the first sight", [(5, True)], 0),
        ("goes on", [(5, True), (15, True), (25, True)], 20),
        ("a break ends it", [(5, True), (15, False)], np.nan),
        ("and starts again", [(5, True), (15, False), (25, True), (35, True)], 10),
        ("the clock goes back", [(50, True), (20, True)], 0),
    ],
)
def test_since(why: str, samples: list[tuple[float, bool]], expected: float) -> None:
    start = seconds = np.full(1, np.nan)
    for clock, holds in samples:
        start, seconds = since(start, clock, np.array([holds]))
    np.testing.assert_equal(seconds, [expected], err_msg=why)


SILENT = SourceStatus(up=False, duration=1.0, last_success=None, errors={"timeout": 1})
RUNNING = {"process_start_time": 1.7e9, "broker_state": 3.0}
STOPPING = {"process_start_time": 1.7e9}
"""Kafka unregisters its beans at the start of a shutdown; those of the JVM stay."""


@pytest.mark.parametrize(
    ("beans", "at", "answers", "expected"),
    [
        (None, 10.0, True, BrokerState.ACTIVE),
        (None, 10.0, False, BrokerState.UNANSWERING),
        ({}, 10.0, True, BrokerState.ACTIVE),
        (RUNNING, 10.0, True, BrokerState.ACTIVE),
        (RUNNING, 10.0, False, BrokerState.UNANSWERING),
        (STOPPING, 10.0, True, BrokerState.SHUTTING_DOWN),
        (STOPPING, 10.0, False, BrokerState.UNANSWERING),
        (STOPPING, 5.0, True, BrokerState.ACTIVE),
    ],
)
def test_a_broker_without_its_bean_shuts_down(
    beans: dict[str, float] | None, at: float, *, answers: bool, expected: BrokerState
) -> None:
    """Only the beans of this poll count, and only while the broker answers: one that starts has no such bean either."""
    assert _state(Broker(1, "h", 1), beans, at, answers=answers) is expected


@pytest.mark.parametrize(
    ("broker", "expected"),
    [(Broker(1, "h", 1, fenced=True), BrokerState.FENCED), (Broker(1, "h", 1, gone=True), BrokerState.GONE)],
)
def test_the_metadata_comes_first(broker: Broker, expected: BrokerState) -> None:
    assert _state(broker, STOPPING, 10.0, answers=True) is expected


def test_rules_of_an_agent_may_leave_the_bean_out() -> None:
    """A reading that ends within the poll, as the first one does, says no more than a later one."""
    assert _state(Broker(1, "h", 1), STOPPING, 10.0, answers=True, every=60.0) is BrokerState.ACTIVE


def _state(
    broker: Broker, beans: dict[str, float] | None, at: float, *, answers: bool, every: float = 0.0
) -> BrokerState:
    derived = judge(
        snapshot(
            {"t": [Partition(replicas=(1,))]},
            clock=10.0,
            brokers={1: broker},
            broker_beans={} if beans is None else {1: ProcessBeans(at, beans, every=every)},
            status={(Source.OFFSETS, "1"): answered(10.0) if answers else SILENT},
        )
    )
    return derived.cluster.states[1]


ISR, ELR, LAST = Candidacy.ISR, Candidacy.ELR, Candidacy.LAST_KNOWN_ELR
LEADS: Final = Partition(replicas=(1, 2, 3))


def offline(eligible: dict[int, int] | None, *in_isr: int) -> Partition:
    return Partition(leader=UNKNOWN, out=tuple({1, 2, 3} - set(in_isr)), eligible=eligible)


@pytest.mark.parametrize(
    ("partitions", "members", "counts"),
    [
        ([LEADS], {}, [0, 0, 0]),
        ([offline({}, 3)], {(0, 3): {ISR}}, [0, 0, 1]),
        ([offline({2: IN_ELR + LAST_KNOWN_ELR, 3: IN_ELR})], {(0, 2): {ELR, LAST}, (0, 3): {ELR}}, [0, 1, 1]),
        ([offline({2: LAST_KNOWN_ELR})], {(0, 2): {LAST}}, [0, 0, 0]),
        ([offline(None, 3)], {(0, 3): {ISR}}, [0, 0, 1]),
        ([offline(None)], {}, None),
        ([offline(None), offline({}, 3)], {(1, 3): {ISR}}, None),
        ([offline({}, 3), LEADS, offline({3: IN_ELR})], {(0, 3): {ISR}, (2, 3): {ELR}}, [0, 0, 2]),
    ],
    ids=[
        "all have leaders",
        "no ELR: the ISR keeps its last member",
        "ELR, and the last leader among it",
        "the last leader stopped uncleanly",
        "no answer, but an ISR",
        "no answer and no ISR: unknown",
        "no partial sum",
        "counted by broker",
    ],
)
def test_candidates(partitions: list[Partition], members: Any, counts: list[int] | None) -> None:
    found = judge(snapshot({"t": partitions}))
    replicas = found.indexed.snapshot.replicas
    by_replica: dict[tuple[int, int], set[Candidacy]] = {}
    for candidacy, rows in found.candidates.rows.items():
        for row in rows.tolist():
            key = int(replicas.partition[row]), int(replicas.broker[row])
            by_replica.setdefault(key, set()).add(candidacy)
    assert by_replica == members
    assert (found.candidates.partitions is None) == (counts is None)
    assert found.candidates.partitions is None or found.candidates.partitions.tolist() == counts
