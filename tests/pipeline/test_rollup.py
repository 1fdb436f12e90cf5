"""The roll-up: windows of every mart against what the polls themselves say."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kafka_warden.history.poll import Poll, topic_id_text
from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.job import Request
from kafka_warden.pipeline.jobs.rollup import batch
from kafka_warden.pipeline.marts.rollup import MARTS
from kafka_warden.pipeline.progress import Progress
from tests.history.places import NOON, rewrite
from tests.pipeline.arrivals import arrive, contents, files_of, history_polls, rolled

LEFT = ["hour=0", "hour=1", "hour=22"]
"""Folders of the hours that a part of the history leaves as they are."""
HOURS = 4
"""That the history has windows in."""


def in_hour(judged: list[Poll], hour: int) -> list[Poll]:
    """Polls of one hour, counted from the first."""
    return [poll for poll in judged if int(poll.snapshot.time - NOON) // 3600 == hour]


def window(found: dict[str, Any], mart: str, hour: int, *key: Any) -> dict[str, Any]:
    """The row of one window that begins with an hour."""
    start = next(each for each, *_ in (place[1:] for place in found[mart]) if each.timestamp() == NOON + 3600 * hour)
    row: dict[str, Any] = found[mart]["cluster", start, *key]
    return row


def test_cluster_has_every_poll_once(rolled_up: dict[str, Any], judged: list[Poll]) -> None:
    """Hours have all of their polls, minutes one, and both what the snapshot counts."""
    for hour in range(HOURS):
        row = window(rolled_up, "cluster_hour", hour)
        assert row["polls"] == len(in_hour(judged, hour))
        assert (row["brokers_max"], row["partitions_max"], row["replicas_max"]) == (4, 6, 15)
    assert len(rolled_up["cluster_minute"]) == len(judged)
    assert {row["polls"] for row in rolled_up["cluster_minute"].values()} == {1}


def test_cluster_has_the_limits_of_its_last_poll(rolled_up: dict[str, Any], judged: list[Poll]) -> None:
    """Those of the sidecar's settings; forecasts read them."""
    for hour in range(HOURS):
        row, last = window(rolled_up, "cluster_hour", hour), in_hour(judged, hour)[-1].parameters
        found = (row["partitions_limit_last"], row["broker_limit_last"], row["network_last"])
        assert found == (last.max_partitions, last.max_broker_partitions, last.network_bytes_per_second)


def test_log_directory_has_the_use_of_its_volume(rolled_up: dict[str, Any], judged: list[Poll]) -> None:
    """Its size less what is usable, or else its logs; directories that are offline are left out."""
    found: dict[Any, Any] = {}
    for poll in judged:
        hour = poll.snapshot.time // 3600
        for each in (each for each in poll.snapshot.log_dirs if each.online):
            whole = each.total_bytes >= 0 and each.usable_bytes >= 0
            used, size = (each.total_bytes - each.usable_bytes, each.total_bytes) if whole else (each.bytes, None)
            key = (hour, each.broker, each.path)
            found[key] = (max(used, found.get(key, (0, 0))[0]), size)
    assert found
    assert {
        (row["start"].timestamp() // 3600, row["broker"], row["log_dir"]): (
            row["used_bytes_max"],
            row["total_bytes_last"],
        )
        for row in rolled_up["log_dir_hour"].values()
    } == found


def test_sum_is_unknown_where_a_part_is(rolled_up: dict[str, Any]) -> None:
    """A partition without a leader has no rate: neither its topic nor the cluster has one, and other topics do."""
    assert window(rolled_up, "cluster_hour", 1)["bytes_in_max"] is None
    assert window(rolled_up, "topic_hour", 1, "quiet")["bytes_in_max"] is None
    assert window(rolled_up, "topic_hour", 1, "orders")["bytes_in_max"] is not None


