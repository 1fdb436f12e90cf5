"""`min.insync.replicas` as leaders of old and new releases apply it: KAFKA-15583, Partition.effectiveMinIsr."""

import numpy as np
import pytest

from kafka_warden.releases import effective, is_capped


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
    """A number for a plan, and the same in a column of partitions whose leaders have different releases."""
    assert int(effective(configured, replicas, capped)) == expected, why
    column = effective(np.array([configured, 2]), np.array([replicas, 1]), np.array([capped, False]))
    assert column.tolist() == [expected, 2], why
