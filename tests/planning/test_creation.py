"""Whether a new topic fits: KIP-578's example first."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from kafka_warden.errors import PlanError
from kafka_warden.model import Snapshot
from kafka_warden.planning.commands import Where, creation_commands
from kafka_warden.planning.creation import Creation, plan_creation
from kafka_warden.planning.document import creation_document
from kafka_warden.planning.text import creation_text
from tests.building import known
from tests.support.planned import cluster, log_dir, sized, without

WHERE = Where("a:9092", "")


def hosting(*counts: int) -> Snapshot:
    """Make brokers 1, 2, ... with these numbers of replicas, each the only one of its partition."""
    topics = {f"on-{broker}": [sized([broker], 0)] * count for broker, count in enumerate(counts, 1) if count}
    return cluster(topics, more=range(1, len(counts) + 1))


def create(
    seen: Snapshot,
    partitions: int,
    factor: int | None,
    limit: float = 10,
    cluster_limit: float = math.inf,
    name: str = "new",
) -> Creation:
    return plan_creation(seen, name, partitions, factor, limit, cluster_limit)


@pytest.mark.parametrize(
    ("why", "counts", "partitions", "factor", "after"),
    [
        ("KIP-578: 1 x RF 3", (8, 6, 9), 1, 3, (9, 7, 10)),
        ("then 1 x RF 3: broker 3 is full", (9, 7, 10), 1, 3, None),
        ("then 1 x RF 2", (9, 7, 10), 1, 2, (10, 8, 10)),
        ("2 x RF 3 from the start fails whole", (8, 6, 9), 2, 3, None),
    ],
)
def test_the_worked_examples(
    why: str, counts: tuple[int, ...], partitions: int, factor: int, after: tuple[int, ...] | None
) -> None:
    """KIP-578's, with limit 10; docs/spec/limits.md#creation has the others."""
    found = create(hosting(*counts), partitions, factor)
    assert found.fits is (after is not None), why
    assert tuple(count.before for count in found.brokers.values()) == counts
    assert tuple(count.after for count in found.brokers.values()) == (after or (None,) * len(counts))


def test_the_stricter_limit_decides() -> None:
    seen = hosting(3, 3)

    assert create(seen, 4, 1, cluster_limit=10).fits
    assert create(seen, 5, 1, cluster_limit=10).reasons == ("the cluster has room for 4 partitions, not for 5",)
    assert create(seen, 9, 2, limit=10, cluster_limit=10).reasons == (
        "the cluster has room for 4 partitions, not for 9",
        "the brokers have room for 14 replicas of 9 partitions, not for 18",
    )


def test_limits_do_not_apply_to_internal_topics() -> None:
    """KIP-578, Goals; the replication factor still needs enough brokers."""
    assert create(hosting(10, 10), 50, 2, cluster_limit=0, name="__consumer_offsets").fits
    reason = "replication factor 3 needs 3 brokers; up: 2"
    assert create(hosting(10, 10), 50, 3, name="__consumer_offsets").reasons == (reason,)


def test_brokers_that_are_down_take_nothing() -> None:
    """Kafka places no replica on a fenced broker."""
    assert create(without(hosting(1, 1), 2), 1, 2).reasons == ("replication factor 2 needs 2 brokers; up: 1",)


def test_cordoned_brokers_take_nothing() -> None:
    """Kafka leaves out a broker whose log directories are all cordoned, those that are offline not counted."""
    seen = hosting(1, 1, 0)
    cordoned, other = log_dir(3, cordoned=True), log_dir(3, "/b", online=False)
    found = create(replace(seen, log_dirs=(cordoned, other)), 3, 2)
    assert found.brokers.keys() == {1, 2}
    assert found.most_by_kafka == 3
    assert create(replace(seen, log_dirs=(cordoned,)), 1, 3).reasons == (
        "replication factor 3 needs 3 brokers; up: 2; Kafka leaves out cordoned ones: 3",
    )
    assert create(replace(seen, log_dirs=(cordoned, log_dir(3, "/b"))), 1, 3).fits


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a b", "not a valid topic name"),
        ("", "not a valid topic name"),
        ("..", "not a valid topic name"),
        ("a" * 250, "not a valid topic name"),
        ("a_b", "Kafka refuses it because of a.b"),
    ],
)
def test_names_that_kafka_refuses(name: str, message: str) -> None:
    seen = cluster({"on-1": [sized([1], 0)], "a.b": [sized([1], 0)]})
    with pytest.raises(PlanError, match=message):
        create(seen, 1, 1, name=name)


