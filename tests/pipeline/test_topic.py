"""Which offsets a batch takes, what is reported as lost, and which days are compacted. Without Spark and brokers."""

from datetime import date
from pathlib import Path

import pytest

from kafka_warden.errors import ConfigError
from kafka_warden.pipeline.maintain import FILES, crowded
from kafka_warden.pipeline.topic import Ends, Span, Topic, expired, lost, spans, truncated

LOGS = {0: Ends(7, 100), 1: Ends(0, 0), 2: Ends(50, 50)}


def test_first_batch_takes_all_and_sets_all_marks() -> None:
    """Of an empty partition too, so that what it loses later is known; what was gone before is no loss."""
    assert spans(LOGS, {}) == [Span(0, 7, 100), Span(1, 0, 0), Span(2, 50, 50)]
    assert list(lost(LOGS, {})) == []


def test_next_batch_continues() -> None:
    marks = {0: 100, 1: 0, 2: 50}
    assert spans(LOGS, marks) == []
    later = {0: Ends(120, 130), 1: Ends(0, 3), 2: Ends(60, 60), 3: Ends(2, 4)}
    assert spans(later, marks) == [Span(0, 120, 130), Span(1, 0, 3), Span(2, 60, 60), Span(3, 2, 4)]
    assert list(lost(later, marks)) == [Span(0, 100, 120), Span(2, 50, 60), Span(3, 0, 2)]
    quiet = {**LOGS, 0: Ends(7, 101), 2: Ends(50, 51)}
    assert spans(quiet, marks)[1] == Span(1, 0, 0), "its mark is written again, before the last one is deleted"
    assert spans({**quiet, 2: Ends(40, 49)}, marks)[2] == Span(2, 50, 50), "also of one that was truncated"
    after = {each.partition: each.after for each in spans(later, marks)}
    assert list(lost(later, after)) == []


def test_large_topic_is_taken_in_parts() -> None:
    logs, marks, parts = {0: Ends(0, 1000), 1: Ends(0, 10), 2: Ends(0, 0)}, dict[int, int](), []
    while wanted := spans(logs, marks, 100):
        marks |= {each.partition: each.after for each in wanted}
        parts.append(wanted)
        assert sum(each.after - each.first for each in wanted) <= 102
    assert marks == {0: 1000, 1: 10, 2: 0}
    assert len(parts) == 10
    for partition, end in ((0, 1000), (1, 10)):
        mine = [each for part in parts for each in part if each.partition == partition]
        assert [each.first for each in mine] == [0, *(each.after for each in mine[:-1])]
        assert mine[-1].after == end


def test_what_expires_while_a_batch_is_taken_is_known() -> None:
    wanted = [Span(0, 10, 20), Span(1, 0, 5), Span(2, 3, 3), Span(3, 0, 4), Span(4, 5, 9)]
    logs = {0: Ends(14, 30), 1: Ends(0, 5), 2: Ends(9, 9), 4: Ends(90, 95)}
    assert expired(wanted, logs) == [Span(0, 10, 14), Span(3, 0, 4), Span(4, 5, 9)]


def test_partition_that_ends_earlier_than_before_is_reported() -> None:
    assert list(truncated({0: Ends(0, 80), 1: Ends(0, 9)}, {0: 100, 1: 9})) == [Span(0, 80, 100)]


def test_days_with_many_files_are_compacted() -> None:
    folder = "file:///store/raw/polls/cluster_id={}/date={}"
    files = [f"{folder.format('a', '2026-11-20')}/{number}.parquet" for number in range(2)]
    files += [f"{folder.format(cluster, '2026-11-21')}/0.parquet" for cluster in "ab"]
    today = [f"{folder.format('a', '2026-11-22')}/{number}.parquet" for number in range(FILES)]
    assert crowded([*files, *today], date(2026, 11, 22)) == "date IN ('2026-11-20')"
    assert crowded([*files, *today, f"{today[0]}x"], date(2026, 11, 22)) == "date IN ('2026-11-20', '2026-11-22')"
    moves = [f"file:///store/moves/cluster_id=a/{number}.parquet" for number in range(FILES)]
    assert crowded(moves, date(2026, 11, 22)) is None
    assert crowded([*moves, f"{moves[0]}x"], date(2026, 11, 22)) == "cluster_id IS NOT NULL"


def test_properties_are_those_of_a_java_client(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text('# mine\n\nsecurity.protocol = SASL_SSL\nsasl.jaas.config: x \\\n  password="hidden";\n')
    topic = Topic.at("kafka://one:9092,two:9092/history", file)
    assert topic.properties == {"security.protocol": "SASL_SSL", "sasl.jaas.config": 'x password="hidden";'}
    assert topic.place == "kafka://one:9092,two:9092/history"
    assert "hidden" not in repr(topic)
    file.write_text("a=b\nhidden\n")
    with pytest.raises(ConfigError, match=r"client.properties: line 2: expected key=value$"):
        Topic.at("kafka://one:9092/history", file)
    with pytest.raises(ConfigError, match="cannot read the file"):
        Topic.at("kafka://one:9092/history", tmp_path / "nowhere")
