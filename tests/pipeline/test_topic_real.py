"""`ingest` of a real topic that the sidecar's sink writes: each row once, as files have it, and no loss unreported."""

import random
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from kafka_warden.errors import ClockError, HistoryFileError, HistoryTopicError
from kafka_warden.history.kafka import KafkaSink
from kafka_warden.history.messages import messages
from kafka_warden.history.poll import Poll
from kafka_warden.history.schema import BY_NAME, TABLES, VERSION, build
from kafka_warden.pipeline import topic as topics
from kafka_warden.pipeline import topic_batches
from kafka_warden.pipeline import topic_brokers as brokers
from kafka_warden.pipeline.ingest import lines
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.store import Store
from kafka_warden.pipeline.timeline import DAY
from kafka_warden.pipeline.topic import Topic, opened
from sandbox import Cluster, Security
from sandbox.ports import LOOPBACK
from sandbox.protection import STRANGER
from tests.history.places import write
from tests.pipeline.arrivals import history_polls
from tests.pipeline.stored import ALWAYS, landed, of_cluster, rows, take
from tests.pipeline.test_store import killed_at

TOPIC = "kafka-warden-history"
SECONDS = 60.0

pytestmark = pytest.mark.timeout(1800)

full = pytest.mark.full_pipeline
"""A commit takes seconds, and these make many."""


@pytest.fixture
def kept(cluster: Cluster) -> Cluster:
    cluster.admin.create_topic(TOPIC, assignment={0: [1], 1: [2]})
    return cluster


@pytest.fixture
def taken(spark: SparkSession, kept: Cluster, tmp_path: Path) -> Callable[[], None]:
    """A call on the topic, without compaction and retention, which the job has besides."""

    def call() -> None:
        store = Store(spark, tmp_path / "store")
        store.create()
        for done in topic_batches.batches(store, Topic(kept.bootstrap, TOPIC), date.min, Progress()):
            print(*lines(done), sep="\n", file=sys.stderr)

    return call


def send(cluster: Cluster, polls: Sequence[Poll]) -> None:
    """Send polls by the sidecar's sink, and wait for the brokers."""
    sink = KafkaSink(TOPIC, lambda: {"bootstrap.servers": cluster.bootstrap, **cluster.client_properties()})
    for poll in polls:
        sink.write(poll)
    sink.close(time.monotonic() + SECONDS)
    assert sink.stats.status().dropped == {}


