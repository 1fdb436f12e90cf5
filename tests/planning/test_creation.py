"""Whether a topic can be created: KIP-578's own example first."""

import json
import math
from dataclasses import replace

import pytest

from exporter.errors import TopicError
from exporter.model import Broker, Snapshot
from exporter.planning.commands import Where
from exporter.planning.creation import Creation, plan_creation
from exporter.planning.document import creation_document
from exporter.planning.text import creation_text
from tests.planning.planned import cluster, sized

WHERE = Where("a:9092", "")


def hosting(*counts: int) -> Snapshot:
    """Brokers 1, 2, ... with so many replicas, each the only one of its partition."""
    topics = {f"on-{broker}": [sized([broker], 0)] * count for broker, count in enumerate(counts, 1) if count}
    return cluster(topics, more=range(1, len(counts) + 1))


def create(
    seen: Snapshot, partitions: int, factor: int, limit: float = 10, cluster_limit: float = math.inf, name: str = "new"
) -> Creation:
    """Plan a creation."""
    return plan_creation(seen, name, partitions, factor, limit, cluster_limit)


@pytest.mark.parametrize(
    ("why", "counts", "limit", "partitions", "factor", "after"),
    [
        ("KIP-578: 1 x RF 3", (8, 6, 9), 10, 1, 3, (9, 7, 10)),
        ("then 1 x RF 3: broker 3 is full", (9, 7, 10), 10, 1, 3, None),
        ("then 1 x RF 2", (9, 7, 10), 10, 1, 2, (10, 8, 10)),
        ("2 x RF 3 from the start fails whole", (8, 6, 9), 10, 2, 3, None),
        ("30 x RF 2", (10, 20, 30), 40, 30, 2, (40, 40, 40)),
        ("31 x RF 2", (10, 20, 30), 40, 31, 2, None),
        ("10 x RF 3", (10, 20, 30), 40, 10, 3, (20, 30, 40)),
        ("11 x RF 3", (10, 20, 30), 40, 11, 3, None),
    ],
)
def test_the_worked_examples(
    why: str, counts: tuple[int, ...], limit: int, partitions: int, factor: int, after: tuple[int, ...] | None
) -> None:
    """judgement.md 9, row by row."""
    found = create(hosting(*counts), partitions, factor, limit)

    assert found.fits is (after is not None), why
    assert tuple(count.before for count in found.brokers.values()) == counts
    assert tuple(count.after for count in found.brokers.values()) == (after or (None,) * len(counts))


def test_the_stricter_limit_decides() -> None:
    """Both reasons are told where both limits are passed."""
    seen = hosting(3, 3)

    assert create(seen, 4, 1, cluster_limit=10).fits
    assert create(seen, 5, 1, cluster_limit=10).reasons == ("the cluster has room for 4 partitions, not for 5",)
    assert create(seen, 9, 2, limit=10, cluster_limit=10).reasons == (
        "the cluster has room for 4 partitions, not for 9",
        "the brokers have room for 14 replicas of 9 partitions, not for 18",
    )


def test_internal_topics_are_held_back_by_nothing() -> None:
    """KIP-578, Goals; the replication factor still needs its brokers."""
    assert create(hosting(10, 10), 50, 2, cluster_limit=0, name="__consumer_offsets").fits
    assert create(hosting(10, 10), 50, 3, name="__consumer_offsets").reasons == (
        "replication factor 3 needs 3 brokers, and 2 are up",
    )


def test_brokers_that_are_down_take_nothing() -> None:
    """Kafka places no replica on a fenced broker."""
    seen = hosting(1, 1)
    down = replace(seen, brokers={**seen.brokers, 2: Broker(2, "b", 1, fenced=True)})

    assert create(down, 1, 2).reasons == ("replication factor 2 needs 2 brokers, and 1 are up",)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("on-1", "has this topic already"),
        ("a b", "no name for a topic"),
        ("", "no name for a topic"),
        ("..", "no name for a topic"),
        ("a" * 250, "no name for a topic"),
        ("a_b", "Kafka refuses it beside a.b"),
    ],
)
def test_what_can_never_be_created(name: str, message: str) -> None:
    """What Kafka would refuse whatever the limits are."""
    seen = cluster({"on-1": [sized([1], 0)], "a.b": [sized([1], 0)]})

    with pytest.raises(TopicError, match=message):
        create(seen, 1, 1, name=name)


def test_where_an_even_spread_is_too_much_replicas_are_assigned() -> None:
    """Kafka looks at no limit: where its spread would pass one, the command names the brokers."""
    found = create(hosting(9, 0, 0), 4, 2)
    even = create(hosting(0, 0, 0), 4, 2)

    assert found.assignment == ((2, 3), (2, 3), (2, 3), (2, 3))
    assert "--replica-assignment 2:3,2:3,2:3,2:3" in creation_text(found, WHERE)
    assert even.assignment is None
    assert (
        "kafka-topics.sh --bootstrap-server a:9092 --create --topic new --partitions 4 --replication-factor 2"
        in creation_text(even, WHERE)
    )


def test_what_people_read() -> None:
    """The verdict is the first word; no limit is said; a creation that does not fit has no command."""
    assert creation_text(create(hosting(8, 6, 9), 1, 3), WHERE).startswith("FITS  new: 1 partition with 3 replicas")
    refused = creation_text(create(hosting(8, 6, 9), 2, 3), WHERE)
    assert refused.startswith("DOES NOT FIT  new: 2 partitions with 3 replicas\n- the brokers have room for 5 replicas")
    assert "kafka-topics.sh" not in refused
    assert "No limit is configured" in creation_text(create(hosting(1), 1, 1, math.inf), WHERE)


def test_what_machines_read() -> None:
    """No infinity, no unknown: null, and a reason by the path of the key."""
    document = creation_document(create(hosting(8, 6, 9), 2, 3), WHERE)

    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert (document["format"], document["kind"], document["verdict"]) == (1, "creation", "impossible")
    assert document["broker_limit"] == 10
    assert document["brokers"][0] == {"broker": 1, "partitions_before": 8, "partitions_after": None}
    assert document["cluster"] == {"partitions_before": 23, "partitions_after": 25, "limit": None}
    assert document["reasons"]["cluster.limit"] == "unlimited"
    assert document["reasons"]["brokers[0].partitions_after"] == "it does not fit"
