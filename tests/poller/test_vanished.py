"""Topics that vanish from the metadata: deleted, or topics that may not be described any more."""

from collections.abc import Mapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from kafka_warden.model import Source
from kafka_warden.poller.answers import LOST_FOR
from tests.poller.polling import Polling

TROUBLES: tuple[Mapping[str, Any], ...] = (
    {"isr": [[1]]},
    {"isr": [[]]},
    {"moves": {0: {"adding": [2], "removing": []}}},
    {"config": {"leader.replication.throttled.replicas": "*"}},
)
DESCRIBE = "topic_describe"


def add(polled: Polling, **given: Any) -> None:
    polled.brokers.topic("lost", [[1, 2]], **given)
    for _ in range(2):  # its configuration and its moves are known then
        assert "lost" in polled.poll().topics


def named(polled: Polling) -> int:
    return len(polled.brokers.seen("Metadata"))


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: next(iter(trouble)))
def test_a_topic_with_a_problem_does_not_vanish_with_its_right(polled: Polling, trouble: Mapping[str, Any]) -> None:
    """The metadata is refused until the right is back: the last numbers age, and nothing resolves."""
    add(polled, **trouble)
    polled.brokers.topic("lost", [[1, 2]], listed=False, **trouble)
    for poll in range(1, 4):
        assert polled.poll_any() is None
        assert polled.status(Source.METADATA).errors == {"authorization": poll}
        assert polled.last.undescribed_topics == 1
        assert polled.last.cluster_reachable
    polled.brokers.topic("lost", [[1, 2]], **trouble)
    assert polled.poll().topics == ("a", "lost")
    assert polled.last.undescribed_topics == 0
    assert polled.status(Source.METADATA).up


@pytest.mark.parametrize("capped", [False, True])
def test_a_topic_under_min_isr_with_all_replicas_in_sync(
    polled: Polling, monkeypatch: pytest.MonkeyPatch, *, capped: bool
) -> None:
    """Before 3.7 its leader needs more replicas than there are, and refuses writes: an alert fires."""
    add(polled, config={"min.insync.replicas": "3"})
    monkeypatch.setattr("kafka_warden.poller.lead.is_capped", lambda _: capped)
    polled.brokers.topic("lost", [[1, 2]], listed=False)
    assert (polled.poll_any() is not None) == capped


def test_topics_without_a_problem_are_counted(polled: Polling) -> None:
    add(polled)
    polled.brokers.topic("lost", [[1, 2]], listed=False)
    with capture_logs() as logs:
        for _ in range(3):
            assert polled.poll().topics == ("a",)
            assert polled.last.undescribed_topics == 1
            assert named(polled) == 2
    assert polled.down() == {}
    (warning,) = [entry["error"] for entry in logs if entry["log_level"] == "warning"]
    assert warning.startswith("lost may not be described any more: grant Describe")
    polled.brokers.topic("lost", [[1, 2]])
    assert polled.poll().topics == ("a", "lost")
    assert polled.last.undescribed_topics == 0
    assert named(polled) == 1


def test_without_any_topic_left_the_metadata_is_refused(polled: Polling) -> None:
    polled.brokers.do("deny", rights=[DESCRIBE])
    for _ in range(2):
        assert polled.poll_any() is None
        assert polled.down()["metadata"] == "authorization"
    for _ in range(2):
        polled.poll_any(LOST_FOR)
        assert polled.down()["metadata"] == "authorization"
    polled.brokers.do("deny", rights=[])
    assert polled.poll(61.0).topics == ("a",)
    assert polled.down() == {}