@pytest.mark.parametrize(("name", "most"), [("new", 9999), ("on-1", 10_000)])
def test_partitions_that_kafka_refuses_in_one_request(name: str, most: int) -> None:
    """`create_topics` and `create_partitions` of Kafka 3.9.1 and 4.1.1 took so many, and refused one more."""
    seen, before = hosting(1), int(name == "on-1")
    assert create(seen, before + most, 1, math.inf, name=name).fits
    with pytest.raises(PlanError, match=f"more than {most} new partitions in one request"):
        create(seen, before + most + 1, 1, math.inf, name=name)


def test_replicas_are_assigned_if_kafkas_placement_may_exceed_a_limit() -> None:
    """Kafka ignores limits: if its placement may exceed one, the command names the brokers."""
    found = create(hosting(9, 0, 0), 4, 2)
    even = create(hosting(0, 0, 0), 4, 2)

    assert found.assignment == ((2, 3), (2, 3), (2, 3), (2, 3))
    assert "--replica-assignment 2:3,2:3,2:3,2:3" in creation_text(found, WHERE)
    assert even.assignment is None
    command = "kafka-topics.sh --bootstrap-server a:9092 --create --topic new --partitions 4 --replication-factor 2"
    assert command in creation_text(even, WHERE)


@pytest.mark.parametrize(
    ("counts", "partitions", "factor", "most"),
    [
        ((8, 8, 8, 8, 8), 3, 3, 3),  # an even spread would be 2 each; three partitions in a row share a broker
        ((0, 0, 0), 7, 2, 5),  # two rounds of three with 2 each, and one more
        ((0, 0, 0, 0), 8, 3, 6),
        ((0,), 5, 1, 5),
    ],
)
def test_kafka_may_put_more_than_an_even_share_on_a_broker(
    counts: tuple[int, ...], partitions: int, factor: int, most: int
) -> None:
    """Replicas are assigned if the highest possible number is too many for one broker."""
    fullest = max(counts)
    enough = create(hosting(*counts), partitions, factor, limit=fullest + most)
    short = create(hosting(*counts), partitions, factor, limit=fullest + most - 1)

    assert enough.most_by_kafka == short.most_by_kafka == most
    assert (enough.fits, enough.assignment) == (True, None)
    assert f"puts at most {most} replicas of it on one broker" in creation_text(enough, WHERE)
    assert (short.assignment is not None) == short.fits
    text = f"may put {most} replicas of it on one broker, which is too many: assign as below.\n"
    assert (text in creation_text(short, WHERE)) == short.fits


ORDERS = cluster({"a.b": [sized([1, 2], 0), sized([2, 3], 0)], "on-4": [sized([4], 0)] * 9}, more=range(1, 5))


def test_more_partitions_of_a_topic() -> None:
    """Room is that of a new topic with the partitions that are added, with as many replicas as the others."""
    found = create(ORDERS, 5, None, name="a.b")
    new = create(ORDERS, 3, 2)

    assert (found.existing, found.partitions, found.total, found.factor) == (((1, 2), (2, 3)), 3, 5, 2)
    assert (found.brokers, found.most_by_kafka, found.cluster_before) == (new.brokers, new.most_by_kafka, 11)
    text = creation_text(found, WHERE)
    assert text.startswith("FITS  a.b: 3 more partitions, 5 in all, with 2 replicas\n  Messages with a key go to other")
    assert (found.assignment is None, create(ORDERS, 5, 2, name="a.b")) == (False, found)
    assert not create(ORDERS, 5, 2, cluster_limit=13, name="a.b").fits
    document = creation_document(found, WHERE)
    assert (document["partitions_before"], document["partitions"]) == (2, 5)
    assert document["cluster"]["partitions_after"] == 14


def test_the_command_that_adds_partitions() -> None:
    """The tool takes the name as a pattern, and the assignment of all partitions, of which it skips the first."""
    tool = r"kafka-topics.sh --bootstrap-server a:9092 --alter --topic 'a\.b' --partitions"
    assigned = [command.line for command in creation_commands(create(ORDERS, 4, None, name="a.b"), WHERE)]
    free = [command.line for command in creation_commands(create(ORDERS, 4, None, math.inf, name="a.b"), WHERE)]

    assert assigned == [f"{tool} 4 --replica-assignment 1:2,2:3,1:3,1:2"]
    assert free == [f"{tool} 4"]


