"""What is refused from the start, unknown to a version or disabled is not available, which is no failure."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest
from structlog.testing import capture_logs

from kafka_warden.errors import AuthorizationError
from kafka_warden.model import IN_ELR, UNKNOWN, OptionalQuestion, Snapshot, Source
from kafka_warden.poller import PollerSettings
from kafka_warden.poller.status import ASK_AGAIN
from kafka_warden.replies import ControllerWindow
from tests.poller.polling import DEADLINE, INTERVAL, Polling, polling
from tests.support.scripted import ScriptedCluster, VirtualClock

REFUSED: Final = 31
RIGHTS: Final = {
    "cluster_describe": {"log_dirs1", "log_dirs2", "log_dirs3", "reassignments", "quorum"},
    "cluster_configs": {"configs1", "configs2", "configs3", "controller_configs100", "quotas"},
    "topic_configs": {"configs"},
}
"""Right that is missing to what is not available then."""
REQUESTS: Final = {
    "cluster_describe": ("DescribeLogDirs", "ListPartitionReassignments", "DescribeQuorum"),
    "cluster_configs": ("DescribeClientQuotas",),
    "topic_configs": ("DescribeConfigs topics",),
}
"""Requests that need one right only."""
DISABLED: Final = {
    OptionalQuestion.LOG_DIRS: {"log_dirs1", "log_dirs2", "log_dirs3"},
    OptionalQuestion.REASSIGNMENTS: {"reassignments"},
    OptionalQuestion.QUORUM: {"quorum"},
    OptionalQuestion.QUOTAS: {"quotas"},
    OptionalQuestion.FENCED_BROKERS: {"fenced_brokers"},
    OptionalQuestion.ELIGIBLE_LEADERS: {"eligible_leaders"},
    OptionalQuestion.TOPIC_CONFIGS: {"configs"},
    OptionalQuestion.BROKER_CONFIGS: {"configs1", "configs2", "configs3"},
    OptionalQuestion.CONTROLLER_CONFIGS: {"controller_configs100"},
}


@pytest.fixture
def started(brokers: ScriptedCluster, clock: VirtualClock) -> Iterator[Polling]:
    """Before the first poll of three brokers and a controller."""
    brokers.controller()
    brokers.topic("a", [[1, 2, 3], [2, 3, 1], [3, 1, 2]], end=100, rate=10.0, config={"min.insync.replicas": "2"})
    with polling(brokers, clock) as made:
        yield made


def absent(polled: Polling, reason: str = "authorization") -> set[str]:
    found = polled.last.not_available
    assert not found.keys() & polled.last.status.keys()
    return {f"{source}{broker}" for (source, broker), why in found.items() if why == reason}


def asked(polled: Polling, requests: Sequence[str]) -> int:
    return len(polled.brokers.seen(*requests)) if requests else 0


@pytest.mark.parametrize("right", RIGHTS)
def test_what_is_refused_from_the_start_is_no_failure(started: Polling, right: str) -> None:
    """It is asked again every five minutes, and the numbers come within five minutes after the right is given."""
    started.brokers.do("deny", rights=[right])
    times = 0
    for _ in range(int(2 * ASK_AGAIN / INTERVAL) - 1):
        started.poll()
        assert started.down() == {}
        assert absent(started) == RIGHTS[right]
        times += bool(asked(started, REQUESTS[right]))
    assert times == 2
    started.brokers.do("deny", rights=[])
    for _ in range(int(ASK_AGAIN / INTERVAL) + 1):
        started.poll()
    assert absent(started) == set()
    assert started.down() == {}
    assert {name for source, broker in started.last.status for name in [f"{source}{broker}"]} >= RIGHTS[right]


def test_an_old_broker_that_refuses_log_directories_returns_none(started: Polling) -> None:
    """Before Kafka 3.2 the reply has no error: no log is missing then, and none is stray."""
    started.limit({"DescribeLogDirs": (0, 2)})
    started.brokers.do("deny", rights=["cluster_describe"])
    snapshot = started.poll()
    assert (absent(started), started.down()) == (RIGHTS["cluster_describe"], {})
    assert snapshot.log_gaps == {}


def test_one_line_in_the_log_for_each_kind(started: Polling) -> None:
    started.brokers.do("deny", rights=["cluster_describe"])
    with capture_logs() as logged:
        for _ in range(int(ASK_AGAIN / INTERVAL) + 2):
            started.poll()
    lines = [line["source"] for line in logged if line["event"] == "source is not available"]
    assert sorted(lines) == ["log_dirs", "quorum", "reassignments"]
    assert not [line for line in logged if line["event"] == "source failed"]


@pytest.mark.parametrize("right", RIGHTS)
def test_what_is_refused_after_it_was_answered_is_a_failure(polled: Polling, right: str) -> None:
    polled.brokers.do("deny", rights=[right])
    for _ in range(7):
        polled.poll()
    assert polled.down() == dict.fromkeys(RIGHTS[right], "authorization")
    assert absent(polled) == set()


def test_a_broker_that_refuses_what_others_answer_fails(started: Polling) -> None:
    started.brokers.rule(2, "DescribeLogDirs", error=REFUSED)
    started.poll()
    assert (absent(started), started.down()) == ({"log_dirs2"}, {})
    started.poll()
    assert (absent(started), started.down()) == (set(), {"log_dirs2": "authorization"})


def test_a_restart_does_not_forget_what_was_answered(
    brokers: ScriptedCluster, clock: VirtualClock, tmp_path: Any
) -> None:
    """The state file keeps it: a right that is taken away is a failure for the next process, too."""
    brokers.controller()
    brokers.topic("a", [[1, 2, 3]], end=100)
    for right, absent_, failed in (
        ("topic_configs", {"configs"}, set[str]()),
        ("cluster_configs", set(), RIGHTS["cluster_configs"]),
        ("cluster_configs", set(), RIGHTS["cluster_configs"]),
    ):
        brokers.do("deny", rights=[right])
        with polling(brokers, clock) as process:
            cycle = process.cycle(tmp_path / "state")
            clock.advance(INTERVAL)
            cycle.once()
            cycle.save()
            assert absent(process) == absent_
            assert process.down() == dict.fromkeys(failed, "authorization")


def test_slow_and_absent_brokers_do_not_make_it_a_failure(started: Polling) -> None:
    """A time-out of what was refused says nothing; nor does a cluster that does not answer."""
    started.brokers.do("deny", rights=["cluster_describe"])
    started.poll()
    started.brokers.rule(2, "DescribeLogDirs", hang=True)
    started.poll(ASK_AGAIN)
    assert started.took >= DEADLINE
    assert (absent(started), started.down()) == (RIGHTS["cluster_describe"], {})
    started.brokers.rule(hang=True)
    started.poll_any()
    assert absent(started) == RIGHTS["cluster_describe"]
    assert not started.down().keys() & RIGHTS["cluster_describe"]


def test_what_fails_first_and_is_refused_then_is_not_available(started: Polling) -> None:
    started.brokers.rule(None, "DescribeClientQuotas", hang=True)
    started.poll()
    assert started.down() == {"quotas": "timeout"}
    started.brokers.do("clear")
    started.brokers.rule(None, "DescribeClientQuotas", error=REFUSED)
    started.poll()
    assert (absent(started), started.down()) == ({"quotas"}, {})


def test_a_cluster_that_refuses_describe_cluster_is_seen_all_the_same(started: Polling) -> None:
    """As proxies and managed services do: the metadata is there, and fenced brokers are not known."""
    started.brokers.rule(None, "DescribeCluster", error=REFUSED)
    for _ in range(3):
        assert set(started.poll().brokers) == {1, 2, 3}
        assert (absent(started), started.down()) == ({"fenced_brokers"}, {})
    assert started.status(Source.METADATA).up


@pytest.mark.parametrize("optional", OptionalQuestion)
def test_what_is_disabled_is_not_asked(
    brokers: ScriptedCluster, clock: VirtualClock, optional: OptionalQuestion
) -> None:
    """It is asked as soon as the option is gone, and what was known of it is forgotten when the option comes back."""
    brokers.controller()
    brokers.topic("a", [[1, 2, 3]], end=100, moves={0: {"adding": [3], "removing": []}})
    brokers.topic("lost", [[3]], isr=[[]], elr={0: [3]})
    names = {
        OptionalQuestion.LOG_DIRS: "DescribeLogDirs",
        OptionalQuestion.REASSIGNMENTS: "ListPartitionReassignments",
        OptionalQuestion.QUORUM: "DescribeQuorum",
        OptionalQuestion.QUOTAS: "DescribeClientQuotas",
        OptionalQuestion.FENCED_BROKERS: "DescribeCluster",
        OptionalQuestion.ELIGIBLE_LEADERS: "DescribeTopicPartitions",
    }
    disabled = frozenset({optional})
    with polling(brokers, clock, disabled=disabled) as polled:
        snapshot = polled.poll()
        gone = DISABLED[optional]
        # The window is asked of the controller that the quorum names.
        assert absent(polled, "disabled") == gone
        assert polled.down() == {}
        assert not asked(polled, [names[optional]] if optional in names else [])
        assert lacks(snapshot, optional)
        polled.configure()
        snapshot = polled.poll(60.0)
        assert polled.last.not_available == {}
        assert not lacks(snapshot, optional)
        polled.configure(disabled=disabled)
        snapshot = polled.poll(240.0)
        assert absent(polled, "disabled") == gone
        assert lacks(snapshot, optional)


def lacks(snapshot: Snapshot, optional: OptionalQuestion) -> bool:
    """Whether a snapshot has nothing of a question."""
    return {
        OptionalQuestion.LOG_DIRS: not snapshot.log_dirs and (snapshot.replicas.size == UNKNOWN).all(),
        OptionalQuestion.REASSIGNMENTS: not snapshot.reassignments_known and not snapshot.replicas.adding.any(),
        OptionalQuestion.QUORUM: snapshot.quorum is None,
        OptionalQuestion.QUOTAS: snapshot.quotas is None,
        OptionalQuestion.FENCED_BROKERS: (Source.FENCED_BROKERS, "") not in snapshot.status,
        OptionalQuestion.ELIGIBLE_LEADERS: not (snapshot.replicas.eligible == IN_ELR).any(),
        OptionalQuestion.TOPIC_CONFIGS: not snapshot.topic_configs,
        OptionalQuestion.BROKER_CONFIGS: not snapshot.broker_configs,
        OptionalQuestion.CONTROLLER_CONFIGS: (Source.CONTROLLER_CONFIGS, "100") not in snapshot.status
        and snapshot.controller_window is None,
    }[optional]


@pytest.mark.parametrize(
    ("request_name", "gone"),
    [
        ("DescribeLogDirs", {"log_dirs1", "log_dirs2", "log_dirs3"}),
        ("DescribeClientQuotas", {"quotas"}),
        ("DescribeQuorum", {"quorum"}),
        ("ListPartitionReassignments", {"reassignments"}),
        ("DescribeCluster", {"fenced_brokers"}),
    ],
)
def test_what_a_version_does_not_know_is_not_available(started: Polling, request_name: str, gone: set[str]) -> None:
    started.limit({request_name: (0, -1)})
    connections = 0
    for _ in range(3):
        started.poll()
        assert (absent(started, "unsupported"), started.down()) == (gone, {})
        assert asked(started, [request_name]) == 0
        assert started.connections() == (connections := connections or started.connections())
    started.limit({})
    started.poll()
    assert (absent(started, "unsupported"), started.down()) == (set(), {})


def test_a_cluster_of_two_versions_is_asked_through_the_new_brokers(started: Polling) -> None:
    old = dict.fromkeys(("ListPartitionReassignments", "DescribeClientQuotas"), (0, -1))
    started.brokers.each("versions", 1, 2, versions=old | {"DescribeLogDirs": (0, -1)})
    for _ in range(3):
        started.poll()
        assert started.down() == {}
        assert absent(started, "unsupported") == {"log_dirs1", "log_dirs2"}


def test_a_changed_login_is_asked_at_once(started: Polling) -> None:
    started.brokers.do("deny", rights=["cluster_describe"])
    started.poll()
    started.brokers.do("deny", rights=[])
    started.poll()
    assert absent(started) == RIGHTS["cluster_describe"]
    poller = started.poller
    poller.configure(PollerSettings(interval=INTERVAL, deadline=DEADLINE), poller._state.links.settings, None)
    started.poll()
    assert absent(started) == set()


def test_what_is_not_available_stays_so_in_an_outage(started: Polling) -> None:
    """What is disabled is not asked, and what a version does not know no broker can answer."""
    started.poll()
    disabled = frozenset({OptionalQuestion.QUOTAS, OptionalQuestion.LOG_DIRS})
    started.configure(disabled=disabled)
    started.limit({"DescribeQuorum": (0, -1)})
    started.poll()
    gone = DISABLED[OptionalQuestion.QUOTAS] | DISABLED[OptionalQuestion.LOG_DIRS]
    assert (absent(started, "disabled"), absent(started, "unsupported")) == (gone, {"quorum"})
    started.brokers.each("refuse")
    started.poll_any()
    assert (absent(started, "disabled"), absent(started, "unsupported")) == (gone, {"quorum"})
    assert not started.down().keys() & {*gone, "quorum"}


def test_metadata_that_is_refused_changes_no_reason(started: Polling) -> None:
    """Nor does what only timed out so far become not available."""
    started.brokers.do("refuse", broker=100)
    started.brokers.rule(None, "DescribeClientQuotas", hang=True)
    started.poll()
    started.poller._state.book.fail_others(AuthorizationError("no topic"), spared=())
    assert started.poller._state.book.not_available() == {(Source.CONTROLLER_CONFIGS, "100"): "unreachable"}


def test_nothing_is_said_of_a_controller_that_is_not_asked(started: Polling) -> None:
    disabled = frozenset({OptionalQuestion.REASSIGNMENTS, OptionalQuestion.QUORUM})
    for request_name in ("ListPartitionReassignments", "DescribeQuorum"):
        started.brokers.rule(None, request_name, hang=True)
    started.poll()
    assert started.last.controller_reachable is False
    started.configure(disabled=disabled)
    started.poll()
    assert started.last.controller_reachable is None


def test_a_listener_of_controllers_that_never_answered_is_not_available(started: Polling) -> None:
    started.brokers.do("refuse", broker=100)
    for _ in range(10):
        started.poll(60.0)
    assert (absent(started, "unreachable"), started.down()) == ({"controller_configs100"}, {})
    started.brokers.do("accept", broker=100)
    started.poll(60.0)
    assert (absent(started, "unreachable"), started.down()) == (set(), {})
    started.brokers.do("refuse", broker=100)
    started.poll(60.0)
    assert started.down() == {"controller_configs100": "refused"}


def test_a_controller_that_is_a_broker_too_has_two_outcomes(brokers: ScriptedCluster, clock: VirtualClock) -> None:
    """Its listener for controllers is closed to clients, or not to be asked. Its configuration as a broker is there."""
    brokers.do("controllers", controllers=[{"id": 1, "advertised": ["127.0.0.1", 1]}])
    brokers.topic("a", [[1, 2, 3]])
    with polling(brokers, clock) as polled, capture_logs() as logged:
        for reason in ("unreachable", "disabled"):
            for _ in range(int(2 * 60.0 / INTERVAL) + 1):
                polled.poll()
                assert (absent(polled, reason), polled.down()) == ({"controller_configs1"}, {})
                assert polled.status(Source.CONFIGS, "1").up
            assert [line["reason"] for line in logged if line["event"].startswith("source ")].pop() == reason
            polled.configure(disabled=frozenset({OptionalQuestion.CONTROLLER_CONFIGS}))
        assert len([line for line in logged if line["event"].startswith("source ")]) == 2


def test_a_window_that_is_configured_later_ends_the_failure(started: Polling) -> None:
    started.brokers.rule(100, "DescribeConfigs", hang=True)
    started.poll()
    assert started.down() == {"controller_configs100": "timeout"}
    window = ControllerWindow(samples=1, seconds=11.0)
    started.configure(controller_window=window)
    assert started.poll().controller_window == window
    assert started.down() == {}
    started.configure()
    started.poll(60.0)
    assert started.down() == {"controller_configs100": "timeout"}


def test_a_window_that_is_configured_is_not_asked(brokers: ScriptedCluster, clock: VirtualClock) -> None:
    brokers.controller()
    brokers.do("refuse", broker=100)
    window = ControllerWindow(samples=1, seconds=11.0)
    with polling(brokers, clock, controller_window=window) as polled:
        assert polled.poll().controller_window == window
        assert (polled.last.not_available, polled.down()) == ({}, {})


def test_a_window_that_is_configured_needs_no_controller(brokers: ScriptedCluster, clock: VirtualClock) -> None:
    brokers.controller()
    brokers.do("deny", rights=["cluster_describe"])
    window = ControllerWindow(samples=1, seconds=11.0)
    with polling(brokers, clock, controller_window=window) as polled:
        snapshot = polled.poll()
        assert (snapshot.controller, snapshot.controller_window) == (None, window)