@pytest.mark.parametrize("trouble", [{}, *TROUBLES], ids=str)
def test_a_few_topics_that_are_refused_for_long_count_as_deleted(polled: Polling, trouble: Mapping[str, Any]) -> None:
    """They were deleted together with their ACLs. The others are shown again, at once where the rest has no problem."""
    add(polled, **trouble)
    polled.brokers.topic("lost", [[1, 2]], listed=False, **trouble)
    polled.poll_any()
    polled.poll_any(LOST_FOR - 20.0)
    assert polled.last.undescribed_topics == 1
    with capture_logs() as logs:
        assert [polled.poll(20.0).topics for _ in range(2)] == [("a",), ("a",)]
    assert polled.last.undescribed_topics == 0
    assert named(polled) == 1
    assert polled.status(Source.METADATA).up
    (note,) = [entry for entry in logs if entry["log_level"] == "warning"]
    assert (note["topics"], note["first"]) == (1, "lost")


def test_many_topics_that_are_refused_stay_so(polled: Polling) -> None:
    many = [f"t{number}" for number in range(18)]
    for name in many:
        polled.brokers.topic(name, [[1, 2]])
    polled.poll()
    for name in many[:3]:
        polled.brokers.topic(name, [[1, 2]], listed=False)
    polled.poll()
    for _ in range(3):
        polled.poll(LOST_FOR)
        assert polled.last.undescribed_topics == 3
    polled.brokers.topic("t0", [[1, 2]])
    polled.brokers.do("remove_topics", topics=["t1"])
    polled.poll(LOST_FOR)
    assert polled.last.undescribed_topics == 0


def test_a_topic_that_can_be_described_meanwhile_starts_again(polled: Polling) -> None:
    for name in ("x", *map(str, range(20))):
        polled.brokers.topic(name, [[1, 2]])
    add(polled, isr=[[1]])
    polled.brokers.topic("x", [[1, 2]], listed=False)
    polled.poll()
    polled.brokers.topic("x", [[1, 2]])
    polled.poll(LOST_FOR - 20.0)
    for name in ("x", "lost"):
        polled.brokers.topic(name, [[1, 2]], listed=False, isr=[[1]])
        polled.poll_any(60.0)
    assert polled.last.undescribed_topics == 2
    polled.poll_any(LOST_FOR - 60.0)
    assert (polled.last.undescribed_topics, polled.status(Source.METADATA).up) == (2, False)
    assert "lost" not in polled.poll(60.0).topics
    assert (polled.last.undescribed_topics, polled.status(Source.METADATA).up) == (0, True)


@pytest.mark.parametrize("trouble", [{}, *TROUBLES], ids=str)
def test_a_deleted_topic_is_forgotten(polled: Polling, trouble: Mapping[str, Any]) -> None:
    add(polled, **trouble)
    polled.brokers.do("remove_topics", topics=["lost"])
    assert polled.poll().topics == ("a",)
    assert named(polled) == 2
    assert polled.poll().topics == ("a",)
    assert named(polled) == 1
    assert polled.last.undescribed_topics == 0
    assert polled.down() == {}


def test_some_of_very_many_topics_are_asked_for(polled: Polling, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_warden.poller.lead.MOST", 2)
    for name in ("x", "y", "z"):
        polled.brokers.topic(name, [[1, 2]])
    polled.poll()
    for name in ("x", "y", "z"):
        polled.brokers.topic(name, [[1, 2]], listed=False, deleted=name == "x")
    assert polled.poll().topics == ("a",)
    assert polled.last.undescribed_topics == 2


def test_a_broker_that_does_not_answer_for_names_shows_nothing(polled: Polling) -> None:
    add(polled, isr=[[1]])
    polled.brokers.do("remove_topics", topics=["lost"])
    lead = polled.brokers.seen("Metadata")[0]["broker"]
    polled.brokers.rule(lead, "Metadata", times=1)
    polled.brokers.rule(lead, "Metadata", hang=True)
    polled.brokers.rule(lead, "Metadata", times=1)
    assert polled.poll_any() is None
    assert polled.down()["metadata"] == "timeout"
    assert polled.poll().topics == ("a",)
    assert polled.status(Source.METADATA).up
