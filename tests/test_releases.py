"""What depends on the release of Kafka: min ISR (KAFKA-15583), and when a reassignment is complete."""

from collections.abc import Set as AbstractSet

import numpy as np
import pytest

from kafka_warden.releases import completes, effective, is_capped


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.8", False),
        ("3.6", False),
        ("3.6.2", False),
        ("3.7", True),
        ("3.10", True),
        ("4.1", True),
        (None, True),
        ("", True),
        ("4", True),
        ("3.3-IV3", False),
        ("9" * 5000 + ".1", True),
    ],
)
def test_releases(version: str | None, expected: bool) -> None:
    """The cap came with 3.7. What is no release counts as a new one."""
    assert is_capped(version) is expected


@pytest.mark.parametrize(
    ("why", "configured", "replicas", "capped", "expected"),
    [
        ("fewer than the replicas", 2, 3, True, 2),
        ("as many", 3, 3, True, 3),
        ("one replica, 3.7 and newer", 2, 1, True, 1),
        ("one replica, before 3.7", 2, 1, False, 2),
        ("1 -> 3 under way: the adding ones count", 2, 3, True, 2),
    ],
)
def test_effective(why: str, configured: int, replicas: int, capped: bool, expected: int) -> None:
    assert int(effective(configured, replicas, capped)) == expected, why
    column = effective(np.array([configured, 2]), np.array([replicas, 1]), np.array([capped, False]))
    assert column.tolist() == [expected, 2], why


GROWS = ({1, 2}, {1, 2, 4}, {1})
REPLACES = ({1, 2, 3}, {1, 2, 4}, {1, 3})
SHRINKS = ({1, 2, 3}, {1, 2}, {1, 3})
LAST = ({1, 2}, {2}, {1})
HEALTHY = ({1, 2, 3}, {1, 2}, {1, 2, 3})


@pytest.mark.parametrize(
    ("version", "zookeeper", "grows", "replaces", "shrinks", "last"),
    [
        ("2.8", True, False, False, False, False),
        ("3.6", True, False, False, False, False),
        ("3.7", False, True, True, True, False),
        ("3.8", False, False, False, False, False),
        ("4.2", False, False, False, False, False),
        ("4.3", False, True, True, False, False),
        ("4.4", False, True, True, False, False),
        (None, False, True, True, False, False),
    ],
)
def test_replicas_that_stay_out_of_sync(
    version: str | None, zookeeper: bool, grows: bool, replaces: bool, shrinks: bool, last: bool
) -> None:
    """Broker 2 stays, and is not in sync. The rules are those of the classes of Kafka 3.6.2 to 4.4.0."""

    def ends(before: AbstractSet[int], after: AbstractSet[int], in_sync: AbstractSet[int]) -> bool:
        return completes(version, before, after, in_sync, zookeeper=zookeeper)

    assert (ends(*GROWS), ends(*REPLACES), ends(*SHRINKS), ends(*LAST)) == (grows, replaces, shrinks, last)
    assert ends(*HEALTHY)
    assert ends({1, 2}, {1, 3}, {1}), "the replica that is out of sync goes"
