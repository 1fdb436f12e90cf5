"""When the controller completes a reassignment."""

from collections.abc import Set as AbstractSet

import pytest

from kafka_warden.releases import completes

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