def test_topic_windows_are_sums_over_partitions(rolled_up: dict[str, Any], judged: list[Poll]) -> None:
    """Bytes in, stored, lacking and the counts of a topic are those of its partitions in the polls of the hour."""
    for hour in range(HOURS):
        row = window(rolled_up, "topic_hour", hour, "orders")
        mine = in_hour(judged, hour)
        rates = [poll.derived.bytes_in[topic_rows(poll, "orders")].sum() for poll in mine]
        known = [rate for rate in rates if not np.isnan(rate)]
        assert row["bytes_in_mean"] == pytest.approx(np.mean(known))
        assert row["bytes_in_max"] == pytest.approx(max(known))
        last = mine[-1]
        leaders = last.snapshot.partitions.leader_row[topic_rows(last, "orders")]
        assert row["bytes_stored_last"] == last.snapshot.replicas.size[leaders].sum()
        lags = [poll.derived.lag.bytes[follower_rows(poll, "orders")].sum() for poll in mine]
        assert row["lag_bytes_max"] == pytest.approx(max(lags))
        assert (row["partitions_max"], row["replicas_max"]) == (2, 6)


def topic_rows(poll: Poll, topic: str) -> np.ndarray:
    """Partitions of a topic."""
    index = poll.snapshot.topics.index(topic)
    return np.flatnonzero(poll.snapshot.partitions.topic == index)


def follower_rows(poll: Poll, topic: str) -> np.ndarray:
    """Replicas that follow in them."""
    mine = np.isin(poll.snapshot.replicas.partition, topic_rows(poll, topic))
    return np.flatnonzero(mine & poll.derived.lag.following)


def test_replica_windows_count_states(rolled_up: dict[str, Any], judged: list[Poll]) -> None:
    """A replica's states are counted poll by poll, in hours as in minutes."""
    key = ("payments", 0, 1)
    of_hours, of_minutes = Counter[str](), Counter[str]()
    for counted, mart in ((of_hours, "replica_hour"), (of_minutes, "replica_minute")):
        for row in rolled_up[mart].values():
            if (row["topic"], row["partition"], row["broker"]) == key:
                counted.update(row["states"])
                assert sum(row["states"].values()) == row["samples"] == row["out_of_sync_samples"]
    assert of_hours == of_minutes
    assert sum(of_hours.values()) == len(judged)
    assert len(of_hours) > 1


def test_replica_mean_of_an_hour_is_that_of_its_polls(rolled_up: dict[str, Any], judged: list[Poll]) -> None:
    """Hours are made of minutes, and their mean is still that of the samples."""
    for hour in range(HOURS):
        row = window(rolled_up, "replica_hour", hour, "orders", topic_id(judged[0], "orders"), 1, 3)
        lags = [poll.derived.lag.bytes[replica(poll)] for poll in in_hour(judged, hour)]
        assert row["lag_bytes_mean"] == pytest.approx(np.mean(lags), rel=1e-12)
        assert row["lag_bytes_max"] == max(lags)


def topic_id(poll: Poll, topic: str) -> str:
    """The id of a topic as history has it."""
    return topic_id_text(poll.snapshot.topic_ids[poll.snapshot.topics.index(topic)])


def replica(poll: Poll) -> int:
    """The row of the replica of `orders` 1 on broker 3."""
    partition = topic_rows(poll, "orders")[1]
    (row,) = np.flatnonzero((poll.snapshot.replicas.partition == partition) & (poll.snapshot.replicas.broker == 3))
    return int(row)


def test_broker_windows_have_throttles(rolled_up: dict[str, Any]) -> None:
    """Limit, rate, use and headroom of both sides; an unlimited side has a use of 0."""
    row = window(rolled_up, "broker_hour", 1, 2)
    assert row["leader_limit_last"] == 2e5
    assert row["leader_use_max"] == pytest.approx(row["leader_rate_max"] / 2e5)
    assert row["follower_limit_last"] == 4e6
    unlimited = window(rolled_up, "broker_hour", 1, 3)
    assert (unlimited["leader_limit_last"], unlimited["leader_use_max"]) == (float("inf"), 0.0)
    unknown = window(rolled_up, "broker_hour", 1, 4)
    assert (unknown["leader_limit_last"], unknown["leader_use_max"]) == (None, None)


