"""Questions about the cluster: one outcome per poll, whatever single topics and listeners of controllers answer."""

import gc
from collections.abc import Iterator

import pytest

from kafka_warden.errors import AnswerTimeoutError, RefusedError
from kafka_warden.model import NO_BROKER, Snapshot, Source
from kafka_warden.poller.asking import PollContext
from kafka_warden.replies import ControllerWindow
from kafka_warden.sources.cluster import read_quotas
from sandbox import wait_for
from tests.poller.polling import Polling, polling
from tests.support.scripted import ScriptedCluster, VirtualClock

FORBIDDEN, NOT_CONTROLLER = 29, 41
POLLS = range(12)
"""Two minutes."""


def test_a_topic_that_may_not_be_described_is_no_failure(polled: Polling) -> None:
    """It is asked about at once, as every new topic is, and then once a minute with all the others."""
    polled.brokers.topic("forbidden", [[1, 2]], config_error=FORBIDDEN)
    polled.brokers.topic("new", [[1, 2]])
    requests = []
    for _ in POLLS:
        assert polled.poll().topic_configs.keys() == {"a", "new"}
        assert polled.status(Source.CONFIGS).up
        requests.append(len(polled.brokers.seen("DescribeConfigs")))
    minute = [0, 0, 0, 0, 0, 5]  # three brokers, the topics, the window of the controller
    assert requests == [1, *minute[1:], *minute]
    assert polled.status(Source.CONFIGS).errors == {}


def test_topics_none_of_which_may_be_described_any_more_are_a_failure(
    brokers: ScriptedCluster, clock: VirtualClock
) -> None:
    """Of the same reason in every poll that asks, and the source is never up in between."""
    for name in ("a", "b"):
        brokers.topic(name, [[1, 2]])
    with polling(brokers, clock) as polled:
        polled.poll()
        for name in ("a", "b"):
            brokers.topic(name, [[1, 2]], config_error=FORBIDDEN)
        for number in POLLS:
            polled.poll()
            assert polled.status(Source.CONFIGS).up is (number < 5)  # they are asked once a minute
        assert polled.status(Source.CONFIGS).errors == {"authorization": 2}


def test_topics_none_of_which_could_ever_be_described_are_not_available(
    brokers: ScriptedCluster, clock: VirtualClock
) -> None:
    for name in ("a", "b"):
        brokers.topic(name, [[1, 2]], config_error=FORBIDDEN)
    with polling(brokers, clock) as polled:
        for _ in POLLS:
            polled.poll()
            assert polled.last.not_available == {(Source.CONFIGS, NO_BROKER): "authorization"}
            assert (Source.CONFIGS, NO_BROKER) not in polled.last.status


@pytest.fixture(params=[0, 1, 2])
def configured(request: pytest.FixtureRequest, brokers: ScriptedCluster, clock: VirtualClock) -> Iterator[Polling]:
    """A poller of brokers before Kafka 3.9, with listeners of three controllers, of which 100 is active."""
    ids = [101, 102]
    ids.insert(request.param, 100)
    host = "127.0.0.2"
    ports = brokers.do("controllers", controllers=[{"id": each, "host": host} for each in (101, 102, 100)])
    brokers.each("versions", versions={"DescribeQuorum": (0, 1)})
    brokers.topic("a", [[1, 2]])
    brokers.rule(101, "DescribeConfigs", error=NOT_CONTROLLER)
    brokers.do("refuse", broker=102)
    with polling(brokers, clock, controllers=tuple((host, ports[str(each)]) for each in ids)) as made:
        yield made


def window_of(snapshot: Snapshot) -> int | None:
    return snapshot.controller_window.samples if snapshot.controller_window is not None else None


def test_controllers_that_are_not_active_are_no_failure_of_the_one_that_is(configured: Polling) -> None:
    """One of the configured listeners answers for the active controller; the others refuse, or are not there."""
    assert window_of(configured.poll()) == 11
    assert configured.status(Source.CONTROLLER_CONFIGS, "100").errors == {}


def test_an_active_controller_that_no_listener_answers_for_is_one_failure(configured: Polling) -> None:
    """One error in that poll, not one for every listener, and its own. It is dropped when another one is active."""
    configured.brokers.rule(100, hang=True)
    assert window_of(configured.poll()) is None
    assert configured.status(Source.CONTROLLER_CONFIGS, "100").errors == {"timeout": 1}
    configured.brokers.do("controllers", controllers=[{"id": 102}])
    configured.poll()
    assert (Source.CONTROLLER_CONFIGS, "100") not in configured.last.status


def test_a_listener_of_the_active_controller_that_cannot_be_reached(
    brokers: ScriptedCluster, clock: VirtualClock
) -> None:
    port = brokers.controller()
    brokers.topic("a", [[1, 2]])
    brokers.do("advertise", broker=100, host="127.0.0.1", port=1)
    with polling(brokers, clock, controllers=(("127.0.0.1", port),)) as polled:
        assert window_of(polled.poll()) == 11
        assert polled.down() == {}


def test_a_new_controller_is_asked_at_once(polled: Polling) -> None:
    for active in (101, 102, 101):
        polled.brokers.do("controllers", controllers=[{"id": active}])
        assert window_of(polled.poll()) == 11
        assert polled.poller._state.answers.windows.keys() == {active}


@pytest.mark.parametrize("configured", [None, ControllerWindow(1, 5.0)])
def test_a_new_controller_has_a_quota_window_of_its_own(polled: Polling, configured: ControllerWindow | None) -> None:
    """The window of the old one is not shown for it. A configured one is, for one that was not read."""
    polled.configure(controller_window=configured)
    polled.brokers.do("controllers", controllers=[{"id": 101}, {"id": 100}])
    assert window_of(polled.poll()) == 11
    polled.brokers.do("controllers", controllers=[{"id": 101}])
    polled.brokers.rule(101, hang=True)
    assert polled.poll().controller_window == configured


def test_one_outcome_for_all_questions_of_a_poll(polled: Polling) -> None:
    state, clock = polled.poller._state, polled.clock.monotonic()

    async def run() -> None:
        context = PollContext(state, clock, clock + 5.0)
        context.note(Source.METADATA, NO_BROKER, clock - 2.0, "answer")
        context.note(Source.METADATA, NO_BROKER, clock - 3.0, RefusedError("first"))
        context.note(Source.METADATA, NO_BROKER, clock - 1.0, AnswerTimeoutError("second"))
        context.note(Source.METADATA, NO_BROKER, clock - 1.0, "answer")
        context.publish()

    state.network.run(run)
    status = state.book.publish()[Source.METADATA, NO_BROKER]
    assert (status.up, status.duration, status.errors) == (False, 7.0, {"refused": 1})


def test_a_question_after_the_deadline_is_a_timeout(polled: Polling) -> None:
    state, clock = polled.poller._state, polled.clock.monotonic()

    async def run() -> None:
        context = PollContext(state, clock - 5.0, clock)
        async with context.tasks:
            link = state.links.broker(state.answers.brokers[1])
            await context.ask_any(Source.QUOTAS, [link], read_quotas)
        context.publish()

    state.network.run(run)
    assert state.book.publish()[Source.QUOTAS, NO_BROKER].errors == {"timeout": 1}


def test_the_columns_of_a_poll_are_freed_with_it(polled: Polling) -> None:
    """By reference counts: with 200,000 partitions they are 20 MB a poll."""
    gc.collect()
    gc.disable()
    try:
        polled.poll()
        wait_for(lambda: not any(isinstance(found, PollContext) for found in gc.get_objects()))
    finally:
        gc.enable()
