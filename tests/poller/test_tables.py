"""The columns that outlive a poll, and the reassignments that a layout still shows."""

import numpy as np

from exporter.model import UNKNOWN
from exporter.poller.memory import Memory
from exporter.poller.tables import lingering
from exporter.sources.reassignments import Reassignment
from tests.building import Partition, layout

MOVE = Reassignment(adding=frozenset({3}), removing=frozenset({1}))


def test_a_new_leader_is_asked_anew_where_its_log_starts() -> None:
    """What it told when it last led may be hours old, and rates are worked out from it."""
    memory = Memory()
    memory.adopt(layout({"t": [Partition(replicas=(1, 2), end=10)]}))
    memory.columns.begin(np.array([5, 7]))

    memory.adopt(layout({"t": [Partition(replicas=(1, 2), leader=2, end=10)]}))

    assert memory.columns.start.tolist() == [5, UNKNOWN]
    assert memory.columns.young[1] > 0


def test_a_new_leader_is_asked_anew_also_when_partitions_come() -> None:
    """The same when the rows have moved."""
    memory = Memory()
    memory.adopt(layout({"t": [Partition(replicas=(1, 2), end=10)]}))
    memory.columns.begin(np.array([5, 7]))

    memory.adopt(layout({"a": [Partition(replicas=(1,))], "t": [Partition(replicas=(1, 2), leader=2, end=10)]}))

    assert memory.columns.start.tolist() == [UNKNOWN, 5, UNKNOWN]


def test_a_move_that_ends_after_the_metadata_lingers() -> None:
    """For this poll the layout still has the old replicas, and the arriving one is no member that is missing."""
    moving = layout({"t": [Partition(replicas=(1, 2, 3), adding=(3,), removing=(1,))]})

    assert lingering(moving, {("t", 0): MOVE}, {}) == {("t", 0): MOVE}


def test_a_move_that_the_layout_does_not_show_is_over() -> None:
    """Completed, cancelled, or of a topic that was deleted."""
    completed = layout({"t": [Partition(replicas=(3, 2))]})
    cancelled = layout({"t": [Partition(replicas=(1, 2))]})

    for told in (completed, cancelled, layout({"other": [Partition()]})):
        assert lingering(told, {("t", 0): MOVE}, {}) == {}


def test_a_move_that_goes_on_is_told_anew() -> None:
    """What the controller says now counts."""
    moving = layout({"t": [Partition(replicas=(1, 2, 3), adding=(3,), removing=(1,))]})

    assert lingering(moving, {("t", 0): MOVE}, {("t", 0): MOVE}) == {}
