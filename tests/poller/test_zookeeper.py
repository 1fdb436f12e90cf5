"""ZooKeeper mode: the active controller is a broker that the metadata names, and only it knows the moves."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafka_warden.model import Source
from kafka_warden.poller.beans import JmxQuestions
from kafka_warden.replies import ControllerWindow
from tests.poller.polling import DEADLINE, Polling, polling
from tests.poller.test_beans import Session
from tests.support.scripted import ScriptedCluster, VirtualClock

OLD = {"DescribeQuorum": (0, -1), "DescribeCluster": (0, 0)}
"""Versions of a broker in ZooKeeper mode."""


@pytest.fixture
def old(brokers: ScriptedCluster, clock: VirtualClock) -> Iterator[Polling]:
    """After the first poll of a cluster with a move, whose active controller is broker 3."""
    brokers.do("zookeeper", controller=3)
    brokers.topic("a", [[1, 2, 3], [2, 3]], end=100, moves={0: {"adding": [3], "removing": []}})
    with polling(brokers, clock) as made:
        brokers.each("versions", versions=OLD)
        made.poll()
        yield made


def asked(polled: Polling) -> list[int]:
    """The brokers that were asked for the moves in the last poll."""
    return [each["broker"] for each in polled.brokers.seen("ListPartitionReassignments")]


def reachable(polled: Polling) -> bool | None:
    return polled.last.controller_reachable


def test_the_moves_are_asked_of_the_controller(old: Polling) -> None:
    """It is shown, it is reachable, and the quorum and fenced brokers are not available, which is no failure."""
    snapshot = old.poll()
    assert asked(old) == [3]
    assert snapshot.controller == 3
    assert snapshot.reassignments_known
    assert snapshot.partitions.reassigning.tolist() == [True, False]
    assert old.down() == {}
    assert reachable(old) is True
    assert old.last.not_available == dict.fromkeys([(Source.QUORUM, ""), (Source.FENCED_BROKERS, "")], "unsupported")


def test_a_new_controller_is_asked_in_the_same_poll(old: Polling) -> None:
    old.brokers.do("zookeeper", controller=1)
    assert old.poll().controller == 1
    assert asked(old) == [1]
    assert old.down() == {}


def test_a_controller_that_is_another_by_now_is_a_failure_of_one_poll(old: Polling) -> None:
    old.brokers.rule(3, "ListPartitionReassignments", error=41, times=1)
    old.poll()
    assert old.down() == {"reassignments": "protocol"}
    assert reachable(old) is None
    old.poll()
    assert reachable(old) is True
    assert old.last.status[Source.REASSIGNMENTS, ""].up


def test_the_quota_window_is_that_of_the_controller(old: Polling) -> None:
    """It is a broker, and asked as such; a new one is asked at once, and has Kafka's defaults where it names none."""
    assert old.poll().controller_window == ControllerWindow(11, 1.0)
    old.brokers.brokers({"id": 1, "config": {"controller.quota.window.num": "5"}})
    old.brokers.do("zookeeper", controller=1)
    assert old.poll().controller_window == ControllerWindow(5, 1.0)
    assert old.down() == {}


def test_the_beans_of_the_controller_are_those_of_its_broker(brokers: ScriptedCluster, clock: VirtualClock) -> None:
    """Its process is asked both questions; a controller that the configuration names keeps its address."""
    brokers.do("zookeeper", controller=3)
    brokers.each("versions", versions=OLD)
    session: Any = Session()
    jmx = JmxQuestions(session, 9999, controllers={"2": ("named.example", 9999)})
    with polling(brokers, clock, jmx=jmx) as polled:
        polled.poll()
        assert session.asked.pop() == ["broker 1", "broker 2", "broker 3", "controller 3", "controller 2"]
        assert polled.poller._state.answers.controller_beans.keys() == {"2", "3"}
        brokers.do("zookeeper", controller=2)
        polled.poll()
    assert session.asked.pop() == ["broker 1", "broker 2", "broker 3", "controller 2"]


def test_a_cluster_without_a_controller(old: Polling) -> None:
    old.brokers.do("zookeeper", controller=-1)
    snapshot = old.poll()
    assert snapshot.controller is None
    assert asked(old) == []
    assert reachable(old) is False
    old.brokers.do("zookeeper", controller=2)
    assert old.poll().controller == 2
    assert reachable(old) is True


def test_a_controller_that_hangs_costs_its_own_answers(old: Polling) -> None:
    old.brokers.rule(3, hang=True)
    for _ in range(2):
        snapshot = old.poll()
        assert set(snapshot.offsets_at) == {1, 2}
        assert old.took <= DEADLINE
    assert {"reassignments", "offsets3"} <= old.down().keys()
