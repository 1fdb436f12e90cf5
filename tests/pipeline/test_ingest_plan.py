"""What a batch does with each landing file, and which hours a job computes again. Without Spark."""

import math
import time
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_warden.history.parquet.arrow import metadata_of, schema_of
from kafka_warden.history.parquet.reader import Found, inventory
from kafka_warden.history.schema import BY_NAME
from kafka_warden.pipeline.claims import Claim
from kafka_warden.pipeline.ingest import ingest
from kafka_warden.pipeline.ingest.batch import LARGE, MOST_LARGE, large_folders
from kafka_warden.pipeline.ingest.plan import Gap, How, Planned, gaps, planned
from kafka_warden.pipeline.ingest.ranges import Range, read_ranges
from kafka_warden.pipeline.marks import Work
from kafka_warden.pipeline.spans import joined
from kafka_warden.pipeline.store import LARGEST_FILE
from kafka_warden.pipeline.timeline import DAY
from tests.history.places import NOON
from tests.pipeline.daily import common

NEW, MERGE, DUPLICATE = How.NEW, How.MERGE, How.DUPLICATE


def part(first: int, last: int, rows: int = 0, run: str = "run") -> Range:
    return Range("cluster", run, first, last, NOON + first, NOON + last, rows or last - first + 1)


