"""The rollback plan: it has its own throttle, for its own copies."""

import numpy as np
import pytest

from kafka_warden.model import UNKNOWN, Side, TopicConfig
from kafka_warden.planning.document import move_document
from kafka_warden.planning.during_move import after_move
from kafka_warden.planning.findings import warnings
from kafka_warden.planning.moving import resolve
from kafka_warden.planning.reassignment import to_json
from kafka_warden.planning.text import move_text
from tests.building import known
from tests.planning.printed import WHERE, lines
from tests.support.planned import GB, HOUR, MB, cluster, measured, plan, rates, sized, to, without

THREE = cluster({"t": [sized([1, 2, 3], 36 * GB)]})


def test_deleted_replicas_are_copied_back_with_a_throttle() -> None:
    """[1,2,3] -> [1] copies nothing. Its rollback copies two replicas, like a plan that starts there."""
    found = plan(THREE, to("t", 0, 1), bytes_in=MB, network=125 * MB)
    there = cluster({"t": [sized([1], 36 * GB)]}, more=[2, 3])
    other = plan(there, to("t", 0, 1, 2, 3), bytes_in=MB, network=125 * MB)

    assert found.limit is None
    assert other.limit == 27_500_000  # (2 x 1 + 72 GB / 3600 s) / 0.8
    command = "kafka-reassign-partitions.sh --bootstrap-server a:9092 --execute --additional --throttle 27500000"
    assert lines(found, "roll_back") == [f"{command} --reassignment-json-file rollback.json"]
    back = known(found.rollback_plan)
    assert (back.copies, back.copied) == (2, 72 * GB)
    assert back.predicted == pytest.approx(other.predicted)
    assert "--throttle" not in lines(found, "begin")[0]
    text = move_text(found, measured(THREE, MB), WHERE, "")
    assert "rollback to the current assignment: 2 replicas to copy, 72 GB, " in text


def test_the_rollback_has_its_own_throttle() -> None:
    """The move copies once, the rollback twice from one leader: it needs twice the limit."""
    found = plan(cluster({"t": [sized([1, 2], 36 * GB)]}, more=[3]), to("t", 0, 3))
    assert (found.limit, known(found.rollback_plan).limit) == (12_500_000, 25_000_000)
    assert "--throttle 12500000" in lines(found, "begin")[0]
    assert "--throttle 25000000" in lines(found, "roll_back")[0]


def test_rollback_of_added_replicas_copies_nothing() -> None:
    found = plan(cluster({"t": [sized([1], GB)]}, more=[2]), to("t", 0, 1, 2))
    assert "--throttle" in lines(found, "begin")[0]
    back = known(found.rollback_plan)
    assert (back.copies, back.limit, found.rollback_problem) == (0, None, "")
    assert "--throttle" not in lines(found, "roll_back")[0]


def test_no_rollback_command_without_a_plan() -> None:
    silent = cluster({"t": [sized([1, 2, 3], UNKNOWN)]})
    cases = {
        "t-0: broker 3 is down": plan(without(THREE, 3, gone=True), to("t", 0, 1)),
        "t-0: log size of the leader unknown": plan(silent, to("t", 0, 1)),
        "t-0: not measured": plan(THREE, to("t", 0, 1), bytes_in=np.nan),
        "within 1 h it needs 25 MB/s, and the network is 10 MB/s; a deadline of 2 h 30 min or more is possible": plan(
            THREE, to("t", 0, 1), network=10 * MB
        ),
    }

    for why, found in cases.items():
        document = move_document(found, measured(THREE), WHERE)
        assert (len(lines(found, "begin")), lines(found, "roll_back", "verify_roll_back")) == (1, []), why
        assert any(f"the rollback has no throttle and no command: {why}" in warning for warning in warnings(found))
        place = "rollback_plan" if found.rollback_plan is None else "rollback_plan.bytes_per_second"
        assert why in document["reasons"][place]
        assert to_json(found.rollback) in move_text(found, measured(THREE), WHERE, to_json(found.rollback))


def test_the_cluster_at_the_end_of_a_move() -> None:
    """Copies equal their leader, the first in sync leads, lists are gone, and other partitions do not change."""
    going = sized([1, 2], 3 * GB, adding=[2], removing=[1])
    topics = {"a": [sized([3, 1], GB)], "t": [sized([1, 2], 2 * GB, out=[2]), sized([2, 1], GB)], "u": [going]}
    listed = TopicConfig(leader_throttled="*", follower_throttled="*")
    seen = cluster(topics, more=[4], topic_configs=dict.fromkeys(topics, listed))
    moving = resolve(seen, [to("t", 0, 2, 4)], rates(seen))

    end = after_move(seen, moving)

    assert end.replicas.partition.tolist() == [0, 0, 1, 1, 2, 2, 3]
    assert end.replicas.broker.tolist() == [3, 1, 2, 4, 2, 1, 2]
    assert end.replicas.size.tolist() == [GB, GB, 2 * GB, 2 * GB, GB, GB, 3 * GB]
    assert end.replicas.in_isr.tolist() == [True, True, False, True, True, True, True]
    assert end.partitions.leader.tolist() == [3, 4, 2, 2]
    assert end.partitions.leader_row.tolist() == [0, 3, 4, 6]
    assert not any([*end.replicas.adding, *end.replicas.removing, *end.partitions.reassigning])
    assert [end.topic_configs[topic].leader_throttled for topic in topics] == ["*", "", ""]


def test_in_sync_copies_of_the_end_count_on_the_rollback() -> None:
    """[1,2] -> [3,4], the rollback reads from 3 while 4 stays in sync: (1 + 2 x 1 + 2 x 36 GB / 1 h) / 0.8."""
    found = plan(cluster({"t": [sized([1, 2], 36 * GB)]}, more=[3, 4]), to("t", 0, 3, 4), bytes_in=MB, deadline=HOUR)
    there = plan(cluster({"t": [sized([3, 4], 36 * GB)]}, more=[1, 2]), to("t", 0, 1, 2), bytes_in=MB, deadline=HOUR)
    assert known(found.rollback_plan).limit == there.limit == 28_750_000
    assert {load.side for load in there.loads} == {Side.LEADER, Side.FOLLOWER}
