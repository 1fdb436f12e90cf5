"""Bulk history has the form of the sidecar's, and is in itself without contradictions."""

import math
from pathlib import Path

import pytest

from fleet.bulk import generate_bulk
from fleet.bulk_cluster import BULK, LATE
from fleet.settings import Settings
from kafka_warden.history.parquet.reader import read
from kafka_warden.history.schema import BY_NAME
from tests.fleet.conftest import silent

SETTINGS = Settings(seed=3, clusters=2, brokers=5, partitions=40, days=0.1, interval=60.0)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bulk")
    generate_bulk(SETTINGS, out, silent)
    return out / "history"


def test_every_poll_has_its_rows_once(history: Path) -> None:
    polls = read(history, "polls").to_pylist()

    assert len(polls) == 2 * SETTINGS.polls
    assert all(row["cluster_id"].startswith(BULK) for row in polls)
    assert [row["remembered"] for row in polls].count("nothing") == 2
    for table in ("replicas", "partitions", "brokers"):
        rows = read(history, table).to_pylist()
        keys = {tuple(row[name] for name in ("cluster_id", "sequence", *BY_NAME[table].key)) for row in rows}
        assert len(keys) == len(rows) == sum(dict(row["rows"])[table] for row in polls)


def test_numbers_agree_with_each_other(history: Path) -> None:
    rows = sorted(read(history, "replicas").to_pylist(), key=lambda row: row["time"])
    leaders = {_at(row): row["end"] for row in rows if not row["following"]}
    before: dict[object, int] = {}

    assert {row["state"] for row in rows} == {"in_sync", "slow"}
    for row in rows:
        key = (row["cluster_id"], row["topic"], row["partition"])
        assert row["end"] + row["lag_messages"] == leaders[_at(row)] >= before.get(key, 0)
        assert row["late"] == (not row["in_isr"]) == ((row["behind_seconds"] or 0.0) > LATE)
        before[key] = leaders[_at(row)]
    hosted = sum(row["lag_bytes"] for row in rows)
    brokers = read(history, "brokers").to_pylist()
    assert math.isclose(sum(row["lag_bytes"] for row in brokers), hosted)
    assert math.isclose(sum(row["led_lag_bytes"] for row in brokers), hosted)
    assert sum(sum(dict(row["out_of_sync"]).values()) for row in brokers) == sum(row["late"] for row in rows)


def _at(row: dict[str, object]) -> tuple[object, ...]:
    return tuple(row[name] for name in ("cluster_id", "sequence", "topic", "partition"))
