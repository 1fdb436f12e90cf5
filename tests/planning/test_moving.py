"""A reassignment file on a cluster: errors, notes and copies."""

from dataclasses import replace

import numpy as np
import pytest

from kafka_warden.errors import IncompleteError, PlanError
from kafka_warden.model import UNKNOWN, TopicConfig
from kafka_warden.planning.findings import notes, warnings
from kafka_warden.planning.loads import Goal
from kafka_warden.planning.moving import copies_anything, names, resolve
from kafka_warden.planning.plan import plan_move
from kafka_warden.planning.reassignment import Target
from tests.building import Partition
from tests.support.planned import GB, cluster, log_dir, plan, rates, sized, to, without

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
def test_unknown_names_are_refused(target: Target, message: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan(SEEN, to("u", 0, 3, 2), target)
    assert message in str(caught.value)


@pytest.mark.parametrize("gone", [False, True])
def test_a_broker_that_is_down_is_refused(*, gone: bool) -> None:
    with pytest.raises(PlanError, match="broker 4 is down: start it first"):
        plan(without(SEEN, 4, gone=gone), to("t", 0, 1, 4))


def test_cordoned_log_directories_get_no_replica() -> None:
    """Neither the one that the file names, nor any of a broker that has no other, offline ones left out."""
    cordoned = replace(
        SEEN,
        log_dirs=(
            log_dir(1),
            log_dir(2, "/a", cordoned=True),
            log_dir(2, "/b"),
            log_dir(4, cordoned=True),
            log_dir(4, "/b", online=False),
        ),
    )
    with pytest.raises(PlanError, match="all log directories of broker 4 are cordoned: uncordon one first"):
        plan(cordoned, to("t", 0, 2, 4))
    with pytest.raises(PlanError, match="the log directory /a of broker 2 is cordoned: the broker refuses"):
        plan(cordoned, to("u", 0, 3, 2, log_dirs=[None, "/a"]))
    assert not any("cordoned" in each for each in warnings(plan(cordoned, to("u", 0, 3, 2, log_dirs=[None, "/b"]))))


def test_what_stays_on_a_cordoned_broker_is_a_warning() -> None:
    """Kafka 4.4 refuses the whole assignment, 4.3 does not. The rollback of a drain is refused as any move there."""
    cordoned = replace(SEEN, log_dirs=tuple(log_dir(broker, cordoned=broker == 1) for broker in (1, 2, 3, 4)))
    staying = warnings(plan(cordoned, to("t", 0, 1, 4)))
    assert any("t-0: stays on a broker whose log directories are all cordoned." in each for each in staying)
    (leaving,) = (each for each in warnings(plan(cordoned, to("t", 0, 2, 4))) if "cordoned" in each)
    assert leaving.startswith(
        "the rollback has no throttle and no command: t-0: all log directories of broker 1 are cordoned: uncordon one"
    )


def test_many_mistakes_are_counted() -> None:
    with pytest.raises(PlanError, match=r"\(x-0\).*\(x-2\).*; and 7 more"):
        plan(SEEN, *(to("x", number, 1) for number in range(10)))


def test_copies_and_deleted_replicas() -> None:
    first, second = resolve(SEEN, [to("t", 0, 4, 2), to("t", 1, 2, 3)], rates(SEEN, 5.0))
    assert [(one.broker, one.remaining, one.under_way) for one in first.arriving] == [(4, GB, False)]
    assert (first.leader, first.sources, first.leaving, first.bytes_in) == (1, (1, 2), {1: GB}, 5.0)
    assert (second.arriving, second.leaving, second.replicas) == ((), {}, second.sources)


def test_a_partition_that_moves_keeps_its_sources() -> None:
    """As in the tool: the file replaces the replicas that are being added."""
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


def test_notes() -> None:
    topics = {
        "same": [sized([1, 2], GB)],
        "order": [sized([1, 2], GB)],
        "more": [sized([1], GB)],
        "less": [sized([1, 2], GB)],
        "going": [sized([1, 2], GB, adding=[2])],
        "other": [sized([1, 2], GB, adding=[2])],
    }
    seen = cluster(topics)

    found = plan(
        seen, to("same", 0, 1, 2), to("order", 0, 2, 1), to("more", 0, 1, 2), to("less", 0, 1), to("going", 0, 1, 2)
    )

    assert notes(found) == (
        "same-0: no change: it already has these replicas",
        "order-0: only the order changes: nothing is copied, the first replica becomes the preferred leader",
        "more-0, going-0: the replication factor grows",
        "less-0: the replication factor shrinks",
        "going-0: a move is in progress: the file replaces it",
        "other-0: moves already, and is not in the file: it shares the throttle",
        "order-0: gets another preferred leader",
    )


@pytest.mark.parametrize(
    ("partition", "rate", "message"),
    [
        (Partition(replicas=[1], leader=UNKNOWN), 0.0, "t-0: no leader"),
        (sized([1], UNKNOWN), 0.0, "t-0: log size of the leader unknown"),
        (sized([1], GB), np.nan, "t-0: not measured"),
    ],
)
def test_unknown_values_are_refused(partition: Partition, rate: float, message: str) -> None:
    """The message names the missing value; a plan without it would be too short."""
    seen = cluster({"t": [partition]}, more=[2])
    with pytest.raises(IncompleteError, match=message):
        plan(seen, to("t", 0, 2), bytes_in=rate)


def test_several_partitions_read_as_one() -> None:
    """Names come first, and no verb depends on how many they are."""
    seen = cluster({"many": [Partition(replicas=[1], leader=UNKNOWN)] * 5}, more=[2])
    with pytest.raises(IncompleteError, match="many-0, many-1, many-2 and 2 more: no leader: nothing can be copied"):
        plan(seen, *(to("many", number, 2) for number in range(5)))


def test_configurations_must_be_known() -> None:
    """Limits need windows and fetch sizes of brokers, and the lists of all topics."""
    seen = cluster({"t": [sized([1], GB)], "u": [sized([1, 2], GB)]}, more=[2])
    with pytest.raises(IncompleteError, match="the configuration of broker 2 is unknown"):
        plan(replace(seen, broker_configs={1: seen.broker_configs[1]}), to("t", 0, 2))
    with pytest.raises(IncompleteError, match="the configuration of 1 topic is unknown, for example of u"):
        plan(replace(seen, topic_configs={"t": TopicConfig()}), to("t", 0, 2))


def test_rates_of_listed_partitions_must_be_known() -> None:
    """A floor with a part missing would be too low."""
    seen = cluster({"t": [sized([1], GB), sized([1, 2], GB)]}, more=[2, 3])
    with pytest.raises(IncompleteError, match="broker 1: the inbound rate of a listed partition was not measured"):
        plan_move(seen, [to("t", 0, 2), to("t", 1, 2, 1)], np.array([0.0, np.nan]), Goal(60.0))


def test_copies_are_known_before_the_measurement() -> None:
    """Sizes and rates are not needed; a bad file is refused."""
    unknown = cluster({"t": [sized([1, 2], UNKNOWN)], "u": [sized([1, 2], UNKNOWN, adding=[2])]}, more=[3])
    rest = cluster({"t": [sized([1, 2], UNKNOWN)]}, more=[3])

    assert copies_anything(rest, [to("t", 0, 1, 3)])
    assert not copies_anything(rest, [to("t", 0, 2, 1)])
    assert copies_anything(rest, [to("t", 0, 1)]), "its rollback copies"
    assert copies_anything(unknown, [to("t", 0, 1)])
    with pytest.raises(PlanError):
        copies_anything(rest, [to("t", 1, 1)])


def test_names() -> None:
    moving = resolve(SEEN, [to("t", 0, 4), to("t", 1, 4), to("u", 0, 4)], rates(SEEN))
    assert names(moving) == "t-0, t-1, u-0"
    assert names([*moving, *moving]) == "t-0, t-1, u-0 and 3 more"