def file(name: str, table: str = "polls") -> Found:
    return Found(f"file:///{name}", f"/{name}", table, int(NOON) // 3600)


def decide(*ranges: Range | tuple[Range, ...], known: tuple[Range, ...] = ()) -> list[How]:
    """What is done with files of these ranges, given those of earlier batches."""
    files = [(file(f"{index}"), each if isinstance(each, tuple) else (each,)) for index, each in enumerate(ranges)]
    return [each.how for each in planned(files, {("polls", "cluster", "run"): known})]


@pytest.mark.parametrize(
    ("ranges", "known", "expected"),
    [
        ((part(0, 9), part(10, 19)), (), [NEW, NEW]),
        ((part(0, 9), part(0, 9)), (), [NEW, DUPLICATE]),
        ((part(0, 9),), (part(0, 9),), [DUPLICATE]),
        ((part(0, 9),), (part(0, 9, 5),), [MERGE]),
        ((part(5, 14),), (part(0, 9),), [MERGE]),
        ((part(0, 9), part(20, 29), part(9, 12)), (), [MERGE, NEW, MERGE]),
        ((part(0, 9, run="other"),), (part(0, 9),), [NEW]),
        (((part(0, 9), part(0, 3, run="other")),), (part(0, 9),), [MERGE]),
        (((part(0, 9), part(0, 3, run="other")), part(0, 3, run="other")), (), [NEW, DUPLICATE]),
        ((part(0, 30), part(5, 9), part(5, 9)), (), [MERGE, MERGE, DUPLICATE]),
    ],
)
def test_only_overlaps_are_compared_row_by_row(
    ranges: tuple[Range, ...], known: tuple[Range, ...], expected: list[How]
) -> None:
    assert decide(*ranges, known=known) == expected


def test_tables_and_clusters_do_not_overlap() -> None:
    other = Range("other", "run", 0, 9, NOON, NOON, 10)
    files = [(file("a"), [part(0, 9)]), (file("b", "brokers"), [part(0, 9)]), (file("c"), [other])]
    assert [each.how for each in planned(files, {})] == [NEW, NEW, NEW]


def test_missing_polls_are_found_once() -> None:
    known = {("polls", "cluster", "run"): [part(0, 9), part(15, 19)]}

    def taken(*ranges: Range, how: How = NEW, table: str = "polls") -> list[Planned]:
        return [Planned(file("x", table), [each], how) for each in ranges]

    assert gaps(taken(part(25, 29), part(40, 44)), known) == [
        Gap("cluster", "run", 20, 24),
        Gap("cluster", "run", 30, 39),
    ]
    assert gaps(taken(part(20, 24)), known) == []
    assert gaps(taken(part(25, 29), how=DUPLICATE), known) == []
    assert gaps(taken(part(25, 29), table="moves"), {}) == []
    assert gaps(taken(part(25, 29, run="new"), part(5, 9, run="new")), known) == [
        Gap("cluster", "new", 0, 4),
        Gap("cluster", "new", 10, 24),
    ]
    assert gaps(taken(part(0, 9, run="new")), known) == []
    assert gaps(taken(part(25, 29)), {("polls", "other", "run"): [part(0, 9)]}) == []


def test_ranges_of_a_file_are_in_its_footer(tmp_path: Path) -> None:
    rows = [{**common(hour, cluster), "run": run} for run, cluster, hour in RUNS]
    table = BY_NAME["polls"]
    made = pa.Table.from_pylist(rows, schema_of(table)).replace_schema_metadata(metadata_of(table))
    place = tmp_path / "polls" / "date=2023-11-14" / "hour=00" / "kafka-warden-a-0-0.parquet"
    place.parent.mkdir(parents=True)
    found = {}
    for size in (1, 2, 100):
        pq.write_table(made, place, row_group_size=size)
        listed = inventory(tmp_path)
        ((_, ranges),) = read_ranges(listed, listed.files)
        assert isinstance(ranges, list)
        found[size] = sorted((each.cluster_id, each.run, each.first, each.last, each.rows) for each in ranges)
    assert found[1] == found[2] == found[100] == [("one", "a", 0, 3, 3), ("one", "b", 2, 2, 1), ("two", "a", 7, 7, 1)]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"time": time.time() + 2 * DAY}, "files of cluster one: 1 are more than a day ahead of this machine's clock"),
        ({"time": 1e12}, "it has a time outside of the years 1970 to 9999"),
        ({"time": math.nan}, "it has a time outside of the years 1970 to 9999"),
        ({"cluster_id": None}, "some of its rows have no cluster_id"),
        ({"run": None, "sequence": None}, "some of its rows have no run and no sequence"),
        ({"time": time.time() + DAY / 2}, ""),
    ],
)
def test_file_that_jobs_could_not_use_is_not_taken(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    table = BY_NAME["polls"]
    both = [common(0, "one") | {name: value for name, value in row.items() if name == "time"}, common(1, "one") | row]
    made = pa.Table.from_pylist(both, schema_of(table)).replace_schema_metadata(metadata_of(table))
    place = tmp_path / "polls" / "date=2023-11-14" / "hour=00" / "kafka-warden-a-0-0.parquet"
    place.parent.mkdir(parents=True)
    pq.write_table(made, place)
    listed = inventory(tmp_path)
    found, problems = ingest._opened(listed, listed.files)
    assert [len(found), *problems] == ([0, ANY] if said else [1])
    assert all(said in line for line in problems)


RUNS = [("a", "one", 0), ("a", "one", 1), ("b", "one", 2), ("a", "one", 3), ("a", "two", 7)]


def test_spans_of_hours_are_joined() -> None:
    assert joined([(5, 6), (1, 2), (2, 3), (8, 9), (5, 7)]) == [(1, 3), (5, 7), (8, 9)]
    assert joined([(5, 6), (1, 3), (8, 9)], 2) == [(1, 9)]
    assert joined([(5, 6), (1, 3), (8, 9)], 1) == [(1, 3), (5, 6), (8, 9)]
    assert joined([]) == []


def test_condition_names_clusters_days_and_hours() -> None:
    store: Any = None
    work = Work(Claim(store, "rollup", 1), 7, {"a'b\\": [(24, 48)]}, moves_marks=True, rows=0)
    assert work.count() == 24
    assert work.windows() == (
        "((cluster_id IN ('a\\'b\\\\') AND date >= '1970-01-02' AND date <= '1970-01-02'"
        " AND start >= TIMESTAMP '1970-01-02T00:00:00Z' AND start < TIMESTAMP '1970-01-03T00:00:00Z'))"
    )
    assert "time >= 86400D AND time < 172800D" in work.raw()
    assert work.raw().startswith("batch <= 7 AND ((")


@pytest.mark.parametrize(
    ("hours", "one"),
    [
        ({"a": [(24, 48)]}, True),
        ({"a": [(24, 25), (47, 48)]}, True),
        ({"a": [(24, 25), (48, 49)]}, False),
        ({"a": [(24, 49)]}, False),
        ({"a": [(24, 25)], "b": [(24, 25)]}, False),
    ],
)
def test_hours_of_one_cluster_and_day_are_one_partition(hours: dict[str, list[tuple[int, int]]], one: bool) -> None:
    store: Any = None
    assert Work(Claim(store, "rollup", 1), 7, hours, moves_marks=True, rows=0).is_one_day() == one


def test_files_that_make_a_large_folder_by_themselves_are_not_shuffled() -> None:
    def rows(place: str, size: int, *parts: tuple[str, float, float]) -> list[dict[str, Any]]:
        return [
            {"place": place, "size": size, "cluster_id": cluster, "since": since, "until": until}
            for cluster, since, until in parts
        ]

    half, day, next_day = LARGE // 2, (NOON, NOON + 60), (NOON + DAY, NOON + DAY + 60)
    large = rows("a", half, ("one", *day), ("one", *day)) + rows("b", half, ("one", *day))
    larger = rows("c", LARGEST_FILE + 1, ("two", *next_day))
    small = rows("d", LARGE - 1, ("two", *day))
    mixed = rows("e", 2 * LARGE, ("one", *day), ("two", *day)) + rows("f", 2 * LARGE, ("one", NOON, NOON + DAY))

    messages = rows("kafka:cluster/topic/0", 2 * LARGE, ("three", *day))

    found, others = large_folders(large + small + mixed + larger + messages)

    assert found == [(larger, 2), (large, 1)]
    assert sorted(row["place"] for row in others) == ["d", "e", "e", "f", "kafka:cluster/topic/0"]
    many = [row for number in range(MOST_LARGE + 1) for row in rows(f"{number}", LARGE + number, (f"{number}", *day))]
    found, others = large_folders(many)
    assert (len(found), others) == (MOST_LARGE, many[:1])
