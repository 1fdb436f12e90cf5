"""In which order brokers are asked, and how long a poll takes."""

from typing import Any

import pytest

from kafka_warden.model import NOTHING_TIERED, UNKNOWN
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
    assert polled.took == 0.0
    polled.poll()
    assert polled.took == 0.0


def test_all_followers_answer_before_leaders_are_asked(polled: Polling) -> None:
    """An offset that a leader reports earlier would make them seem ahead. Those of a very slow broker have none."""
    polled.brokers.rule(3, "ListOffsets", side="followers", delay=1.0)
    snapshot = polled.poll()

    seen = polled.brokers.seen("ListOffsets")
    assert sides(seen) == ["followers"] * 3 + ["leaders"] * 3
    asked = polled.clock.monotonic() - polled.took
    assert [each["at"] - asked for each in seen] == [0.0] * 3 + [1.0] * 3
    assert snapshot.replicas.end.min() > 0

    polled.brokers.rule(3, "ListOffsets", side="followers", delay=3.0)
    unknown = polled.poll().replicas.end == UNKNOWN
    assert unknown.tolist() == [False, False, True, False, True, False, False, False, False]


def test_lag_is_never_negative_while_messages_come_in(polled: Polling) -> None:
    polled.brokers.rule(None, "ListOffsets", side="leaders", delay=1.0)
    snapshot = polled.poll()
    leaders = snapshot.replicas.end[snapshot.partitions.leader_row]
    lag = leaders[snapshot.replicas.partition] - snapshot.replicas.end
    assert sorted(set(lag.tolist())) == [0, 10]


def test_all_brokers_are_asked_at_once(polled: Polling) -> None:
    polled.brokers.brokers(*({"id": broker} for broker in range(4, 31)))
    polled.brokers.do("spread", topics=30, partitions=4, replicas=3, end=100)
    settle(polled)
    polled.brokers.rule(None, "ListOffsets", delay=1.0)
    snapshot = polled.poll()
    assert len(snapshot.offsets_at) == 30
    assert polled.took == pytest.approx(2.0)
    assert snapshot.replicas.end.min() == 100


@pytest.fixture
def tiered(polled: Polling) -> Polling:
    """With remote storage for topic `a`, led by brokers 1 and 2, and none for `b`, led by broker 3."""
    polled.brokers.topic("a", [[1, 2], [2, 3]], end=100, tiered=49, config={"remote.storage.enable": "true"})
    polled.brokers.topic("b", [[3, 1]], end=100)
    settle(polled)
    return polled


def test_remote_storage_is_asked_about_right_after_the_ends(tiered: Polling) -> None:
    """In every poll, by one more request to each leader of a topic that is known to have it."""
    for _ in range(2):
        snapshot = tiered.poll()
        assert snapshot.partitions.tiered.tolist() == [49, 49, UNKNOWN]
        assert sides(tiered.brokers.seen("ListOffsets")) == ["followers"] * 3 + ["leaders"] * 5
    tiered.brokers.topic("a", [[1, 2], [2, 3]], end=100, config={"remote.storage.enable": "true"})
    assert tiered.poll().partitions.tiered.tolist() == [NOTHING_TIERED, NOTHING_TIERED, UNKNOWN]


def test_a_broker_before_kafka_3_9_is_not_asked_about_remote_storage(tiered: Polling) -> None:
    tiered.limit({"ListOffsets": (1, 8)})
    snapshot = tiered.poll()
    assert snapshot.partitions.tiered.tolist() == [UNKNOWN] * 3
    assert snapshot.replicas.end.tolist() == [100] * 6
    assert sides(tiered.brokers.seen("ListOffsets")) == ["followers"] * 3 + ["leaders"] * 3


DELAYED = {"remote.storage.enable": "true", "remote.copy.lag.ms": "3600000", "remote.copy.lag.bytes": "-1"}


def test_an_allowed_lag_is_searched_by_time_a_few_partitions_in_a_poll(tiered: Polling) -> None:
    """20 of the 30 that broker 1 leads in each poll, the oldest answers first. Where all records are older: the end."""

    def known(due: int) -> int:
        return int((tiered.poll().partitions.copy_due[:30] == due).sum())

    tiered.limit({"ListOffsets": (1, 11)})
    tiered.brokers.topic("b", [[3, 1]], end=100, tiered=9, config=DELAYED)
    tiered.brokers.topic("a", [[1, 2]] * 30, end=100, tiered=9, due=50, config=DELAYED)
    tiered.poll(after=61)
    assert [known(50) for _ in range(3)] == [20, 30, 30]
    tiered.brokers.topic("a", [[1, 2]] * 30, end=100, tiered=9, due=60, config=DELAYED)
    assert [known(60) for _ in range(2)] == [20, 30]
    assert tiered.poll().partitions.copy_due.tolist()[30:] == [100]


def test_an_allowed_lag_that_grows_forgets_what_was_searched_before(tiered: Polling) -> None:
    """Records that were old enough may not be by the new one; a broker before Kafka 4.3 is not asked."""
    tiered.limit({"ListOffsets": (1, 11)})
    tiered.brokers.topic("a", [[1, 2]], end=100, tiered=9, due=50, config=DELAYED)
    settle(tiered)
    assert tiered.poll().partitions.copy_due[0] == 50
    tiered.limit({"ListOffsets": (1, 10)})
    assert tiered.poll().partitions.copy_due[0] == 50
    tiered.brokers.topic("a", [[1, 2]], end=100, config={**DELAYED, "remote.copy.lag.ms": "7200000"})
    tiered.poll(after=100)
    assert tiered.poll().partitions.copy_due[0] == UNKNOWN


def test_a_broker_that_hangs_at_remote_storage_is_down_and_keeps_its_ends(tiered: Polling) -> None:
    """It has answered for them; what is in remote storage is unknown, and no further question is asked."""
    tiered.brokers.rule(1, "ListOffsets", side="leaders", hang=True)
    tiered.brokers.rule(1, "ListOffsets", side="leaders", times=1)
    snapshot = tiered.poll()
    assert snapshot.partitions.tiered.tolist() == [UNKNOWN, 49, UNKNOWN]
    assert snapshot.replicas.end.tolist() == [100] * 6
    assert tiered.down() == dict.fromkeys(("offsets1", "log_dirs1", "configs1"), "timeout")
