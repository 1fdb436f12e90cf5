"""Unknown is absent: what was never told is neither counted nor summed as if it were zero."""

import math

import numpy as np

from exporter.catalogue import OF_SNAPSHOT, Build, Sidecar, View
from exporter.derive import Derived
from exporter.model import UNKNOWN, Side, TopicConfig
from tests.building import Partition, judge, snapshot


def names(derived: Derived) -> set[str]:
    """Families with at least one sample that is known."""
    sidecar = Sidecar({}, Build("0", "0", "3"))
    view = View(derived, sidecar, np.ones(len(derived.frame.snapshot.topics), bool))
    return {metric.name for metric in OF_SNAPSHOT if any(not math.isnan(value) for _, value in list(metric.read(view)))}


def test_reassignments_that_nobody_told() -> None:
    """No count of zero, no ratio, and nothing is called moving."""
    seen = names(judge(snapshot({"t": [Partition()]}, reassignments_known=False)))

    assert not seen & {"reassigning_partitions", "reassignment_move_ratio", "reassignment_replicas"}


def test_topic_configurations_that_nobody_told() -> None:
    """Neither min.insync.replicas nor throttled lists are assumed."""
    derived = judge(snapshot({"t": [Partition(out=(2, 3))]}))

    assert not names(derived) & {"under_min_isr_partitions", "replication_throttled_replicas"}
    assert np.isnan(derived.throttles.floor[Side.LEADER]).all()


def test_topic_configurations_that_were_told() -> None:
    """Then a zero is a zero."""
    derived = judge(snapshot({"t": [Partition(out=(2, 3))]}, topic_configs={"t": TopicConfig(min_insync_replicas=2)}))

    assert {"under_min_isr_partitions", "replication_throttled_replicas"} <= names(derived)
    assert derived.cluster.under_min_isr.tolist() == [True]


def test_the_only_replica_of_a_partition_follows_nobody() -> None:
    """Its broker's sum is not withheld while the partition has no leader."""
    derived = judge(
        snapshot({"single": [Partition(replicas=(1,), leader=UNKNOWN)], "t": [Partition(replicas=(2, 1), end=5)]})
    )

    assert derived.lag.sum_messages.values.tolist() == [0.0, 0.0]


def test_a_cluster_without_replicas_is_judged() -> None:
    """An empty cluster, and partitions that name no replica, are no reason to fail."""
    assert judge(snapshot({})).totals.reassigning_partitions == 0
