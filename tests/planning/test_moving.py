"""What a file comes to on a cluster: what is refused, what is said, and what is copied."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kafka_warden.errors import IncompleteError, ReassignmentError
from kafka_warden.model import UNKNOWN, Broker, TopicConfig
from kafka_warden.planning.choice import Goal
from kafka_warden.planning.findings import notes, warnings
from kafka_warden.planning.moving import copies_anything, names, resolve
from kafka_warden.planning.plan import plan_move
from kafka_warden.planning.reassignment import Target
from tests.building import Partition
from tests.planning.planned import GB, cluster, log_dir, plan, rates, sized, to

SEEN = cluster(
    {"t": [sized([1, 2], GB), sized([2, 3], 2 * GB)], "u": [sized([3, 1], GB)]},
    more=[4],
    log_dirs=(log_dir(1, "/a"), log_dir(1, "/b", online=False), log_dir(2, "/a")),
)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (to("x", 0, 1), "partitions[0] (x-0): the cluster has no such topic"),
        (to("t", 2, 1), "partitions[2] (t-2): the topic has no such partition, only 0 to 1"),
        (to("t", 2**31 - 1, 1), "only 0 to 1"),
        (to("t", 0, 1, 9), "partitions[0] (t-0): the cluster has no broker 9"),
        (to("t", 0, 1, 2**31 - 1), "the cluster has no broker 2147483647"),
        (to("t", 0, 1, log_dirs=["/c"]), "broker 1 has no log directory /c; it has /a, /b"),
        (to("t", 0, 1, log_dirs=["/b"]), "the log directory /b of broker 1 is offline"),
    ],
)
def test_what_the_cluster_does_not_have_is_refused(target: Target, message: str) -> None:
    """The entry and what is wrong with it, before anything is reckoned."""
    with pytest.raises(ReassignmentError) as caught:
        plan(SEEN, to("u", 0, 3, 2), target)

    assert message in str(caught.value)


@pytest.mark.parametrize("state", [{"fenced": True}, {"gone": True}])
def test_a_broker_that_is_down_is_no_target(state: dict[str, Any]) -> None:
    """A fenced broker, or one that is gone, copies nothing."""
    down = replace(SEEN, brokers={**SEEN.brokers, 4: Broker(4, "broker-4.example", 9092, **state)})

    with pytest.raises(ReassignmentError, match="broker 4 is down: start it first"):
        plan(down, to("t", 0, 1, 4))


def test_many_mistakes_are_counted() -> None:
    """A few are named, the rest is a number."""
    with pytest.raises(ReassignmentError, match=r"\(x-0\).*\(x-2\).*; and 7 more"):
        plan(SEEN, *(to("x", number, 1) for number in range(10)))


def test_what_is_copied_and_what_goes() -> None:
    """New replicas lack all of the leader's log; old ones that the file leaves out go, and free what they hold."""
    first, second = resolve(SEEN, [to("t", 0, 4, 2), to("t", 1, 2, 3)], rates(SEEN, 5.0))

    assert [(one.broker, one.remaining, one.under_way) for one in first.arriving] == [(4, GB, False)]
    assert (first.leader, first.sources, first.leaving, first.bytes_in) == (1, (1, 2), {1: GB}, 5.0)
    assert (second.arriving, second.leaving, second.replicas) == ((), {}, second.sources)


def test_a_partition_that_moves_keeps_its_sources() -> None:
    """As the tool has it: the file's replicas take the place of those that are being added."""
    going = sized([1, 2, 3], GB, adding=[3], removing=[1])
    going = replace(going, sizes={**going.sizes, 3: int(GB / 4)})
    seen = cluster({"t": [going]}, more=[4])

    (stays,) = resolve(seen, [to("t", 0, 2, 3)], rates(seen))
    (other,) = resolve(seen, [to("t", 0, 2, 4)], rates(seen))

    assert (stays.sources, stays.leaving) == ((1, 2), {1: GB})
    assert [(one.broker, one.remaining, one.under_way) for one in stays.arriving] == [(3, 0.75 * GB, True)]
    assert [(one.broker, one.remaining) for one in other.arriving] == [(4, GB)]
    assert other.leaving == {1: GB, 3: GB / 4}
    assert plan(seen, to("t", 0, 2, 4)).rollback == (Target("t", 0, (1, 2), (None, None)),)


