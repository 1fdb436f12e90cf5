"""Which files of a landing zone are taken, and what their footers say. Without Spark."""

import math
import time
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_warden.history.parquet.arrow import metadata_of, schema_of
from kafka_warden.history.parquet.reader import inventory
from kafka_warden.history.schema import BY_NAME
from kafka_warden.pipeline.batch import LARGE, MOST_LARGE, large_folders
from kafka_warden.pipeline.incremental import Work
from kafka_warden.pipeline.landing import Part, Range, batches, joined, new_parts, overlapping, read_ranges
from kafka_warden.pipeline.store import LARGEST_FILE
from kafka_warden.pipeline.timeline import DAY
from tests.history.places import NOON, the_file, write
from tests.pipeline.arrivals import history_polls
from tests.pipeline.daily import common

RUNS = [("a", "one", 0), ("a", "one", 1), ("b", "one", 2), ("a", "one", 3), ("a", "two", 7)]


def part(place: str, first: int = 0, last: int = 9, run: str = "run", size: int = 1, **of: Any) -> Part:
    rows: dict[str, Any] = {"cluster_id": "cluster", "since": NOON + first, "until": NOON + last, "rows": 9} | of
    return Part(place, size, "polls", Range(run=run, first=first, last=last, **rows))


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([part("a", 0, 9), part("b", 10, 19)], ""),
        ([part("a", 0, 9), part("b", 0, 9)], "ab"),
        ([part("a", 0, 9), part("b", 20, 29), part("c", 9, 12)], "ac"),
        ([part("a", 0, 9), part("b", 0, 9, "other"), part("c", 0, 9, cluster_id="other")], ""),
        ([part("a", 0, 30), part("b", 5, 9), part("c", 10, 12), part("d", 31, 32)], "abc"),
        ([part("a", 0, 9), part("a", 0, 3, "other"), part("b", 2, 5, "other")], "ab"),
    ],
)
def test_only_overlaps_are_compared_row_by_row(parts: list[Part], expected: str) -> None:
    assert "".join(sorted(overlapping(parts))) == expected


def test_batches_are_whole_days_and_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_warden.pipeline.landing.LARGEST_BATCH", 5)
    last, other, both = part("last", int(2 * DAY)), part("a", 0, size=5), part("both", 1, size=4)
    rest = part("both", int(DAY), run="other", size=4)
    middle = part("middle", int(DAY))
    assert batches([last, rest, middle, both]) == [[rest, both, middle], [last]]
    assert batches([middle, last, other, both]) == [[other, both], [middle, last]]
    assert batches([]) == [[]]


def test_file_is_new_by_its_place_and_its_size(tmp_path: Path) -> None:
    """A file that was replaced under its name is read again, whatever the time of its change is."""
    write(tmp_path, history_polls(1))
    listed = inventory(tmp_path)
    known = {(file.place, file.size) for file in listed.files}
    assert new_parts(listed, known, 0.0) == ([], [])
    (place, size) = next(each for each in known if "/polls/" in each[0])
    replaced = known - {(place, size)} | {(place, size + 1)}
    found, problems = new_parts(listed, replaced, 0.0)
    assert ([each.place for each in found], problems) == ([place], [])
    assert new_parts(listed, (), NOON + DAY) == ([], [])
    the_file(tmp_path, "polls").unlink()
    found, (problem,) = new_parts(listed, replaced, 0.0)
    assert (found, problem) == ([], ANY)
    assert problem.startswith(f"NOT TAKEN: {place}: it cannot be opened")


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
    found, problems = new_parts(listed, (), 0.0)
    assert [len(found), *problems] == ([0, ANY] if said else [1])
    assert all(said in line for line in problems)


def test_spans_of_hours_are_joined() -> None:
    assert joined([(5, 6), (1, 2), (2, 3), (8, 9), (5, 7)]) == [(1, 3), (5, 7), (8, 9)]
    assert joined([(5, 6), (1, 3), (8, 9)], 2) == [(1, 9)]
    assert joined([(5, 6), (1, 3), (8, 9)], 1) == [(1, 3), (5, 6), (8, 9)]
    assert joined([]) == []


def test_condition_names_clusters_days_and_hours() -> None:
    store: Any = None
    work = Work(store, {"a'b\\": [(24, 48)]}, rows=0)
    assert work.count() == 24
    assert work.windows() == (
        "((cluster_id IN ('a\\'b\\\\') AND date >= '1970-01-02' AND date <= '1970-01-02'"
        " AND start >= TIMESTAMP '1970-01-02T00:00:00Z' AND start < TIMESTAMP '1970-01-03T00:00:00Z'))"
    )
    assert "time >= 86400D AND time < 172800D" in work.raw()


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
    assert Work(store, hours, rows=0).is_one_day() == one


def test_files_that_make_a_large_folder_by_themselves_are_not_shuffled() -> None:
    half = LARGE // 2
    next_day: dict[str, Any] = {"since": NOON + DAY, "until": NOON + DAY + 60}
    large = [part("a", size=half), part("a", size=half, run="other"), part("b", size=half)]
    larger = [part("c", size=2 * LARGEST_FILE + 1, cluster_id="two", **next_day)]
    small = [part("d", size=LARGE - 1, cluster_id="two")]
    over_midnight = [part("f", size=2 * LARGE, until=NOON + DAY)]
    found, others = large_folders([*large, *small, *larger, *over_midnight])
    assert found == [(larger, 4), (large, 1)], "an even number, or one"
    assert sorted(each.place for each in others) == ["d", "f"]
    two_clusters = [part("g"), part("g", cluster_id="two"), part("h", size=LARGE), part("h", run="other", **next_day)]
    found, others = large_folders([*large, *two_clusters])
    assert (found, {each.place for each in others}) == ([(large, 1)], {"g", "h"}), "each file is read once"
    many = [part(f"{number}", size=LARGE + number, cluster_id=f"{number}") for number in range(MOST_LARGE + 1)]
    found, others = large_folders(many)
    assert (len(found), others) == (MOST_LARGE, many[:1])
