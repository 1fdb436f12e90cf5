"""The roll-up of a real topic that real sidecars write, through Spark's own connector."""

import random
import time
from collections.abc import Sequence
from pathlib import Path

import pyspark
import pytest
from confluent_kafka import OFFSET_END, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from kafka_warden.history.kafka import KafkaSettings, KafkaSink
from kafka_warden.history.messages import messages
from kafka_warden.history.poll import Poll
from kafka_warden.history.schema import BY_NAME, VERSION, build
from sandbox import Cluster, jars
from sandbox.ports import LOOPBACK
from tests.cluster.sidecar import Sidecar, configuration
from tests.history.places import write
from tests.pipeline.arrivals import contents, history_polls, rolled
from tests.pipeline.killed import finished, killed_in, last_mart_begun, rows_staged

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.full_pipeline]

TOPIC = "kafka-warden-history"
SECONDS = 60.0


@pytest.fixture
def kept(cluster: Cluster) -> Cluster:
    """A cluster that has the topic, of two partitions."""
    cluster.admin.create_topic(TOPIC, assignment={0: [1], 1: [2]})
    return cluster


@pytest.fixture(scope="session")
def flags() -> tuple[str, ...]:
    """What a topic needs; history of the scene is years old."""
    files = ",".join(map(str, jars.connector(pyspark.__version__)))
    return ("--conf", f"spark.jars={files}", "--late", "36500d")


def send(cluster: Cluster, polls: Sequence[Poll]) -> None:
    """Send polls by the sidecar's sink, and wait for the brokers."""
    sink = KafkaSink(KafkaSettings(TOPIC), lambda: {"bootstrap.servers": cluster.bootstrap})
    for poll in polls:
        sink.write(poll)
    sink.close(time.monotonic() + SECONDS)
    assert sink.stats.status().dropped == {}


def put(cluster: Cluster, *values: bytes | None) -> None:
    """Write messages as anybody could, to partition 0."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for value in values:
        producer.produce(TOPIC, value, key="anybody", partition=0)
    assert producer.flush(SECONDS) == 0


def place(cluster: Cluster, topic: str = TOPIC) -> str:
    """The address of a topic."""
    return f"kafka://{cluster.bootstrap}/{topic}"


def test_marts_are_those_of_files(spark: SparkSession, kept: Cluster, flags: tuple[str, ...], tmp_path: Path) -> None:
    """A sidecar that is restarted, and polls of another cluster in any order and twice; two SIGKILLs: as of files."""
    history, output = tmp_path / "history", tmp_path / "marts"
    others = history_polls(12)
    write(history / "other", others)
    random.Random(5).shuffle(others)
    to = {"parquet": {"path": str(history / "sidecar")}, "kafka": {"topic": TOPIC}}
    config = configuration(kept, history=to)
    for number, step in enumerate((rows_staged, last_mart_begun)):
        with Sidecar(config, tmp_path / f"sidecar-{number}") as sidecar:
            sidecar.whole_page()
            page = sidecar.next_page()
            assert page.by("sink", "sink_up") == {"parquet": 1, "kafka": 1}
            assert page.all("sink_dropped_total") == {}
        send(kept, others[4 * number : 4 * number + 6])
        killed_in(step, place(kept), output, *flags)
    put(kept, b"garbage", None)
    send(kept, others[6:])
    last = finished(place(kept), output, *flags)
    assert last.returncode == 0, last.stderr
    assert "2 messages are not history" in last.stderr
    assert "LOST" not in last.stderr
    found = contents(spark, output)
    assert found == rolled(spark, history, tmp_path / "expected")
    assert {key[0] for key in found["cluster_hour"]} == {kept.cluster_id, others[0].snapshot.cluster_id}


def test_what_a_topic_may_do(spark: SparkSession, kept: Cluster, flags: tuple[str, ...], tmp_path: Path) -> None:
    """No broker, no topic, a newer version, messages that are gone: one line each that says so, and no loss unsaid."""
    output, polls = tmp_path / "marts", history_polls(3)

    def run(*more: str, read: str = place(kept)) -> tuple[int, str]:
        done = finished(read, output, *flags, *more)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stderr.splitlines()[-1]

    code, line = run(read=f"kafka://{LOOPBACK}:1/{TOPIC}")
    assert (code, "no broker answers" in line) == (2, True)
    code, line = run(read=place(kept, "no-such-topic"))
    assert (code, "there is no such topic" in line) == (2, True)

    send(kept, polls[:1])
    code, line = run()
    assert code == 0
    read_so_far = delete_all(kept)
    (newer,) = (message for message, _ in messages(build(BY_NAME["polls"], polls[1])))
    put(kept, newer.replace(b'"schema_version":%d' % VERSION, b'"schema_version":%d' % (VERSION + 1)))
    code, line = run()
    assert (code, f"the topic has tables of version {VERSION + 1}" in line) == (2, True)

    send(kept, polls[1:2])
    lost = delete_all(kept) - read_so_far
    send(kept, polls[2:])
    code, line = run()
    assert (code, "messages were deleted before they were read" in line) == (2, True)
    code, line = run("--accept-loss")
    assert (code, f"LOST: {lost} messages" in line) == (0, True)
    assert sum(row["polls"] for row in contents(spark, output)["cluster_minute"].values()) == 2


def delete_all(cluster: Cluster) -> int:
    """Let go of all messages, as retention does, and return how many there ever were."""
    ends = [TopicPartition(TOPIC, partition, OFFSET_END) for partition in (0, 1)]
    client = AdminClient({"bootstrap.servers": cluster.bootstrap})
    return sum(each.result(SECONDS).low_watermark for each in client.delete_records(ends).values())
