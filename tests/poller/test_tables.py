"""The columns that outlive a poll, and the reassignments that a layout still shows."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kafka_warden.arrays import Keys
from kafka_warden.model import UNKNOWN, TopicConfig
from kafka_warden.poller.answers import LastAnswers
from kafka_warden.poller.poller import partition_table
from kafka_warden.poller.tables import Columns, Rows, log_gaps, partition_rows, recently_finished
from kafka_warden.replies import FutureReplica, LogDir, LogGaps, MissingLog
from kafka_warden.sources.cluster import Reassignment
from kafka_warden.sources.log_dirs import LogDirs
from tests.building import Partition, Topics, layout

MOVE = Reassignment(adding=frozenset({3}), removing=frozenset({1}))


@pytest.mark.parametrize("before", [{}, {"a": [Partition(replicas=(1,))]}])
@pytest.mark.parametrize("stays", [{}, {"s": [Partition(replicas=(1,))]}])
def test_a_new_leader_is_asked_again_where_its_log_starts(before: Topics, stays: Topics) -> None:
    """Its last answer may be hours old, and rates are computed from it. Also when new partitions move the rows."""
    answers = LastAnswers()
    old = answers.adopt(layout({**stays, "t": [Partition(replicas=(1, 2), end=10)]}))
    starts = np.array([*[3] * len(stays), 5, 7])
    answers.columns.measure(np.arange(len(starts)), starts * 100, starts, starts, 1.0)

    new = answers.adopt(layout({**before, **stays, "t": [Partition(replicas=(1, 2), leader=2, end=10)]}))

    assert answers.columns.start.tolist() == [*[UNKNOWN] * len(before), *[3] * len(stays), 5, UNKNOWN]
    assert answers.columns.young[-1] > 0
    assert {getattr(new, name) is getattr(old, name) for name in Keys.__slots__} == {not before}


def test_a_log_that_loses_a_segment_while_it_is_read_keeps_its_last_answer() -> None:
    """Its size may be from before or after the loss, so nothing may be computed from it; it is asked again at once."""
    columns, rows = Columns.unknown(3), np.arange(3)
    quiet = np.array([5, 5, UNKNOWN])
    for clock in (1.0, 2.0, 3.0):
        columns.measure(rows, np.array([100, 200, 300]), quiet, quiet, clock)
    columns.measure(rows, np.array([110, 150, 330]), quiet, np.array([5, 9, UNKNOWN]), 4.0)

    assert columns.size.tolist() == [110, 200, 330]
    assert columns.sized_at.tolist() == [4.0, 3.0, 4.0]
    assert columns.start.tolist() == [5, 5, UNKNOWN]
    assert columns.young.tolist() == [0, 1, 0]


def test_partitions_are_found_by_name_and_number() -> None:
    seen = layout({"a": [Partition()], "t": [Partition(), Partition()]})
    assert partition_rows(seen, {("t", 1), ("a", 0), ("t", 2), ("gone", 0)}) == {("a", 0): 0, ("t", 1): 2}


MOVING = {"t": [Partition(replicas=(1, 2, 3), adding=(3,), removing=(1,))]}


@pytest.mark.parametrize(
    ("topics", "listed", "expected"),
    [
        (MOVING, {}, {("t", 0): MOVE}),
        (MOVING, {("t", 0): MOVE}, {}),
        ({"t": [Partition(replicas=(3, 2))]}, {}, {}),
        ({"t": [Partition(replicas=(3, 1), out=(1,))]}, {}, {}),
        ({"t": [Partition(replicas=(1, 2))]}, {}, {}),
        ({"other": [Partition()]}, {}, {}),
    ],
    ids=["just completed", "still listed", "completed", "in sync", "cancelled", "deleted"],
)
def test_a_move_that_ends_after_the_metadata_lasts_until_the_next_poll(
    topics: dict[str, list[Partition]], listed: dict[tuple[str, int], Reassignment], expected: object
) -> None:
    """The layout still has the replicas of the move, and the added one is no member that fell out of the ISR."""
    assert recently_finished(layout(topics), {("t", 0): MOVE}, listed) == expected


REMOTE = {"local": [Partition(replicas=(1, 2))], "remote": [Partition(replicas=(2, 1)), Partition(replicas=(1, 2))]}


def test_only_leaders_of_topics_with_remote_storage_are_asked_for_its_end() -> None:
    seen = layout(REMOTE)
    rows = Rows(seen)
    asked = rows.remote(seen, frozenset({"remote"}))

    assert {broker: list(wanted) for broker, wanted in asked.items()} == {1: [("remote", [1])], 2: [("remote", [0])]}
    assert {broker: wanted.rows.tolist() for broker, wanted in asked.items()} == {1: [4], 2: [2]}
    assert rows.remote(seen, frozenset({"remote"})) is asked
    assert rows.remote(seen, frozenset({"local"})).keys() == {1}
    assert rows.remote(seen, frozenset({"deleted"})) == {}
    assert Rows(seen).remote(seen, frozenset()) == {}


def test_copied_topics_are_those_that_are_known_to_be() -> None:
    remote, disabled = (TopicConfig(remote_storage=True, remote_copy_disabled=each) for each in (False, True))
    answers = LastAnswers(topic_configs={"local": TopicConfig(), "remote": remote, "disabled": disabled})
    assert answers.copied_topics() == {"remote"}


def test_configurations_of_topics_age_and_end_with_their_topic() -> None:
    """An old one is not shown for ever. A topic that was created again under the same name is another one."""
    answers, before = LastAnswers(), layout(REMOTE)
    answers.adopt(before)
    both = {"local": TopicConfig(), "remote": TopicConfig(remote_storage=True)}
    answers.store_topic_configs(both, both, 0.0)
    answers.store_topic_configs({"remote": TopicConfig()}, ["remote"], 60.0)

    assert answers.topic_configs_since(0.0).keys() == {"local", "remote"}
    assert answers.topic_configs_since(30.0) == {"remote": TopicConfig()}

    answers.adopt(replace(before, topic_ids=(before.topic_ids[0], b"created again".ljust(16))))
    assert answers.topic_configs_since(0.0) == {"local": TopicConfig()}


def test_answers_of_leaders_go_to_their_partitions() -> None:
    seen = layout({"t": [Partition(replicas=(1, 2), leader=2), Partition(replicas=(1, 2), leader=UNKNOWN)]})
    table = partition_table(seen, Columns.unknown(4), np.array([1, 2, 3, 4]), np.zeros(2, bool))
    assert all(getattr(table, name) is getattr(seen, name) for name in ("topic", "number", "leader", "leader_epoch"))
    assert table.tiered.tolist() == [2, UNKNOWN]
    assert table.start.tolist() == [UNKNOWN, UNKNOWN]


@pytest.mark.parametrize(
    ("sizes", "answer", "missing", "stray"),
    [
        ([0, UNKNOWN, UNKNOWN, UNKNOWN, 7, UNKNOWN], {"stray": {("deleted", 3)}}, {("remote", 0)}, {("deleted", 3)}),
        ([0] * 6, {"stray": {("other", 1)}, "more_stray": True}, set(), None),
        (
            [UNKNOWN] * 6,
            {"directories": [LogDir(1, "/data", online=False, bytes=UNKNOWN, usable_bytes=0, total_bytes=0)]},
            None,
            set(),
        ),
    ],
    ids=["one of each", "too many stray ones to count", "a directory is offline, in which they may be"],
)
def test_logs_that_are_missing_or_stray(sizes: list[int], answer: Any, missing: Any, stray: Any) -> None:
    seen = layout(REMOTE)
    found = log_gaps(seen, 1, np.array(sizes), LogDirs(**answer), clock=60.0)
    ids = dict(zip(seen.topics, seen.topic_ids, strict=True))
    expected: Any = missing and {MissingLog(topic, ids[topic], number) for topic, number in missing}
    assert found == LogGaps(60.0, expected, stray)


def test_log_directories_keep_what_was_not_asked_about() -> None:
    """Their bytes are those of the last answer about all logs, and what moves between them stays as it was."""
    answers, (mine, other) = LastAnswers(), (FutureReplica("t", number, 1, "/data", 5, 9) for number in (0, 1))
    disk, added = (LogDir(1, path, online=True, bytes=7, usable_bytes=1, total_bytes=9) for path in ("/data", "/new"))
    answers.keep_log_dirs(1, LogDirs([disk], [mine, other]), None)
    answers.keep_log_dirs(1, LogDirs([replace(disk, bytes=2), added]), {("t", 0)})
    assert (answers.log_dirs, answers.future) == ({1: (disk, added)}, {1: (other,)})
    offline = replace(disk, online=False, bytes=UNKNOWN)
    answers.keep_log_dirs(1, LogDirs([offline, added]), {("t", 0)})
    assert answers.log_dirs == {1: (offline, added)}
