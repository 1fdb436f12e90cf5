"""The views and queries of docs/sql, in DuckDB on Delta tables, without Spark."""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
import sqlglot
from deltalake import write_deltalake

from docs import pipeline_sql
from docs.sql.open_store import TABLES, open_store
from kafka_warden.history.schema import TABLES as SCHEMA
from kafka_warden.pipeline import marts
from kafka_warden.pipeline.marts import ALARMS, BROKERS, FORECASTS, REASSIGNMENTS, REPLICAS, TOPICS, Mart

NEVER: Final = float("inf")
BEGAN: Final = datetime(2026, 5, 4, 12, tzinfo=UTC)
TYPES: Final[Mapping[str, Any]] = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "map<string,string>": pa.map_(pa.string(), pa.string()),
    "map<string,double>": pa.map_(pa.string(), pa.float64()),
    "map<string,bigint>": pa.map_(pa.string(), pa.int64()),
}
RACKS: Final = pa.schema(
    [("cluster_id", pa.string()), ("broker", pa.int32()), ("rack", pa.string()), ("time", pa.float64())]
)


def write(store: Path, mart: Mart, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows of a mart; columns that they do not name are null."""
    schema = pa.schema([(column.name, TYPES[column.type]) for column in mart.columns])
    write_deltalake(store / mart.name, pa.Table.from_pylist(list(rows), schema))


def after(minutes: float) -> datetime:
    return BEGAN + timedelta(minutes=minutes)


def move(began: float, ended: float | None, leader: int | None, broker: int, **more: Any) -> dict[str, Any]:
    """A row of `moves`; times in minutes."""
    last_seen = began + 30 if ended is None else ended - 1
    row = {
        "cluster_id": "c",
        "kind": "reassignment",
        "topic": "orders",
        "topic_id": "t",
        "partition": round(began),
        "broker": broker,
        "leader": leader,
        "began": after(began),
        "ended": None if ended is None else after(ended),
        "last_seen": after(last_seen),
        "seconds": 60.0 * ((last_seen if ended is None else ended) - began),
        "outcome": "running" if ended is None else "completed",
        "bytes_copied": 1e9,
        "rate_mean": 2e6,
        "limit_mean": 4e6,
        "use_mean": 0.5,
        "stuck_seconds": 0.0,
        "causes": {},
        "never_seconds": 0.0,
        "eta_first": 300.0,
        "eta_error": 0.5,
    }
    return row | more


MOVES: Final = (
    move(0, 10, 1, 4),
    move(0, 12, 1, 5, bytes_copied=3e9, causes={"target_down": 45.0, "throttled": 15.0}),
    move(11, 20, 2, 5, bytes_copied=2e9, eta_first=NEVER, eta_error=NEVER, never_seconds=30.0),
    move(60, None, 2, 4, limit_mean=NEVER, eta_first=None, eta_error=None),
    move(60, 65, 1, 4, bytes_copied=None, limit_mean=NEVER, use_mean=None, eta_error=-0.5),
    move(15, 70, None, 1, kind="log_dir"),
    move(5, 6, None, 2, cluster_id="d"),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("store")
    write(folder, marts.MOVES, MOVES)
    brokers = [("c", 1, "a"), ("c", 2, "b"), ("c", 4, "a"), ("c", 5, "b"), ("d", 1, "a")]
    rows = [{"cluster_id": cluster, "broker": broker, "rack": rack, "time": 2.0} for cluster, broker, rack in brokers]
    earlier = {"cluster_id": "c", "broker": 4, "rack": "b", "time": 1.0}
    unknown = {"cluster_id": "c", "broker": 4, "rack": None, "time": 3.0}
    write_deltalake(folder / "raw" / "brokers", pa.Table.from_pylist([*rows, earlier, unknown], RACKS))
    plans = ((after(0), 500.0, 1), (after(60), None, 1), (after(90), NEVER, 1), (after(99), 10.0, 2))
    keys = ("began", "planned_seconds", "waves")
    common = {"cluster_id": "c", "seconds": 600.0}
    write(folder, REASSIGNMENTS, [{**common, **dict(zip(keys, each, strict=True))} for each in plans])
    write(folder, ALARMS, alarms())
    write(folder, REPLICAS["hour"], states())
    write(folder, BROKERS["hour"], broker_hours())
    write(folder, TOPICS["hour"], topic_hours())
    write(folder, FORECASTS, forecasts())
    return open_store(str(folder))


def alarms() -> list[dict[str, Any]]:
    """Three alarms of one rule, of which one did not fire, one of another, and one what-if."""
    common = {"cluster_id": "c", "what_if": False, "would_fire": True, "subject": {"broker": "4"}}
    return [
        {**common, "rule": "Noisy", "began": after(0), "seconds": 60.0},
        {**common, "rule": "Noisy", "began": after(2000), "seconds": 120.0, "cluster_id": "d"},
        {**common, "rule": "Noisy", "began": after(5), "seconds": 1.0, "would_fire": False},
        {**common, "rule": "Quiet", "began": after(9), "seconds": 7200.0, "subject": {"topic": "x", "partition": "3"}},
        {**common, "rule": "Quiet", "began": after(9), "seconds": 1.0, "what_if": True},
    ]


def states() -> list[dict[str, Any]]:
    """Two hours of two replicas."""
    common = {"cluster_id": "c", "topic": "orders", "partition": 0, "date": BEGAN.date(), "samples": 60}
    return [
        {**common, "start": after(0), "broker": 1, "states": {"in_sync": 50, "slow": 10}},
        {**common, "start": after(60), "broker": 1, "states": {"in_sync": 60}},
        {**common, "start": after(60), "broker": 2, "states": {"slow": 5, "stuck": 55}},
    ]


def broker_hours() -> list[dict[str, Any]]:
    """Days of brokers: an unused throttle, a used one, one of unknown use, none, and one that is known for an hour."""
    cases = {1: (1e6, 0.0), 2: (1e6, 5.0), 3: (1e6, None), 4: (NEVER, 0.0), 5: (1e6, 0.0)}
    return [
        {
            "cluster_id": "c",
            "broker": broker,
            "date": date(2026, 5, 4),
            "start": after(60 * hour),
            "follower_limit_last": None if broker == 5 and hour else limit,
            "leader_limit_last": NEVER,
            "follower_rate_max": rate,
            "leader_rate_max": 0.0,
        }
        for broker, (limit, rate) in cases.items()
        for hour in range(24)
    ]


def topic_hours() -> list[dict[str, Any]]:
    """Sizes of two topics; the first one is older than seven days at first."""
    sizes = {"grows": {0: 1.0, 24 * 5: 100.0, 24 * 11: 300.0}, "shrinks": {24 * 10: 50.0, 24 * 11: 20.0}}
    return [
        {"cluster_id": "c", "topic": topic, "topic_id": "t", "start": after(60 * hour), "bytes_stored_last": size}
        for topic, found in sizes.items()
        for hour, size in found.items()
    ]


def forecasts() -> list[dict[str, Any]]:
    return [
        {"cluster_id": "c", "subject": str(broker), "what": "disk_bytes", "outcome": outcome, "day": day}
        for broker, outcome, day in [(1, "within", after(9000)), (2, "reached", after(0)), (3, "beyond", None)]
    ]


def ask(store: Any, name: str) -> list[dict[str, Any]]:
    """The rows of a view, or of the query whose file has this number."""
    (text,) = pipeline_sql.sources(f"{name}-*.sql").values() if name.isdigit() else (f"FROM {name}",)
    found: list[dict[str, Any]] = store.sql(text).to_arrow_table().to_pylist()
    return found


def test_reassignments_and_their_plans(store: Any) -> None:
    found = ask(store, "01")
    assert [row["began"] for row in found] == [after(99), after(90), after(60), after(0)]
    assert [row["later_than_planned"] for row in found] == [None, None, None, pytest.approx(0.2)]


def test_throttles_of_past_moves(store: Any) -> None:
    limited, unlimited = (row for row in ask(store, "02") if row["cluster_id"] == "c")
    assert (limited["limit_megabytes"], limited["moves"], limited["too_low"]) == (4.0, 3, 1)
    assert limited["median_use"] == pytest.approx(0.5)
    assert (unlimited["unlimited"], unlimited["limit_megabytes"], unlimited["moves"]) == (True, None, 1)


def test_causes_are_rows(store: Any) -> None:
    found = [(row["cause"], row["moves"], row["seconds"]) for row in ask(store, "03")]
    assert found == [("target_down", 1, 45.0), ("throttled", 1, 15.0)]


def test_first_etas(store: Any) -> None:
    mine, _ = ask(store, "04")
    assert (mine["moves"], mine["never"]) == (5, 1)
    assert mine["median_error"] == pytest.approx(0.5)


def test_rack_crossings(store: Any) -> None:
    mine, other = ask(store, "05")
    assert (mine["cluster_id"], mine["day"], mine["replicas"]) == ("c", date(2026, 5, 4), 2)
    assert (mine["unknown_bytes"], mine["unknown_rack"]) == (0, 0)
    assert (mine["known_bytes"], mine["price"]) == (4e9, pytest.approx(0.04))
    assert (other["replicas"], other["unknown_rack"], other["price"]) == (0, 1, None)


def test_noise(store: Any) -> None:
    noisy, quiet = ask(store, "06")
    assert (noisy["rule"], noisy["alarms"], noisy["shorter_than_10_minutes"], noisy["did_not_fire"]) == (
        *("Noisy", 2, 2, 1),
    )
    assert (noisy["clusters"], noisy["days"]) == (2, 2)
    assert (quiet["rule"], quiet["alarms"], quiet["shorter_than_10_minutes"]) == ("Quiet", 1, 0)


def test_subjects_are_columns(store: Any) -> None:
    found = {(row["broker"], row["topic"], row["partition"]) for row in ask(store, "alarm_subjects")}
    assert found == {("4", None, None), (None, "x", "3")}


def test_states_are_rows(store: Any) -> None:
    found = [(row["state"], row["samples"], row["brokers"]) for row in ask(store, "07")]
    assert found == [("stuck", 55, 1), ("slow", 15, 2)]


def test_throttles_left_behind(store: Any) -> None:
    (found,) = ask(store, "08")
    assert (found["broker"], found["follower_limit"], found["leader_limit"]) == (1, 1e6, NEVER)


def test_limits(store: Any) -> None:
    assert [row["subject"] for row in ask(store, "09")] == ["2", "1"]


def test_growth(store: Any) -> None:
    found = [(row["topic"], row["grown_bytes"], row["bytes_stored"]) for row in ask(store, "10")]
    assert found == [("grows", 200.0, 300.0), ("shrinks", -30.0, 20.0)]


def test_finite_moves_have_no_infinity(store: Any) -> None:
    rows = ask(store, "finite_moves")
    assert not any(value == NEVER for row in rows for value in row.values() if isinstance(value, float))
    assert sum(row["eta_never"] or False for row in rows) == 1
    assert sum(row["unlimited"] for row in rows) == 2


def test_store_without_tables_has_those_views_that_it_can(tmp_path: Path) -> None:
    write(tmp_path, REPLICAS["hour"], states())
    with pytest.warns(UserWarning, match="the store does not have all that it needs") as warned:
        store = open_store(str(tmp_path))
    assert len(warned) == len(pipeline_sql.sources("view-*.sql")) - 1
    assert len(ask(store, "replica_states")) == 5


def test_older_table_leaves_out_a_view(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "alarms", pa.table({"cluster_id": ["c"], "rule": ["Noisy"]}))
    with pytest.warns(UserWarning, match="the store does not have all that it needs"):
        assert open_store(str(tmp_path)).sql("FROM alarms").fetchall() == [("c", "Noisy")]


def test_place_without_a_store_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no table of a store is there"):
        open_store(str(tmp_path / "stroe"))


def test_every_table_is_opened() -> None:
    names = {mart.name for mine in marts.MARTS.values() for mart in mine}
    assert set(TABLES) == names | {f"raw/{table.name}" for table in SCHEMA}


@pytest.mark.parametrize("dialect", ["trino", "athena"])
def test_other_forms_are_parsed(dialect: str) -> None:
    for name, text in pipeline_sql.sources("*.sql").items():
        stored = (pipeline_sql.SQL / "trino" / f"{name}.sql").read_text()
        assert "Not tried" in stored
        statement = sqlglot.parse_one(stored, read=dialect)
        assert not isinstance(statement, sqlglot.exp.Command), name
        assert statement.sql("trino") == sqlglot.parse_one(pipeline_sql.translated(text), read="trino").sql("trino")
