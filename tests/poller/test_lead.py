"""Which broker is believed for the whole cluster: one that lost its controllers is not."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from kafka_warden.model import OptionalQuestion, Snapshot
from kafka_warden.poller.links import newer
from tests.building import known
from tests.poller.polling import DEADLINE, INTERVAL, Polling, polling
from tests.support.scripted import ScriptedCluster, VirtualClock

ROWS = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
WITHOUT_1 = [[2, 3]] * 3
"""The ISR of each partition after broker 1 was fenced."""


def isolate(polled: Polling, *, moved: bool = True, ages: bool = True) -> None:
    """Cut broker 1 off. Then it is fenced, leaves all ISRs, and its leaders move where `moved`."""
    polled.brokers.do("isolate", broker=1)
    polled.brokers.topic("a", ROWS, isr=WITHOUT_1, leaders={0: 2} if moved else {}, epochs={0: 1} if moved else {})
    polled.brokers.brokers({"id": 1, "fenced": True})
    if ages:
        polled.brokers.do("quorum_ages", ages={1: 9.0, 2: 0.1, 3: 0.1})


def in_sync(snapshot: Snapshot) -> int:
    return int(snapshot.replicas.in_isr.sum())


@pytest.fixture
def led_by_1(polled: Polling) -> Polling:
    """A poller whose lead is broker 1."""
    polled.poll()
    assert polled.lead == 1
    return polled


def test_the_first_poll_after_a_broker_was_cut_off_shows_the_truth_of_the_others(led_by_1: Polling) -> None:
    """DescribeQuorum through another broker shows that the lead is old, and the same poll asks another one."""
    isolate(led_by_1)
    with capture_logs() as logs:
        snapshot = led_by_1.poll()
    assert in_sync(snapshot) == 6
    assert snapshot.brokers[1].fenced
    assert led_by_1.took <= 2 * DEADLINE
    assert led_by_1.lead != 1
    assert snapshot.metadata_ages == {1: pytest.approx(9.0, abs=0.2), 2: 0.0, 3: 0.0}
    assert [each["broker"] for each in logs if "old" in each["event"]] == [1]

    led_by_1.poll()
    assert {each["broker"] for each in led_by_1.brokers.seen("Metadata")} == {led_by_1.lead}
    assert led_by_1.took < 1.0


@pytest.mark.parametrize("moved", [True, False], ids=["leaders moved", "only followers"])
def test_a_lead_that_cannot_forward_is_compared_with_another_broker(led_by_1: Polling, *, moved: bool) -> None:
    """Without times in DescribeQuorum: higher leader epochs, or a broker that another one no longer lists."""
    isolate(led_by_1, moved=moved, ages=False)
    snapshot = led_by_1.poll()
    assert in_sync(snapshot) == 6
    assert snapshot.brokers[1].fenced


def test_a_lead_is_compared_once_a_minute_where_no_controller_is_asked(
    brokers: ScriptedCluster, clock: VirtualClock
) -> None:
    brokers.topic("a", ROWS)
    disabled = frozenset({OptionalQuestion.QUORUM, OptionalQuestion.REASSIGNMENTS})
    with polling(brokers, clock, disabled=disabled) as polled:
        asked = set()
        for _ in range(20):
            polled.poll()
            asked |= {each["broker"] for each in brokers.seen("Metadata")}
        assert asked == {1, 2, 3}
        isolate(polled, ages=False)
        shown = [in_sync(polled.poll()) for _ in range(7)]
        assert shown[-1] == 6
        assert polled.poll().metadata_ages == {}


def test_a_broker_that_was_behind_is_compared_until_it_has_caught_up(led_by_1: Polling) -> None:
    """It is not fenced: its heartbeats arrive. For how long it is behind is shown; it does not lead meanwhile."""
    led_by_1.brokers.do("isolate", broker=1)
    led_by_1.brokers.topic("a", ROWS, epochs={2: 1})
    led_by_1.poll()
    assert led_by_1.lead != 1
    ages = [led_by_1.poll().metadata_ages[1] for _ in range(3)]
    assert ages == pytest.approx([INTERVAL, 2 * INTERVAL, 3 * INTERVAL], abs=5.0)
    led_by_1.brokers.do("rejoin", broker=1)
    led_by_1.poll()
    assert led_by_1.poll().metadata_ages == {}


def test_a_broker_that_the_controller_forgot_stays_old(led_by_1: Polling) -> None:
    led_by_1.brokers.do("quorum_ages", ages={1: 290.0, 2: 0.0, 3: 0.0})
    assert led_by_1.poll().metadata_ages[1] == pytest.approx(290, abs=1)
    led_by_1.brokers.rule(None, "DescribeQuorum", hang=True)
    assert led_by_1.poll().metadata_ages[1] == pytest.approx(300, abs=1)
    led_by_1.brokers.do("clear")
    led_by_1.brokers.do("quorum_ages", ages={2: 0.0, 3: 0.0})
    assert led_by_1.poll().metadata_ages[1] == pytest.approx(310, abs=9)
    led_by_1.brokers.do("quorum_ages", ages={1: 0.0, 2: 0.0, 3: 0.0})
    assert led_by_1.poll().metadata_ages == {1: 0.0, 2: 0.0, 3: 0.0}


def test_a_broker_that_the_controller_forgot_before_the_start_is_old(
    brokers: ScriptedCluster, clock: VirtualClock
) -> None:
    """It is not fenced, and the second answer without it shows that it does not read the metadata."""
    brokers.topic("a", ROWS)
    brokers.do("quorum_ages", ages={2: 0.0, 3: 0.0})
    with polling(brokers, clock) as polled:
        polled.poll()
        assert polled.poll().metadata_ages == {1: pytest.approx(INTERVAL, abs=1.0), 2: 0.0, 3: 0.0}
        assert polled.lead != 1


def test_a_broker_that_is_no_observer_is_not_old(brokers: ScriptedCluster, clock: VirtualClock) -> None:
    brokers.topic("a", ROWS)
    brokers.do("quorum_ages", ages={2: 0.0, 3: 0.0})
    brokers.do("versions", broker=1, versions={"DescribeQuorum": (0, -1)})
    with polling(brokers, clock) as polled:
        assert [polled.poll().metadata_ages for _ in range(3)] == [{2: 0.0, 3: 0.0}] * 3


def test_the_lead_is_compared_in_the_second_poll(brokers: ScriptedCluster, clock: VirtualClock) -> None:
    """The first one that has a broker as its lead. Without DescribeQuorum that alone shows an old image."""
    brokers.topic("a", ROWS)
    with polling(
        brokers, clock, disabled=frozenset({OptionalQuestion.QUORUM, OptionalQuestion.REASSIGNMENTS})
    ) as polled:
        isolate(polled, ages=False)
        polled.poll()
        polled.poll()
        assert in_sync(polled.poll()) == 6


def test_an_old_image_leads_where_no_other_broker_answers(led_by_1: Polling) -> None:
    isolate(led_by_1)
    led_by_1.poll()
    led_by_1.brokers.each("refuse", 2, 3)
    snapshot = led_by_1.poll()
    assert in_sync(snapshot) == 9
    assert {"offsets2", "offsets3"} <= led_by_1.down().keys()


@pytest.fixture
def older(led_by_1: Polling) -> Polling:
    """Only broker 3 still knows the controller of epoch 7; the others name one of epoch 2."""
    led_by_1.brokers.do("controller_epoch", epoch=7)
    assert led_by_1.poll().quorum is not None
    led_by_1.brokers.do("isolate", broker=3)
    led_by_1.brokers.do("clear")
    led_by_1.brokers.do("controller_epoch", epoch=2)
    return led_by_1


def epoch(polled: Polling) -> int:
    return known(polled.poll().quorum).leader_epoch


def test_a_replaced_controller_is_not_believed(older: Polling) -> None:
    """It calls the brokers of its successor old. The others are asked until one knows the successor."""
    assert [epoch(older) for _ in range(6)] == [7] * 6
    assert older.down() == {}


def test_a_quorum_that_was_formatted_again_is_followed(older: Polling) -> None:
    """Its epochs begin again. After three polls in which no broker knows a newer one it is believed."""
    older.brokers.do("isolate", broker=3)
    older.brokers.do("clear")
    with capture_logs() as logs:
        for _ in range(3):
            older.poll()
            assert older.down() == {"quorum": "protocol"}
            assert {each["broker"] for each in older.brokers.seen("DescribeQuorum")} == {1, 2, 3}
    assert "of epoch 7 has replaced" in logs[0]["error"]
    assert [epoch(older) for _ in range(2)] == [2, 2]
    assert older.down() == {}


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (lambda epoch, brokers: (epoch, brokers), 0),
        (lambda epoch, brokers: (np.add(epoch, [0, 1, 0]), brokers), 1),
        (lambda epoch, brokers: (epoch - [0, 1, 0], brokers), -1),
        (lambda epoch, brokers: (epoch, {2: brokers[2], 3: brokers[3]}), 1),
        (lambda epoch, brokers: (epoch - [0, 0, 1], {2: brokers[2], 3: brokers[3]}), -1),
    ],
    ids=["alike", "newer", "older", "lacks the lead", "older and lacks the lead"],
)
def test_metadata_of_two_brokers_is_compared(polled: Polling, change: Callable[..., Any], verdict: int) -> None:
    first = known(polled.poller._state.answers.layout)
    epochs, listed = change(first.leader_epoch, dict(first.brokers))
    assert newer(first, replace(first, leader_epoch=epochs, brokers=listed), (1, 2)) == verdict
    assert np.array_equal(first.leader_epoch, [0, 0, 0])
