"""Which processes are asked for their beans, in a poll that asks before and after it knows the cluster."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import pytest

from kafka_warden.clients.jmx.protocol import RawBeans
from kafka_warden.clients.jmx.session import JmxTarget
from kafka_warden.clients.kafka.properties import translate
from kafka_warden.errors import RefusedError
from kafka_warden.model import NO_BROKER, UNKNOWN, Broker, Source
from kafka_warden.poller.beans import JmxPlan, JmxQuestions
from kafka_warden.poller.cluster import ClusterQuestions
from kafka_warden.poller.poller import Poller, PollerSettings
from tests.building import Partition, layout

PLAN: Final = JmxPlan(port=9999, controllers={"101": ("controller.example", 9999)})
BROKERS: Final = {broker: Broker(broker, "127.0.0.1", 1) for broker in (1, 2)}
TOPICS: Final = {"t": [Partition(replicas=(1, 2))]}


class Session:
    """Takes down who is asked, and answers at once."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def ask(self, targets: Sequence[JmxTarget], deadline: float) -> dict[str, Any]:  # noqa: ARG002  # as a session has it
        """Answer with nothing."""
        self.asked.append([target.key for target in targets])
        return {target.key: RawBeans(time.monotonic(), {}) for target in targets}

    def close(self) -> None:
        """Nothing to end."""


@pytest.fixture
def session() -> Session:
    """A session of its own for each test."""
    return Session()


@pytest.fixture
def poller(session: Session) -> Iterator[Poller]:
    """One that has JMX, and finds nobody who speaks Kafka."""
    questions = JmxQuestions(PLAN, session)  # type: ignore[arg-type]  # has what is used of a session
    made = Poller(PollerSettings(), translate({"bootstrap.servers": "127.0.0.1:1"}), questions)
    yield made
    made.close()


def told(brokers: dict[int, Broker]) -> Any:
    """What stands in for the question about the cluster: it is answered with these brokers."""

    async def find_cluster(questions: ClusterQuestions) -> None:
        seen, context = layout(TOPICS, brokers), questions.context
        state = context.state
        for broker in state.answers.update_brokers(seen.brokers, {}, frozenset(brokers)):
            state.forget(broker)
        context.note(Source.METADATA, NO_BROKER, context.now(), seen)
        context.layout = state.answers.adopt(seen)
        context.ends, context.tiered = (np.full(len(seen.broker), UNKNOWN, np.int64) for _ in range(2))

    return find_cluster


async def nobody(questions: ClusterQuestions) -> None:
    """The same while nobody answers."""
    questions.context.note(Source.METADATA, NO_BROKER, questions.context.now(), RefusedError("no broker answers"))


Ask = Callable[[Any], list[list[str]]]


@pytest.fixture
def ask(poller: Poller, session: Session, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Poll once while the question about the cluster fares so; return who was asked for beans, question by question."""

    def polled(find_cluster: Any) -> list[list[str]]:
        session.asked.clear()
        monkeypatch.setattr(ClusterQuestions, "find_cluster", find_cluster)
        poller.poll()
        return list(session.asked)

    return polled


CONTROLLER, ALL = ["controller 101"], ["broker 1", "broker 2", "controller 101"]


def test_nobody_is_asked_twice_in_a_poll(ask: Ask) -> None:
    """Neither while nobody tells about the cluster, nor in the poll in which somebody does again."""
    assert ask(told(BROKERS)) == [ALL]
    assert ask(nobody) == [ALL]
    assert ask(nobody) == [ALL]
    assert ask(told(BROKERS)) == [ALL]
    assert ask(told(BROKERS)) == [ALL]


def test_brokers_that_are_new_when_the_cluster_is_back_are_asked_in_that_poll(ask: Ask) -> None:
    """A sidecar that was there before its cluster, and a broker that came back elsewhere."""
    assert [ask(nobody), ask(nobody)] == [[CONTROLLER], [CONTROLLER]]
    assert ask(told(BROKERS)) == [CONTROLLER, ["broker 1", "broker 2"]]
    assert ask(nobody) == [ALL]
    assert ask(told({**BROKERS, 2: Broker(2, "localhost", 1)})) == [ALL, ["broker 2"]]


def test_all_that_is_told_is_kept(ask: Ask, poller: Poller) -> None:
    """What was told before the cluster was known, and after."""
    for find_cluster in (nobody, nobody, told(BROKERS)):
        ask(find_cluster)
    assert {broker for source, broker in poller.status if source is Source.JMX} == {"1", "2", "101"}
    assert all(status.up for (source, _), status in poller.status.items() if source is Source.JMX)


def test_a_broker_that_is_gone_when_the_cluster_is_back_is_forgotten(ask: Ask, poller: Poller) -> None:
    """What it told before that was known goes with it."""
    ask(told(BROKERS))
    ask(nobody)
    assert ask(told({1: BROKERS[1]})) == [ALL]
    assert {broker for source, broker in poller.status if source is Source.JMX} == {"1", "101"}
