"""In which order brokers are asked, and how long a poll takes."""

from typing import Any

from tests.poller.polling import Polling


def sides(seen: list[dict[str, Any]]) -> list[str]:
    """What the requests for offsets were about, in the order of their arrival."""
    return [each["side"] for each in seen]


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