@pytest.mark.parametrize(
    ("name", "partitions", "factor", "message"),
    [
        ("a.b", 2, None, "a.b: has 2 partitions already; Kafka only adds some, so give a larger number"),
        ("a.b", 4, 3, "a.b: its partitions have 2 replicas, and new ones get as many; leave --replication-factor out"),
        ("new", 4, None, "new: the cluster has no such topic; a new one needs --replication-factor"),
        ("uneven", 4, None, "uneven: its partitions have different numbers of replicas, and Kafka takes that of any"),
        ("moves", 4, None, "moves: a move of it is in progress, whose new replicas Kafka would count; wait for its"),
        ("__consumer_offsets", 60, None, "the partitions of this internal topic cannot change"),
    ],
)
def test_partitions_that_cannot_be_added(name: str, partitions: int, factor: int | None, message: str) -> None:
    topics = {
        "__consumer_offsets": [sized([1], 0)],
        "a.b": [sized([1, 2], 0), sized([2, 1], 0)],
        "moves": [sized([1, 2], 0, adding=[2])],
        "uneven": [sized([1, 2], 0), sized([1], 0)],
    }
    with pytest.raises(PlanError, match=message):
        create(cluster(topics), partitions, factor, name=name)


APART = "with the replicas of a partition in different racks, the racks have room for"


def racked(racks: Sequence[str | None], *counts: int) -> Snapshot:
    """Make brokers 1, 2, ... in these racks, with these numbers of replicas."""
    seen = hosting(*counts)
    brokers = {one: replace(broker, rack=racks[one - 1]) for one, broker in seen.brokers.items()}
    return replace(seen, brokers=brokers)


def test_a_small_rack_gets_a_replica_of_every_partition() -> None:
    """Racks a, a, b and two replicas: broker 3 needs room for all partitions, and the others share the rest."""
    racks = ("a", "a", "b")
    found = create(racked(racks, 6, 6, 4), 6, 2)
    refused = create(racked(racks, 0, 0, 5), 6, 2)

    assert all(racks[first - 1] != racks[second - 1] for first, second in known(found.assignment))
    assert [count.after for count in found.brokers.values()] == [9, 9, 10]
    assert "assign as below, with the replicas of a partition in different racks." in creation_text(found, WHERE)
    for limit in (10, math.inf):
        free = create(racked(racks, 4, 4, 4), 6, 2, limit)
        assert free.assignment is None
        assert [count.after for count in free.brokers.values()] == [7, 7, 10]
    assert refused.reasons == (f"{APART} 11 replicas, not for 12",)
    assert create(hosting(0, 0, 5), 6, 2).fits


def test_fewer_racks_than_replicas_do_not_count() -> None:
    """Then only brokers count. Brokers without a rack are one rack."""
    found = create(racked(("a", "a", "b"), 9, 9, 9), 1, 3)
    none = create(racked((None, "a", "a"), 9, 8, 8), 2, 2)
    assert (found.fits, found.assignment, found.racks_apart) == (True, None, False)
    assert none.reasons == (f"{APART} 3 replicas, not for 4",)


def test_text() -> None:
    assert creation_text(create(hosting(8, 6, 9), 1, 3), WHERE).startswith("FITS  new: 1 partition with 3 replicas")
    refused = creation_text(create(hosting(8, 6, 9), 2, 3), WHERE)
    assert refused.startswith("DOES NOT FIT  new: 2 partitions with 3 replicas\n- the brokers have room for 5 replicas")
    assert "kafka-topics.sh" not in refused
    assert "No limit is configured" in creation_text(create(hosting(1), 1, 1, math.inf), WHERE)


def test_json() -> None:
    document = creation_document(create(hosting(8, 6, 9), 2, 3), WHERE)

    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert (document["format"], document["kind"], document["verdict"]) == (1, "creation", "impossible")
    assert document["broker_limit"] == 10
    assert document["brokers"][0] == {"broker": 1, "partitions_before": 8, "partitions_after": None}
    assert document["cluster"] == {"partitions_before": 23, "partitions_after": 25, "limit": None}
    assert document["reasons"]["cluster.limit"] == "unlimited"
    assert document["reasons"]["brokers[0].partitions_after"] == "it does not fit"
