"""Messages of the topic: they give the rows of files; unreadable, newer and lost messages are reported."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from kafka_warden.errors import MessagesLostError, NewerSchemaError
from kafka_warden.history.messages import messages
from kafka_warden.history.poll import Poll
from kafka_warden.history.schema import TABLES, VERSION, build
from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.rollup.samples import COLUMNS, of_history
from kafka_warden.pipeline.rollup.stream import rows
from kafka_warden.pipeline.rollup.stream.batch import check, read
from kafka_warden.pipeline.rollup.stream.stream_progress import ProgressStore, Read, StreamProgress
from kafka_warden.pipeline.storage import Storage, address
from tests.history.places import write
from tests.pipeline.arrivals import history_polls


@pytest.fixture(scope="module")
def judged() -> list[Poll]:
    """The polls."""
    return history_polls(3)


def test_messages_are_the_rows_of_files(spark: SparkSession, judged: list[Poll], tmp_path: Path) -> None:
    """The messages of the topic give the rows that the files give, for every table that is rolled up."""
    write(tmp_path, judged)
    parsed = rows.of_messages(topic_of(spark, sent(judged)))
    files = of_history(History(spark, tmp_path))
    for name in COLUMNS:
        mine = [row.asDict(recursive=True) for row in rows.table_of(parsed, name).collect()]
        theirs = [row.asDict(recursive=True) for row in files[name].collect()]
        assert sorted(map(repr, mine)) == sorted(map(repr, theirs)), name
        assert mine, name


def test_message_of_another_program_is_counted(spark: SparkSession) -> None:
    """What is not of this program's form is one row that no mart is made of."""
    head = b'"schema_version": 1, "cluster_id": "c", "run": "r", "sequence": 1, "time": 1.5, "clock": 1.5'
    bad = (
        b"not json",
        b'{"table": "orders"}',
        b'{"table": "replicas", "rows": []}',
        b'{"table": "polls", "rows": [{}]}',
        b"{" + head + b', "table": "replicas", "rows": "x"}',
        b"",
    )
    fine = (b"{" + head + b', "table": "moves", "rows": []}', b"{" + head + b', "table": "replicas", "rows": []}')
    parsed = rows.of_messages(topic_of(spark, [*bad, None, *fine]))
    found = parsed.where("table != 'message'").select("table").collect()
    # An empty list, whatever is before it, has nothing that could be lost.
    assert [row["table"] for row in found] == [""] * len(bad)


def test_newer_message_stops_the_stream(spark: SparkSession, judged: list[Poll]) -> None:
    """A message of a newer version is reported; numbers in other messages are ignored."""
    foreign = [b'{"table": "orders", "schema_version": 99}']
    check(rows.of_messages(topic_of(spark, [*sent(judged[:1]), *foreign])))
    (last,) = [message for message in sent(judged[:1]) if b'"polls"' in message]
    newer = last.replace(b'"schema_version":%d' % VERSION, b'"schema_version":%d' % (VERSION + 1))
    for message in (newer, newer.replace(b'"polls"', b'"unheard_of"')):
        with pytest.raises(NewerSchemaError, match=f"version {VERSION + 1}"):
            check(rows.of_messages(topic_of(spark, [message])))


def test_what_a_topic_lost_is_counted(spark: SparkSession, judged: list[Poll]) -> None:
    """Each message, read or passed by, has an offset; what is missing between two batches is counted, once."""
    parsed = rows.of_messages(topic_of(spark, [*sent(judged[:1]), b"garbage", b"garbage"], first=7))
    after = StreamProgress(offsets={"0": 7}).read(read(parsed))
    end = 7 + len(sent(judged[:1])) + 2
    assert (after.lost, after.offsets) == (0, {"0": end})
    again = after.read(read(rows.of_messages(topic_of(spark, [b"garbage"], first=end + 5))))
    assert (again.lost, again.offsets) == (5, {"0": end + 6})
    with pytest.raises(MessagesLostError, match="partition 0 of the topic restarted at offset 3"):
        again.read(read(rows.of_messages(topic_of(spark, [b"garbage"], first=3))))


def test_what_was_gone_at_the_start_is_no_loss(spark: SparkSession, tmp_path: Path) -> None:
    """The stream knows where each partition began, though it had read nothing of it; a new one begins at 0."""
    shelf = ProgressStore(Storage(spark), address(tmp_path))
    for first in (7, 900):
        shelf.open({0: first, 1: 30})
    assert shelf.before(0).offsets == {"0": 7, "1": 30}
    shelf.put(replace(shelf.before(0).read([Read(0, 7, 9, 3)]), batch=0))
    shelf.open({0: 900, 1: 900})
    after = shelf.before(1).read([Read(0, 10, 10, 1), Read(1, 34, 35, 2), Read(2, 2, 2, 1)])
    assert (after.lost, after.offsets) == (4 + 2, {"0": 11, "1": 36, "2": 3})
    again = after.passed({0: 20, 1: 30, 2: 3, 3: 5}).read([Read(3, 6, 6, 1)])
    assert (again.lost, again.offsets) == (6 + 9 + 5 + 1, {"0": 20, "1": 36, "2": 3, "3": 7})


def sent(judged: list[Poll]) -> list[bytes]:
    """Messages of polls."""
    return [message for poll in judged for table in TABLES for message, _ in messages(build(table, poll))]


def topic_of(spark: SparkSession, values: Sequence[bytes | None], first: int = 0) -> DataFrame:
    """What the connector gives of a partition."""
    listed = [(value, 0, first + number) for number, value in enumerate(values)]
    return spark.createDataFrame(listed, "value binary, partition int, offset bigint")
