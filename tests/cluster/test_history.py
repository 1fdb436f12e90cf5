"""History of a real sidecar on a real cluster: it equals what `/metrics` showed, and evaluates to the same again."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from kafka_warden.history.column import Columns
from kafka_warden.history.parquet.reader import polls
from sandbox import Cluster, wait_for
from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar, configuration
from tests.history.consumed import tables_of
from tests.history.replay import differences, in_order_of, replay, rows, written

pytestmark = pytest.mark.cluster

Tables = Mapping[str, Columns]


def test_history_has_what_the_page_showed(cluster: Cluster, tmp_path: Path) -> None:
    folder = tmp_path / "history"
    cluster.admin.create_topic("orders", assignment={0: [1, 2], 1: [2, 3]})
    cluster.load.produce("orders", bytes=8_000_000, record_size=10_000, partitions=[0, 1])
    cluster.admin.create_topic("kept", assignment={0: [1, 2], 1: [2, 1]})
    to = {"parquet": {"path": str(folder), "roll": "2s"}, "kafka": {"topic": "kept"}}
    config = configuration(cluster, history=to)
    pages: list[Page] = []
    with Sidecar(config, tmp_path) as sidecar:
        cluster.admin.reassign({("orders", 0): [1, 3]}, throttle=100_000)
        pages.append(sidecar.wait(lambda page: page.all("reassignment_bytes_remaining"), what="the move is seen"))
        wait_for(lambda: list(folder.glob("polls/*/*/*.parquet")), what="a file is there while the sidecar runs")
        cluster.kill(3)
        pages.append(sidecar.wait(lambda page: page.all("reassignment_stuck"), what="the move is stuck"))
    with Sidecar(config, tmp_path) as sidecar:
        pages.append(sidecar.next_page())
        assert pages[-1].by("sink", "sink_up") == {"parquet": 1, "kafka": 1}
        assert pages[-1].all("sink_dropped_total") == {}
        # What a busy machine cannot write within the time of a stop is lost.
        rows_of = ("sink", "sink_rows_total")
        sidecar.wait(lambda page: min(page.by(*rows_of).values(), default=0) > 0, what="rows are written")

    kept = [written(tables) for tables in polls(folder)]
    assert [tables["polls"]["remembered"][0] for tables in kept].count("restored") == 1
    assert not list(folder.rglob("*.tmp"))
    runs: dict[str, list[int]] = {}
    for tables in kept:
        runs.setdefault(tables["polls"]["run"][0], []).append(tables["polls"]["sequence"][0])
    assert len(runs) == 2
    assert all(sequences == list(range(len(sequences))) for sequences in runs.values())
    sent = tables_of(consume(cluster, "kept", [0, 1]))
    assert len(sent) == len(kept)
    keys = {(tables["polls"]["run"][0], tables["polls"]["sequence"][0]): tables for tables in sent}
    for tables in kept:
        same = keys[tables["polls"]["run"][0], tables["polls"]["sequence"][0]]
        assert differences(tables, in_order_of(tables, same)) == []
    for page in pages:
        compare(page, next(tables for tables in kept if tables["polls"]["time"] == [page.time]))
    for before, again in zip(kept, replay(kept), strict=True):
        assert differences(before, in_order_of(before, rows(again)), but=("run",)) == []
    print(f"{len(kept)} polls of {len(runs)} processes evaluated again, with the same result")


def consume(cluster: Cluster, topic: str, partitions: list[int]) -> list[bytes]:
    """Every message of a topic, from its beginning to its end."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "test", "log_level": 2})
    try:
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
        ends = (consumer.get_watermark_offsets(TopicPartition(topic, each), timeout=60) for each in partitions)
        wanted = sum(end - first for first, end in ends)
        found: list[bytes] = []
        until = time.monotonic() + 60
        while len(found) < wanted and time.monotonic() < until:
            messages = consumer.consume(wanted - len(found), 1.0)
            found += [value for message in messages if not message.error() and (value := message.value()) is not None]
        assert len(found) == wanted
        return found
    finally:
        consumer.close()


def each(columns: Mapping[str, Any], *names: str) -> list[tuple[Any, ...]]:
    return list(zip(*(columns[name] for name in names), strict=True))


def compare(page: Page, tables: Tables) -> None:
    rows_ = each(tables["moves"], "broker", "partition", "topic", "remaining_bytes", "stuck", "kind")
    moves = [row[:-1] for row in rows_ if row[-1] == "reassignment"]
    remaining = page.all("reassignment_bytes_remaining")
    assert remaining == {(str(b), str(p), t): left for b, p, t, left, _ in moves if left is not None}
    stuck = {(str(b), cause, str(p), t): 1.0 for b, p, t, _, cause in moves if cause is not None}
    assert page.all("reassignment_stuck") == stuck

    states = each(tables["replicas"], "broker", "partition", "state", "topic", "shown")
    shown = {(str(b), str(p), state, t) for b, p, state, t, is_shown in states if is_shown}
    assert page.all("replica_state").keys() == shown
    out = each(tables["replicas"], "broker", "partition", "topic", "out_seconds")
    assert page.all("replica_out_of_sync_seconds") == {
        (str(b), str(p), t): age for b, p, t, age in out if age is not None
    }

    brokers = each(tables["brokers"], "broker", "state", "leaders", "beans")
    assert {key for key, value in page.all("broker_state").items() if value} == {(str(b), s) for b, s, _, _ in brokers}
    assert page.brokers("broker_leaders") == {b: leaders for b, _, leaders, _ in brokers}
    read = {b: beans["values"]["bytes_in_total"] for b, _, _, beans in brokers if beans is not None}
    assert page.brokers("broker_bytes_in_total") == read
    throttles = {
        (b, side): limit["value"]
        for b, config in each(tables["configs"], "broker", "broker_config")
        if config is not None
        for side, limit in config["limits"].items()
    }
    found = page.all("replication_throttle_bytes_per_second")
    assert found == {(str(b), side): value for (b, side), value in throttles.items()}