def put(cluster: Cluster, *values: bytes | None) -> None:
    """Write messages as any client could, to partition 0."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for value in values:
        producer.produce(TOPIC, value, key="any", partition=0)
    assert producer.flush(SECONDS) == 0


def sent(poll: Poll) -> list[bytes]:
    return [message for table in TABLES for message, _ in messages(build(table, poll))]


@pytest.mark.cluster
@pytest.mark.full_pipeline
def test_rows_are_those_of_files(
    spark: SparkSession,
    kept: Cluster,
    taken: Callable[[], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    history = history_polls(6)
    others = of_cluster(history_polls(4), "other")
    for name, polls in (("one", history), ("other", others)):
        write(tmp_path / "landing" / name, polls)
    random.Random(5).shuffle(others)
    monkeypatch.setattr("kafka_warden.history.messages.LARGEST", 1500)
    send(kept, history_polls(1, "ahead", time.time() + 2 * DAY))
    with pytest.raises(ClockError, match=r"all of the next .* rows are more than a day ahead of this machine's clock"):
        taken()
    send(kept, [*history[:3], *others[:2]])
    taken()
    taken()
    said = capsys.readouterr().err
    assert re.search(r"NOT TAKEN: \d+ rows of cluster cluster: they are more than a day ahead of this", said)
    assert "ingest: 0 rows of 0 messages" in said
    put(kept, b"garbage", None, *sent(history[3])[:3], *sent(history[3])[:3])
    monkeypatch.setattr(topic_batches, "spans", lambda logs, marks: topics.spans(logs, marks, 70))
    send(kept, [*history[3:], *others[2:]])
    take(spark, tmp_path / "store", Path(), replace(ALWAYS, topic=Topic(kept.bootstrap, TOPIC)))
    said = capsys.readouterr().err
    assert "2 messages are not history, and were skipped" in said
    assert said.count("kafka-warden: ingest: ") > 1, "in several batches, which end within a poll"
    assert not any(word in said for word in ("LOST", "MISSING", "CREATED AGAIN"))
    assert rows(tmp_path / "store") == landed(tmp_path / "landing")


def test_message_of_another_program_is_known(spark: SparkSession) -> None:
    head = b'"schema_version": 1, "cluster_id": "c", "run": "r", "sequence": 1, "clock": 1.5'
    bad = (
        b"not json",
        b'{"table": "orders"}',
        b'{"table": "replicas", "rows": []}',
        b'{"table": "polls", "rows": [{}]}',
        b"{" + head + b', "time": 1.5, "table": "orders", "rows": [{}]}',
        b"{" + head + b', "time": 1.5, "table": "replicas", "rows": "x"}',
        b"{" + head + b', "time": 1e300, "table": "replicas", "rows": []}',
        b"",
        None,
    )
    fine = b"{" + head + b', "time": 1.5, "table": "replicas", "rows": []}'
    listed = [(value, 0) for value in (*bad, fine)]
    found = opened(spark.createDataFrame(listed, "value binary, partition int")).select("table", "rows").collect()
    assert [row["table"] for row in found] == [None] * len(bad) + ["replicas"]
    assert found[-1]["rows"] == 0


@pytest.mark.cluster
def test_topic_that_cannot_be_read(kept: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HistoryTopicError, match="there is no such topic; create it as in"):
        brokers.describe(Topic(kept.bootstrap, "no-such-topic"))
    with pytest.raises(HistoryTopicError, match="there is no such topic"):
        brokers.describe(Topic(kept.bootstrap, "no-such-topic"))
    monkeypatch.setattr(brokers, "WITHIN", 2.0)
    with pytest.raises(HistoryTopicError, match="no broker answers"):
        brokers.describe(Topic(f"{LOOPBACK}:1", TOPIC))


@pytest.mark.cluster
def test_topic_is_described(kept: Cluster) -> None:
    send(kept, history_polls(1))
    now = brokers.describe(Topic(kept.bootstrap, TOPIC))
    assert re.fullmatch(r"[\w-]{22}", now.topic_id)
    assert now.place == f"kafka:{kept.cluster_id}/{TOPIC}/{now.topic_id}/"
    assert [ends.first for ends in now.logs.values()] == [0, 0]
    assert sum(ends.after for ends in now.logs.values()) == len(sent(history_polls(1)[0]))


@full
@pytest.mark.cluster
@pytest.mark.parametrize("number", [2, 5, 7])
def test_kill_between_two_commits_loses_and_repeats_nothing(
    spark: SparkSession,
    kept: Cluster,
    taken: Callable[[], None],
    tmp_path: Path,
    number: int,
) -> None:
    history = history_polls(4)
    write(tmp_path / "landing", history)
    send(kept, history[:2])
    with killed_at(number):
        taken()
    send(kept, history[2:])
    if number == 5:
        write(tmp_path / "other", of_cluster(history[:1], "other"))
        take(spark, tmp_path / "store", tmp_path / "other")
    elif number > 5:
        take(spark, tmp_path / "store", tmp_path / "landing")
    taken()
    found, expected = rows(tmp_path / "store"), landed(tmp_path / "landing")
    if number == 5:
        expected = {name: {**expected[name], **rest} for name, rest in landed(tmp_path / "other").items()}
    assert found == expected


@full
@pytest.mark.cluster
def test_newer_message_is_not_taken(
    spark: SparkSession, kept: Cluster, taken: Callable[[], None], tmp_path: Path
) -> None:
    history = history_polls(2)
    put(kept, b'{"table": "orders", "schema_version": 99}')
    send(kept, history[:1])
    taken()
    (newer,) = (message for message, _ in messages(build(BY_NAME["polls"], history[1])))
    newer = newer.replace(b'"schema_version":%d' % VERSION, b'"schema_version":%d' % (VERSION + 1))
    put(kept, newer.replace(b'"polls"', b'"unheard_of"'))
    send(kept, history[1:])
    with pytest.raises(HistoryFileError, match=f"tables of version {VERSION + 1}"):
        taken()
    write(tmp_path / "landing", history[:1])
    assert rows(tmp_path / "store") == landed(tmp_path / "landing")


@full
@pytest.mark.cluster
def test_login_is_that_of_the_properties(
    spark: SparkSession, make_cluster: Callable[..., Cluster], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file as for a Java client, for both clients; with Read and Describe on the topic, and no password is shown."""
    cluster = make_cluster(brokers=1, security=Security.SASL_SSL_SCRAM, tiered=False)
    cluster.admin.create_topic(TOPIC, assignment={0: [1]})
    history = history_polls(1)
    write(tmp_path / "landing", history)
    send(cluster, history)

    def topic(password: str) -> Topic:
        mine = cluster.client_properties(STRANGER)
        login = f'username="{STRANGER}" password="{password}"'
        file = tmp_path / "client.properties"
        file.write_text(
            "security.protocol=SASL_SSL\n"
            f"sasl.mechanism={mine['sasl.mechanism']}\n"
            f"sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required {login};\n"
            f"ssl.truststore.type=PEM\nssl.truststore.location={mine['ssl.ca.location']}\n"
        )
        return Topic.at(f"kafka://{cluster.bootstrap}/{TOPIC}", file)

    password = cluster.client_properties(STRANGER)["sasl.password"]
    with pytest.raises(HistoryTopicError, match="check --kafka-properties") as refused:
        brokers.describe(topic(f"not-{password}"))
    assert password not in str(refused.value)
    with pytest.raises(HistoryTopicError, match="the principal needs Read and Describe on the topic"):
        brokers.describe(topic(password))
    cluster.admin.grant(STRANGER, [("topic", TOPIC, "read"), ("topic", TOPIC, "describe")])
    take(spark, tmp_path / "store", Path(), replace(ALWAYS, topic=topic(password)))
    assert password not in capsys.readouterr().err
    assert rows(tmp_path / "store") == landed(tmp_path / "landing")
