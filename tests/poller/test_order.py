"""In which order brokers are asked, and how long a poll takes."""

from typing import Any

import pytest

from kafka_warden.poller.tables import YOUNG
from tests.poller.polling import Polling


def sides(seen: list[dict[str, Any]]) -> list[str]:
    """What the requests for offsets were about, in the order of their arrival."""
    return [each["side"] for each in seen]


def settle(polled: Polling) -> None:
    """Poll until new logs are known well enough: until then more is asked about them."""
    polled.poll(61.0)
    for _ in range(YOUNG):
        polled.poll()


def test_a_poll_of_brokers_that_answer_waits_for_nothing(polled: Polling) -> None:
    """Neither the first poll nor a later one: no timer has to end."""
    assert polled.took == 0.0
    polled.poll()
    assert polled.took == 0.0


def test_all_followers_answer_before_leaders_are_asked(polled: Polling) -> None:
    """Also the followers of a slow broker: an offset that a leader reports earlier would make them seem ahead."""
    polled.brokers.rule(3, "ListOffsets", side="followers", delay=1.0)
    snapshot = polled.poll()

    seen = polled.brokers.seen("ListOffsets")
    assert sides(seen) == ["followers"] * 3 + ["leaders"] * 3
    asked = polled.clock.monotonic() - polled.took
    assert [each["at"] - asked for each in seen] == [0.0] * 3 + [1.0] * 3
    assert snapshot.replicas.end.min() > 0


def test_lag_is_never_negative_while_messages_come_in(polled: Polling) -> None:
    """Followers answered a second earlier than leaders, at ten messages per second."""
    polled.brokers.rule(None, "ListOffsets", side="leaders", delay=1.0)
    snapshot = polled.poll()

    leaders = snapshot.replicas.end[snapshot.partitions.leader_row]
    lag = leaders[snapshot.replicas.partition] - snapshot.replicas.end
    assert sorted(set(lag.tolist())) == [0, 10]


def test_all_brokers_are_asked_at_once(polled: Polling) -> None:
    """A second for each of the two rounds, however many brokers there are."""
    polled.brokers.brokers(*({"id": broker} for broker in range(4, 31)))
    polled.brokers.do("spread", topics=30, partitions=4, replicas=3, end=100)
    settle(polled)
    polled.brokers.rule(None, "ListOffsets", delay=1.0)
    snapshot = polled.poll()
    assert len(snapshot.offsets_at) == 30
    assert polled.took == pytest.approx(2.0)
    assert snapshot.replicas.end.min() == 100


def test_remote_storage_is_asked_about_right_after_the_ends(polled: Polling) -> None:
    """In every poll, by one more request to each leader, once it is known that the topic has remote storage."""
    polled.brokers.topic("a", [[1, 2], [2, 1]], end=100, tiered=49, config={"remote.storage.enable": "true"})
    settle(polled)
    for _ in range(2):
        snapshot = polled.poll()
        assert snapshot.partitions.tiered.tolist() == [49, 49]
        asked = [each for each in polled.brokers.seen("ListOffsets") if each["broker"] != 3]
        assert sides(asked) == ["followers"] * 2 + ["leaders"] * 4
