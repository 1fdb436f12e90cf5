"""Reading history: errors name the file and what is wrong with it."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_warden.errors import (
    EmptyHistoryError,
    HistoryFileError,
)
from kafka_warden.history.parquet import reader as reader_module
from kafka_warden.history.parquet.arrow import VERSION_KEY, metadata_of, schema_of
from kafka_warden.history.parquet.reader import polls, read
from kafka_warden.history.replay import snapshot_of
from kafka_warden.history.schema import BY_NAME, VERSION
from tests.building import EPOCH
from tests.history.places import NOON, put, rewrite, the_file, write
from tests.history.replay import polls as evaluated
from tests.history.replay import scene_polls


@pytest.fixture
def history(tmp_path: Path) -> Path:
    write(tmp_path, scene_polls())
    return tmp_path


def test_rows_of_a_time_span_are_read(history: Path) -> None:
    times = [poll.snapshot.time for poll in scene_polls()]
    assert read(history, "polls")["time"].to_pylist() == times
    assert read(history, "polls", times[2], times[5])["time"].to_pylist() == times[2:5]
    assert read(history, "restored").num_rows == 0
    assert read(history, "restored").schema == schema_of(BY_NAME["restored"])


def test_polls_are_read_run_by_run(tmp_path: Path) -> None:
    """The run that began first comes first, also if both are of the same time."""
    early, late = scene_polls()[:4], scene_polls()[1:3]
    for name, some in (("a", late), ("b", early)):
        write(tmp_path, [replace(poll, run=name, sequence=number) for number, poll in enumerate(some)])
    found = [(tables["polls"]["run"][0], tables["polls"]["sequence"][0]) for tables in polls(tmp_path)]
    assert found == [("b", 0), ("b", 1), ("b", 2), ("b", 3), ("a", 0), ("a", 1)]


class ComparedRun(str):
    """Counts how often it is compared."""

    __slots__ = ()
    __hash__ = str.__hash__
    comparisons = 0

    def __eq__(self, other: object) -> bool:
        ComparedRun.comparisons += 1
        return super().__eq__(other)


def test_the_order_of_polls_takes_one_pass() -> None:
    run, count = ComparedRun("run"), 1000
    columns = {"run": [run] * count, "sequence": [*range(count)], "time": [float(each) for each in range(count)]}
    rows = {name: SimpleNamespace(to_pylist=partial(list, values)) for name, values in columns.items()}
    assert reader_module._order(rows) == [(run, number) for number in range(count)]
    assert ComparedRun.comparisons < 10 * count


def test_missing_history_is_an_error(history: Path, tmp_path: Path) -> None:
    """It is an error if no table has rows of that time; a single table without rows is not."""
    with pytest.raises(EmptyHistoryError, match=r"no history of the time from 0 to 3600"):
        read(history, "polls", 0.0, 3600.0)
    with pytest.raises(EmptyHistoryError, match="nowhere: no file of history in it"):
        read(tmp_path / "nowhere", "polls")
    (tmp_path / "file").touch()
    with pytest.raises(HistoryFileError, match="file: cannot be listed"):
        read(tmp_path / "file", "polls")
    (tmp_path / "empty").mkdir()
    with pytest.raises(EmptyHistoryError, match="no file of history in it"):
        read(tmp_path / "empty", "polls")
    assert read(history, "moves", NOON, EPOCH + 5).num_rows == 3
    write(tmp_path / "quiet", evaluated([scene_polls()[0].snapshot])[:1])
    assert read(tmp_path / "quiet", "restored").num_rows == 0


@pytest.mark.parametrize("keep", [0, 3, 100, -1])
def test_a_file_that_is_cut_off_is_named(history: Path, keep: int) -> None:
    file = the_file(history, "replicas")
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(HistoryFileError, match=rf"{file.name}: it is cut off or damaged \(.*; remove it"):
        read(history, "replicas")
    assert read(history, "partitions").num_rows


def test_a_file_whose_column_has_no_readable_name_is_named(history: Path) -> None:
    """Names of columns are UTF-8, unless bytes of the file are damaged."""
    file = min(history.rglob("*.parquet"))
    file.write_bytes(file.read_bytes().replace(b"cluster", b"\xffluster"))
    with pytest.raises(HistoryFileError, match=rf"{file.name}: it is cut off or damaged \(.*; remove it"):
        list(polls(history))


def test_a_missing_column_is_named(history: Path) -> None:
    file = the_file(history, "replicas")
    rewrite(file, pq.read_table(file).drop_columns(["end"]))
    with pytest.raises(HistoryFileError, match=f"{file.name}: the column end of the table replicas is missing"):
        read(history, "replicas")


def test_a_column_of_another_type_is_named(history: Path) -> None:
    file = the_file(history, "replicas")
    rows = pq.read_table(file)
    place = rows.schema.get_field_index("size")
    rewrite(file, rows.set_column(place, "size", rows["size"].cast(pa.string())))
    with pytest.raises(HistoryFileError, match="the column size of the table replicas is string, not int64"):
        read(history, "replicas")


def test_a_new_column_is_null_in_an_older_file(history: Path) -> None:
    file = the_file(history, "replicas")
    before = read(history, "replicas")
    rewrite(file, pq.read_table(file).drop_columns(["end"]), version=0)
    after = read(history, "replicas")
    assert after["end"].null_count == before.num_rows
    assert after.schema == before.schema
    assert after.drop_columns(["end"]) == before.drop_columns(["end"])


def test_a_new_field_of_a_structure_has_its_default_in_an_older_file(history: Path) -> None:
    """In structures in lists, too. In a file of this version it is an error."""
    file = the_file(history, "brokers")
    rows = pq.read_table(file)
    place, kind = rows.schema.get_field_index("log_dirs"), rows.schema.field("log_dirs").type.value_type
    old = pa.list_(pa.struct([field for field in kind if field.name != "cordoned"]))
    cut = [
        each and [{name: value for name, value in one.items() if name != "cordoned"} for one in each]
        for each in rows["log_dirs"].to_pylist()
    ]
    rows = rows.set_column(place, pa.field("log_dirs", old), pa.array(cut, old))
    rewrite(file, rows, version=0)
    assert {directory.cordoned for poll in polls(history) for directory in snapshot_of(poll).log_dirs} == {False}
    rewrite(file, rows)
    with pytest.raises(HistoryFileError, match="the column log_dirs of the table brokers is list"):
        read(history, "brokers")


def test_a_newer_version_is_refused(history: Path) -> None:
    file = the_file(history, "polls")
    rewrite(file, pq.read_table(file), version=VERSION + 1)
    with pytest.raises(HistoryFileError, match=rf"{file.name}: its tables are of version {VERSION + 1}, .* update"):
        list(polls(history))


@pytest.mark.parametrize("metadata", [{}, metadata_of(BY_NAME["moves"]), {VERSION_KEY: b"one"}])
def test_another_parquet_file_is_named(history: Path, metadata: dict[bytes, bytes]) -> None:
    file = the_file(history, "polls")
    put(file, pa.table({"x": [1]}), metadata)
    with pytest.raises(HistoryFileError, match=f"{file.name}: not a file of the table polls"):
        read(history, "polls")


def test_a_file_without_rows_is_no_error(history: Path) -> None:
    file = the_file(history, "polls")
    before = read(history, "polls")
    empty = file.with_name(file.name.replace("kafka-warden", "kafka-warden-empty"))
    rewrite(empty, schema_of(BY_NAME["polls"]).empty_table())
    assert read(history, "polls") == before


def test_other_files_are_ignored(history: Path) -> None:
    file = the_file(history, "polls")
    file.with_name(f".{file.name}").write_bytes(b"half")
    file.with_name(f".{file.name}.tmp").write_bytes(b"half")
    (history / "polls" / "notes.parquet").write_bytes(b"mine")
    (history / "polls" / "date=2026-99-99" / "hour=00").mkdir(parents=True)
    (history / "polls" / "date=2026-99-99" / "hour=00" / "x.parquet").write_bytes(b"mine")
    assert len(list(polls(history))) == len(scene_polls())
