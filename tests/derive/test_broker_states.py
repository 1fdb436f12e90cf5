"""The state of a broker: the metadata comes first, then whether it answers, then its beans."""

import pytest

from kafka_warden.model import Broker, BrokerState, ProcessBeans, Source, SourceStatus
from tests.building import Partition, answered, judge, snapshot

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
