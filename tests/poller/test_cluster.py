"""Questions about the cluster: one outcome per poll, whatever single topics and listeners of controllers answer."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Final

import pytest

from kafka_warden.clients.kafka.network import Network
from kafka_warden.errors import AnswerTimeoutError, RefusedError, SourceError
from kafka_warden.model import NO_BROKER, Quorum, Source, SourceStatus
from kafka_warden.poller.answers import Cadence, LastAnswers
from kafka_warden.poller.asking import PollContext, PollerState
from kafka_warden.poller.cluster import ClusterQuestions
from kafka_warden.poller.status import StatusBook
from tests.building import Partition, layout

TOPICS: Final = {name: [Partition(replicas=(1, 2))] for name in ("first", "forbidden", "last")}
POLLS: Final = [10.0 * number for number in range(13)]
"""Two minutes."""
FORBIDDEN, NOT_ME = 29, 42
WINDOW: Final = {"controller.quota.window.num": "5", "controller.quota.window.size.seconds": "2"}
CONTROLLER: Final = 101


class Link:
    """Answers DescribeConfigs: an error for some resources, or for all requests."""

    busy = False

    def __init__(self, error: int = 0, refused: tuple[str, ...] = (), fault: SourceError | None = None) -> None:
        self.address = "broker.example:9092"
        self.asked: list[tuple[str, ...]] = []
        self._error, self._refused, self._fault = error, refused, fault

    async def ask(self, request: Any, timeout_at: float) -> Any:
        """Answer for every resource."""
        assert timeout_at > 0
        if self._fault is not None:
            raise self._fault
        names = tuple(resource.resource_name for resource in request.resources)
        self.asked.append(names)
        configs = [
            SimpleNamespace(name=key, value=value, config_source=5, synonyms=[]) for key, value in WINDOW.items()
        ]
        return SimpleNamespace(
            results=[
                SimpleNamespace(
                    error_code=self._error if name in self._refused else 0,
                    error_message=None,
                    resource_name=name,
                    configs=configs,
                )
                for name in names
            ]
        )


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    """A loop."""
    made = Network()
    yield made
    made.close()


def shared(network: Network, controllers: dict[int, Link] | None = None) -> PollerState:
    """What polls share, with the listeners of controllers by port."""
    links: Any = SimpleNamespace(
        closed=False,
        refused=lambda *_: None,
        note=lambda *_: None,
        controller=lambda _, port: (controllers or {})[port],
    )
    answers = LastAnswers()
    answers.adopt(layout(TOPICS))
    addresses = tuple(("controller.example", port) for port in controllers or ())
    return PollerState(network, links, answers, StatusBook(), Cadence(60.0), Cadence(60.0), addresses)


def poll(state: PollerState, link: Link, clock: float, question: str) -> None:
    """Ask one of the questions about the cluster in a poll of its own, and write the outcomes down."""

    async def run() -> None:
        now = state.network.clock.monotonic()
        async with asyncio.TaskGroup() as tasks:
            context = PollContext(state, now, now + 5.0, tasks, layout=state.answers.layout)
            context.clock = clock
            context.deadline_at = now + 5.0
            context.answered.append(link)  # type: ignore[arg-type]  # has what is used of a link
            asked = getattr(ClusterQuestions(context), question)
            await (asked(context.layout) if question == "_topic_configs" else asked())
        context.publish()

    state.network.run(run)


def configs(state: PollerState, broker: object = NO_BROKER) -> SourceStatus:
    """How the source fares."""
    return state.book.publish()[Source.CONFIGS, str(broker)]


def test_a_topic_that_may_not_be_described_is_no_failure(network: Network) -> None:
    """The source is up in every poll, and the topic is asked about once a minute, with all the others."""
    state, link = shared(network), Link(FORBIDDEN, ("forbidden",))
    for clock in POLLS:
        poll(state, link, clock, "_topic_configs")
        assert configs(state).up
        assert state.answers.topic_configs.keys() == {"first", "last"}
    assert configs(state).errors == {}
    assert link.asked == [tuple(TOPICS)] * 3


def test_topics_none_of_which_may_be_described_are_a_failure(network: Network) -> None:
    """Of the same reason in every poll that asks, and the source is never up in between."""
    state, link = shared(network), Link(FORBIDDEN, tuple(TOPICS))
    for clock in POLLS:
        poll(state, link, clock, "_topic_configs")
        assert not configs(state).up
    assert configs(state).errors == {"authorization": 3}


def test_a_new_topic_is_asked_about_at_once(network: Network) -> None:
    """Not only when all are due; also when it may not be described, once."""
    state, link = shared(network), Link(FORBIDDEN, ("later",))
    poll(state, link, 0.0, "_topic_configs")
    state.answers.adopt(layout({**TOPICS, "later": [Partition(replicas=(1, 2))], "new": [Partition(replicas=(1, 2))]}))
    for clock in (10.0, 20.0):
        poll(state, link, clock, "_topic_configs")
        assert configs(state).up
    assert link.asked == [tuple(TOPICS), ("later", "new")]
    assert configs(state).errors == {}


@pytest.mark.parametrize("place", [0, 1, 2])
def test_controllers_that_are_not_active_are_no_failure_of_the_one_that_is(network: Network, place: int) -> None:
    """Of the configured listeners one answers for the active controller; the others refuse, or are not there."""
    others = [Link(NOT_ME, (str(CONTROLLER),)), Link(fault=RefusedError("not there"))]
    others.insert(place, Link())
    state = shared(network, dict(enumerate(others)))
    state.answers.quorum = Quorum(CONTROLLER, leader_epoch=1, high_watermark=0)
    poll(state, Link(), 0.0, "_controller_window")
    assert (configs(state, CONTROLLER).up, configs(state, CONTROLLER).errors) == (True, {})
    assert state.answers.windows[CONTROLLER].samples == 5


def test_an_active_controller_that_no_listener_answers_for_is_one_failure(network: Network) -> None:
    """One error in that poll, not one for every listener."""
    links = {1: Link(NOT_ME, (str(CONTROLLER),)), 2: Link(fault=AnswerTimeoutError("silent"))}
    state = shared(network, links)
    state.answers.quorum = Quorum(CONTROLLER, leader_epoch=1, high_watermark=0)
    poll(state, Link(), 0.0, "_controller_window")
    assert configs(state, CONTROLLER).errors == {"timeout": 1}


def test_one_outcome_for_all_questions_of_a_poll(network: Network) -> None:
    """Durations are summed, one failure is enough, and it is counted once."""

    async def run() -> None:
        clock = state.network.clock.monotonic()
        async with asyncio.TaskGroup() as tasks:
            context = PollContext(state, clock, clock + 5.0, tasks)
            context.note(Source.METADATA, NO_BROKER, clock - 2.0, "answer")
            context.note(Source.METADATA, NO_BROKER, clock - 3.0, RefusedError("first"))
            context.note(Source.METADATA, NO_BROKER, clock - 1.0, AnswerTimeoutError("second"))
            context.note(Source.METADATA, NO_BROKER, clock - 1.0, "answer")
        context.publish()

    state = shared(network)
    network.run(run)
    status = state.book.publish()[Source.METADATA, NO_BROKER]
    assert (status.up, status.errors) == (False, {"refused": 1})
    assert status.duration == pytest.approx(7.0, abs=0.5)