def test_what_the_file_comes_to_is_said() -> None:
    """No change, another order, another replication factor, another leader, what moves already."""
    topics = {
        "same": [sized([1, 2], GB)],
        "order": [sized([1, 2], GB)],
        "more": [sized([1], GB)],
        "less": [sized([1, 2], GB)],
        "going": [sized([1, 2], GB, adding=[2])],
        "other": [sized([1, 2], GB, adding=[2])],
    }
    seen = cluster(topics, topic_configs={topic: TopicConfig(min_insync_replicas=2) for topic in topics})

    found = plan(
        seen, to("same", 0, 1, 2), to("order", 0, 2, 1), to("more", 0, 1, 2), to("less", 0, 1), to("going", 0, 1, 2)
    )

    assert notes(found) == (
        "same-0: no change: the replicas are those of the file already",
        "order-0: only the order changes: nothing is copied, the first replica becomes the preferred leader",
        "more-0, going-0: the replication factor grows",
        "less-0: the replication factor shrinks",
        "going-0: moves already: what the file says takes the place of that move",
        "other-0: moves already, and is not in the file: it shares the throttle",
        "order-0: gets another preferred leader",
    )
    assert "less-0: fewer replicas than min.insync.replicas: producers with acks=all will be refused" in warnings(found)


def test_a_file_that_changes_nothing_needs_nothing() -> None:
    """No throttle, no copies, no time."""
    found = plan(SEEN, to("t", 0, 1, 2))

    assert (found.changed, found.choice, found.copied, found.predicted, found.loads) == (False, None, 0, 0, ())


@pytest.mark.parametrize(
    ("partition", "rate", "message"),
    [
        (Partition(replicas=[1], leader=UNKNOWN), 0.0, "t-0 has no leader"),
        (sized([1], UNKNOWN), 0.0, "t-0 has a leader that did not tell the size of its log"),
        (sized([1], GB), np.nan, "t-0 was not measured"),
    ],
)
def test_no_plan_stands_on_what_is_not_known(partition: Partition, rate: float, message: str) -> None:
    """What is missing is named; a plan on the rest would be too short."""
    seen = cluster({"t": [partition]}, more=[2])

    with pytest.raises(IncompleteError, match=message):
        plan(seen, to("t", 0, 2), bytes_in=rate)


def test_configurations_must_be_told() -> None:
    """Limits are reckoned with windows and fetch sizes of brokers, and with the lists of all topics."""
    seen = cluster({"t": [sized([1], GB)], "u": [sized([1, 2], GB)]}, more=[2])

    with pytest.raises(IncompleteError, match="broker 2 did not tell its configuration"):
        plan(replace(seen, broker_configs={1: seen.broker_configs[1]}), to("t", 0, 2))
    with pytest.raises(IncompleteError, match="1 topics, u among them, did not tell"):
        plan(replace(seen, topic_configs={"t": TopicConfig()}), to("t", 0, 2))


def test_what_in_sync_replicas_copy_must_be_known() -> None:
    """A floor with a part missing would be too low."""
    seen = cluster({"t": [sized([1], GB), sized([1, 2], GB)]}, more=[2, 3])

    with pytest.raises(IncompleteError, match="broker 1: what in-sync replicas of listed partitions copy"):
        plan_move(seen, [to("t", 0, 2), to("t", 1, 2, 1)], np.array([0.0, np.nan]), Goal(60.0))


def test_what_is_to_be_copied_is_known_before_anything_is_measured() -> None:
    """No size and no rate is needed for it; what the file gets wrong is refused all the same."""
    unknown = cluster({"t": [sized([1, 2], UNKNOWN)], "u": [sized([1, 2], UNKNOWN, adding=[2])]}, more=[3])
    rest = cluster({"t": [sized([1, 2], UNKNOWN)]}, more=[3])

    assert copies_anything(rest, [to("t", 0, 1, 3)])
    assert not copies_anything(rest, [to("t", 0, 2, 1)])
    assert copies_anything(unknown, [to("t", 0, 1)])
    with pytest.raises(ReassignmentError):
        copies_anything(rest, [to("t", 1, 1)])


def test_few_are_named() -> None:
    """Three names, and a number."""
    moving = resolve(SEEN, [to("t", 0, 4), to("t", 1, 4), to("u", 0, 4)], rates(SEEN))

    assert names(moving) == "t-0, t-1, u-0"
    assert names([*moving, *moving]) == "t-0, t-1, u-0 and 3 more"
