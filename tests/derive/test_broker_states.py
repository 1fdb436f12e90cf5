"""The state of a broker: what the metadata shows comes first, then the bean, then whether it answers."""

import pytest

from kafka_warden.model import Broker, BrokerState, ProcessBeans, Source, SourceStatus
from tests.building import Partition, answered, judge, snapshot

SILENT = SourceStatus(up=False, duration=1.0, last_success=None, errors={"timeout": 1})
RUNNING, PENDING_SHUTDOWN, SHUTTING_DOWN = 3.0, 6.0, 7.0


@pytest.mark.parametrize(
    ("bean", "at", "answers", "expected"),
    [
        (None, 10.0, True, BrokerState.ACTIVE),
        (None, 10.0, False, BrokerState.UNANSWERING),
        (RUNNING, 10.0, True, BrokerState.ACTIVE),
        (RUNNING, 10.0, False, BrokerState.UNANSWERING),
        (PENDING_SHUTDOWN, 10.0, True, BrokerState.SHUTTING_DOWN),
        (SHUTTING_DOWN, 10.0, True, BrokerState.SHUTTING_DOWN),
        (SHUTTING_DOWN, 10.0, False, BrokerState.SHUTTING_DOWN),
        (SHUTTING_DOWN, 5.0, False, BrokerState.SHUTTING_DOWN),
        (SHUTTING_DOWN, 5.0, True, BrokerState.ACTIVE),
    ],
)
def test_a_broker_shuts_down_by_its_bean(
    bean: float | None, at: float, *, answers: bool, expected: BrokerState
) -> None:
    """The bean of this poll counts; that of an earlier poll counts until the broker answers again."""
    assert _state(Broker(1, "h", 1), bean, at, answers=answers) is expected


@pytest.mark.parametrize(
    ("broker", "expected"),
    [
        (Broker(1, "h", 1, fenced=True), BrokerState.FENCED),
        (Broker(1, "h", 1, gone=True), BrokerState.GONE),
    ],
)
def test_the_metadata_comes_first(broker: Broker, expected: BrokerState) -> None:
    """A broker that has shut down is fenced, whatever its last bean was."""
    assert _state(broker, SHUTTING_DOWN, 10.0, answers=False) is expected


def _state(broker: Broker, bean: float | None, at: float, *, answers: bool) -> BrokerState:
    derived = judge(
        snapshot(
            {"t": [Partition(replicas=(1,))]},
            clock=10.0,
            brokers={1: broker},
            broker_beans={} if bean is None else {1: ProcessBeans(at, {"broker_state": bean})},
            status={(Source.OFFSETS, "1"): answered(10.0) if answers else SILENT},
        )
    )
    return derived.cluster.states[1]
