"""The roll-up: windows of every mart against what the polls themselves say."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kafka_warden.history.poll import Poll, topic_id_text
from kafka_warden.pipeline.marts import MARTS
from tests.history.places import NOON, rewrite, write
from tests.history.replay import polls
from tests.pipeline.arrivals import POLLS, arrive, history_polls
from tests.pipeline.stored import marts, of_cluster, roll_up, take

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


def test_cluster_has_every_poll_once_and_the_limits_of_the_last(rolled_up: dict[str, Any], judged: list[Poll]) -> None:
    for hour in range(HOURS):
        row, mine = window(rolled_up, "cluster_hour", hour), in_hour(judged, hour)
        assert row["polls"] == len(mine)
        assert (row["brokers_max"], row["partitions_max"], row["replicas_max"]) == (4, 6, 15)
        last = mine[-1].parameters
        limits = (row["partitions_limit_last"], row["broker_limit_last"], row["network_last"])
        assert limits == (last.max_partitions, last.max_broker_partitions, last.network_bytes_per_second)
    assert len(rolled_up["cluster_minute"]) == len(judged)
    assert {row["polls"] for row in rolled_up["cluster_minute"].values()} == {1}


def test_log_directory_has_the_use_of_its_volume(rolled_up: dict[str, Any], judged: list[Poll]) -> None:
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
        (row["start"].timestamp() // 3600, row["broker"], row["log_dir"]): (used, row["total_bytes_last"])
        for row in rolled_up["log_dir_hour"].values()
        for used in (row["used_bytes_max"],)
    } == found


def test_sum_is_unknown_where_a_part_is(rolled_up: dict[str, Any], judged: list[Poll]) -> None:
    assert window(rolled_up, "cluster_hour", 1)["bytes_in_max"] is None
    for topic, is_known in (("quiet", False), ("orders", True)):
        row = window(rolled_up, "topic_hour", 1, topic, topic_id(judged[0], topic))
        assert (row["bytes_in_max"] is not None) is is_known


def test_topic_windows_are_sums_over_partitions(rolled_up: dict[str, Any], judged: list[Poll]) -> None:
    for hour in range(HOURS):
        row = window(rolled_up, "topic_hour", hour, "orders", topic_id(judged[0], "orders"))
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
    index = poll.snapshot.topics.index(topic)
    return np.flatnonzero(poll.snapshot.partitions.topic == index)


def follower_rows(poll: Poll, topic: str) -> np.ndarray:
    mine = np.isin(poll.snapshot.replicas.partition, topic_rows(poll, topic))
    return np.flatnonzero(mine & poll.derived.lag.following)


def test_replica_windows_count_states(rolled_up: dict[str, Any], judged: list[Poll]) -> None:
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
    for hour in range(HOURS):
        row = window(rolled_up, "replica_hour", hour, "orders", topic_id(judged[0], "orders"), 1, 3)
        lags = [poll.derived.lag.bytes[replica(poll)] for poll in in_hour(judged, hour)]
        assert row["lag_bytes_mean"] == pytest.approx(np.mean(lags), rel=1e-12)
        assert row["lag_bytes_max"] == max(lags)


def topic_id(poll: Poll, topic: str) -> str:
    return topic_id_text(poll.snapshot.topic_ids[poll.snapshot.topics.index(topic)])


def replica(poll: Poll) -> int:
    """The row of the replica of `orders` 1 on broker 3."""
    partition = topic_rows(poll, "orders")[1]
    (row,) = np.flatnonzero((poll.snapshot.replicas.partition == partition) & (poll.snapshot.replicas.broker == 3))
    return int(row)


def test_broker_windows_have_throttles(rolled_up: dict[str, Any]) -> None:
    row = window(rolled_up, "broker_hour", 1, 2)
    assert row["leader_limit_last"] == 2e5
    assert row["leader_use_max"] == pytest.approx(row["leader_rate_max"] / 2e5)
    assert row["follower_limit_last"] == 4e6
    unlimited = window(rolled_up, "broker_hour", 1, 3)
    assert (unlimited["leader_limit_last"], unlimited["leader_use_max"]) == (float("inf"), 0.0)
    unknown = window(rolled_up, "broker_hour", 1, 4)
    assert (unknown["leader_limit_last"], unknown["leader_use_max"]) == (None, None)


@pytest.fixture(scope="module")
def odd(spark: SparkSession, judged: list[Poll], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Marts of clusters that each lack something, or have it twice."""
    folder = tmp_path_factory.mktemp("odd")
    for name in ("twice", "lost", "blind", "jumped", "again"):
        write(folder / name, of_cluster(judged, name))
    for number, file in enumerate(sorted((folder / "twice").rglob("kafka-warden-*.parquet"), reverse=True)):
        if number % 3:
            arrive(file, folder, folder / f"sidecar-{number % 3}", "copy-" if number % 2 else "")
    for file in (folder / "lost" / "partitions").rglob("*.parquet"):
        if "hour=23" not in file.parts:
            file.unlink()
    for file in (folder / "blind" / "polls").rglob("*.parquet"):
        if "hour=23" not in file.parts:
            blind(file, "under_replicated_known", "min_isr_known")
    for table in ("partitions", "replicas"):
        for file in (folder / "again" / table).rglob("hour=23/*.parquet"):
            created_again(file, "orders", judged[POLLS // 2].sequence)
    later = [replace(poll.snapshot, cluster_id="jumped") for poll in history_polls(6, beginning=NOON + 400 * 86400)]
    write(folder / "later", polls(later, run="after"))
    store = folder.with_name("store")
    take(spark, store, folder)
    roll_up(spark, store)
    return marts(store)


def created_again(file: Path, topic: str, since: int) -> None:
    """Give a topic another id, from a poll on."""
    rows = pq.read_table(file)
    columns = (rows[name].to_pylist() for name in ("sequence", "topic", "topic_id"))
    named = zip(*columns, strict=True)
    column = rows.schema.get_field_index("topic_id")
    new = pa.array(["another" if (name, number >= since) == (topic, True) else each for number, name, each in named])
    rewrite(file, rows.set_column(column, "topic_id", new.cast(rows.schema.field("topic_id").type)))


def of(found: dict[str, Any], mart: str, cluster: str) -> list[dict[str, Any]]:
    return [row for key, row in sorted(found[mart].items(), key=repr) if key[0] == cluster]


def test_duplicates_and_order_change_nothing(odd: dict[str, Any], rolled_up: dict[str, Any]) -> None:
    for mart in MARTS["rollup"]:
        expected = [{**row, "cluster_id": "twice"} for row in of(rolled_up, mart.name, "cluster")]
        assert of(odd, mart.name, "twice") == expected, mart.name


def test_sum_is_unknown_where_rows_of_a_poll_are_missing(odd: dict[str, Any]) -> None:
    lost = [row for row in of(odd, "topic_hour", "lost") if row["topic"] == "orders" and row["hour"] != 23]
    assert lost
    assert {row["bytes_in_max"] for row in lost} == {None}
    assert None not in {row["bytes_stored_last"] for row in lost}


def test_count_is_unknown_where_a_poll_does_not_know(odd: dict[str, Any]) -> None:
    mine = [row for row in of(odd, "topic_hour", "blind") if row["topic"] == "orders"]
    for name in ("under_replicated_max", "under_min_isr_max"):
        assert {row[name] for row in mine if row["hour"] != 23} == {None}
        assert None not in {row[name] for row in mine if row["hour"] == 23}
    assert None not in {row["offline_max"] for row in mine}


def test_topic_that_was_created_again_is_another(odd: dict[str, Any]) -> None:
    mine = [row for row in of(odd, "topic_hour", "again") if row["topic"] == "orders"]
    hours = Counter(row["hour"] for row in mine)
    assert {hour: count for hour, count in hours.items() if count > 1} == {23: 2}
    assert {row["partitions_max"] for row in mine} == {2}
    assert {row["replicas_max"] for row in mine} == {6}


def test_clock_that_jumps_loses_nothing(odd: dict[str, Any], judged: list[Poll]) -> None:
    polls_by_hour = [row["polls"] for row in of(odd, "cluster_hour", "jumped")]
    assert sum(polls_by_hour) == len(judged) + 6


def blind(file: Path, *flags: str) -> None:
    """Make polls that do not know."""
    rows = pq.read_table(file)
    for flag in flags:
        rows = rows.set_column(rows.schema.get_field_index(flag), flag, pa.array([False] * len(rows)))
    rewrite(file, rows)