def test_duplicates_and_order_change_nothing(
    spark: SparkSession, source: Path, rolled_up: dict[str, Any], tmp_path: Path
) -> None:
    """Files that are there twice, under another name or in another sidecar's folder, count once."""
    for number, file in enumerate(sorted(source.rglob("kafka-warden-*.parquet"), reverse=True)):
        arrive(file, source, tmp_path / "history" / f"sidecar-{number % 2}")
        if number % 3 == 0:
            arrive(file, source, tmp_path / "history" / f"sidecar-{(number + 1) % 2}", "copy-")
    assert rolled(spark, tmp_path / "history", tmp_path / "marts") == rolled_up


def test_sum_is_unknown_where_rows_of_a_poll_are_missing(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    """A poll whose rows of `partitions` are lost has no sums over them, and all else of it is there."""
    for file in source.rglob("kafka-warden-*.parquet"):
        if "partitions" not in file.parts or "hour=23" in file.parts:
            arrive(file, source, tmp_path / "history")
    found = rolled(spark, tmp_path / "history", tmp_path / "marts")
    lost = [row for row in found["topic_hour"].values() if row["topic"] == "orders" and row["hour"] != 23]
    assert lost
    assert {row["bytes_in_max"] for row in lost} == {None}
    assert None not in {row["bytes_stored_last"] for row in lost}


def test_count_is_unknown_where_a_poll_does_not_know(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    """Under-replication needs the reassignments, the minimum ISR needs the configs."""
    for file in source.rglob("kafka-warden-*.parquet"):
        arrive(file, source, tmp_path / "history")
    for file in (tmp_path / "history" / "polls").rglob("*.parquet"):
        if "hour=23" not in file.parts:
            blind(file, "under_replicated_known", "min_isr_known")
    found = rolled(spark, tmp_path / "history", tmp_path / "marts")
    blinded = [row for row in found["topic_hour"].values() if row["topic"] == "orders" and row["hour"] != 23]
    others = [row for row in found["topic_hour"].values() if row["topic"] == "orders" and row["hour"] == 23]
    for name in ("under_replicated_max", "under_min_isr_max"):
        assert {row[name] for row in blinded} == {None}
        assert None not in {row[name] for row in others}
    assert None not in {row["offline_max"] for row in blinded}


def blind(file: Path, *flags: str) -> None:
    """Make polls that do not know."""
    rows = pq.read_table(file)
    for flag in flags:
        rows = rows.set_column(rows.schema.get_field_index(flag), flag, pa.array([False] * len(rows)))
    rewrite(file, rows)


def test_part_of_history_replaces_its_hours_only(
    spark: SparkSession, source: Path, rolled_up: dict[str, Any], tmp_path: Path
) -> None:
    """`--start` and `--end` replace the hours between them, and no file of others."""
    rolled(spark, source, tmp_path)
    before = set(tmp_path.rglob("*.parquet"))
    one = History(spark, source, NOON + 3600, NOON + 7200)
    batch(Request(spark, one, source, tmp_path, None, Progress(spark.sparkContext)))
    assert contents(spark, tmp_path) == rolled_up
    kept = before & set(tmp_path.rglob("*.parquet"))
    hours = {mart.name: [file.parent.name for file in kept if mart.name in file.parts] for mart in MARTS}
    assert {name: sorted(set(left)) for name, left in hours.items()} == {mart.name: LEFT for mart in MARTS}


def test_clock_that_jumps_loses_nothing(spark: SparkSession, judged: list[Poll], tmp_path: Path) -> None:
    """Polls after a jump of the wall clock are counted in the windows of their own time."""
    later = history_polls(6, "other", NOON + 400 * 86400)
    files_of(tmp_path / "one", judged[:6])
    files_of(tmp_path / "two", later)
    found = rolled(spark, tmp_path, tmp_path / "marts")
    assert sorted(row["polls"] for row in found["cluster_hour"].values()) == [6, 6]
