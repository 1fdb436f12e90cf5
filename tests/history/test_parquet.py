"""Files of history: whole ones only, by the hour, read back as they were, whatever the clock and the disk do."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from kafka_warden.errors import SinkFullError
from kafka_warden.history.column import Table
from kafka_warden.history.parquet import folder as folder_module
from kafka_warden.history.parquet import sink as sink_module
from kafka_warden.history.parquet.arrow import to_arrow
from kafka_warden.history.parquet.folder import Folder
from kafka_warden.history.parquet.reader import polls as read_polls
from kafka_warden.history.parquet.reader import read
from kafka_warden.history.parquet.sink import ParquetSettings, ParquetSink
from kafka_warden.history.poll import Poll
from kafka_warden.history.schema import BY_NAME, TABLES, Built, build, columns_of
from kafka_warden.model import Parameters, QuotaEntity, Snapshot
from tests.building import EPOCH, Partition, snapshot
from tests.history.anything import histories
from tests.history.places import NOON, hidden, visible, write
from tests.history.replay import differences, in_order_of, polls, replay, rows, scene_polls, written
from tests.support.small_disks import need_mount

ROOT = Path(__file__).parents[2]
SMALL_DISK = "8m"
REAL_RESERVE = folder_module.RESERVE


def at(time_: float, clock: float) -> Poll:
    """A poll at a Unix time, of a cluster with one partition."""
    return polls([snapshot({"t": [Partition(end=int(clock))]}, clock=clock, time=time_)])[0]


def sequence(*times: tuple[float, float]) -> list[Poll]:
    """Polls of one process at Unix times, each with its monotonic time."""
    return [replace(at(time_, clock), sequence=number) for number, (time_, clock) in enumerate(times)]


def test_the_scene_comes_back_from_its_files(tmp_path: Path) -> None:
    """Snapshot to rows to files to rows: every value is the same, and judged again so is every verdict."""
    kept = [rows(poll) for poll in scene_polls()]
    sink = write(tmp_path, scene_polls())
    found = list(read_polls(tmp_path))

    assert len(found) == len(kept)
    for before, after, again in zip(kept, found, replay(found), strict=True):
        assert differences(before, written(after)) == []
        assert differences(before, rows(again)) == []
    assert sink.stats.status().rows == sum(len(columns["time"]) for tables in kept for columns in tables.values())
    assert (sink.stats.status().dropped, sink.stats.status().up) == ({}, True)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(histories())
def test_anything_comes_back_from_its_files(tmp_path_factory: pytest.TempPathFactory, history: list[Snapshot]) -> None:
    """So does any mixture of the known and the unknown."""
    folder = tmp_path_factory.mktemp("history")
    judged = polls([replace(seen, time=EPOCH + seen.clock) for seen in history], Parameters())
    write(folder, judged)
    for poll, again in zip(judged, replay(read_polls(folder)), strict=True):
        before = rows(poll)
        assert differences(before, in_order_of(before, rows(again))) == []


def test_a_file_tells_what_it_is(tmp_path: Path) -> None:
    """Every table that has rows has one file with zstd, its name and version; types are those of the schema."""
    write(tmp_path, scene_polls()[:1])
    for table in TABLES:
        files = list((tmp_path / table.name).rglob("*.parquet"))
        assert len(files) == bool(build(table, scene_polls()[0]).rows)
        for file in files:
            metadata = pq.ParquetFile(file).metadata
            assert metadata.row_group(0).column(0).compression == "ZSTD"
            assert metadata.metadata[b"kafka_warden.table"] == table.name.encode()
            assert pq.ParquetFile(file).schema_arrow.names == [column.name for column in columns_of(table)]


def test_one_file_an_hour(tmp_path: Path) -> None:
    """Rows of an hour are one file, and none is there before the hour is over."""
    sink = ParquetSink(ParquetSettings(tmp_path))
    for poll in sequence(*((NOON + second, second - 1200) for second in range(1200, 3600, 400))):
        sink.write(poll)
        assert visible(tmp_path) == []
    sink.write(replace(at(NOON + 3600, 2400), sequence=6))

    hour = time.strftime("date=%Y-%m-%d/hour=%H", time.gmtime(NOON))
    assert visible(tmp_path) == [
        f"{table}/{hour}" for table in ("brokers", "configs", "partitions", "polls", "replicas")
    ]
    sink.close(float("inf"))
    assert len(visible(tmp_path, "polls")) == 2
    assert [read(tmp_path, "polls", NOON + 3600 * hour, NOON + 3600 * (hour + 1)).num_rows for hour in (0, 1)] == [6, 1]


def test_files_come_sooner_when_that_is_asked_for(tmp_path: Path) -> None:
    """`roll` seconds of the monotonic clock are enough, and so are many rows; neither is a file over two hours."""
    sink = ParquetSink(ParquetSettings(tmp_path / "time", roll=60.0))
    found = []
    for poll in sequence((NOON, 0), (NOON + 50, 50), (NOON + 60, 60), (NOON + 70, 70)):
        sink.write(poll)
        found.append(len(visible(tmp_path / "time", "polls")))
    assert found == [0, 0, 1, 1]

    sink = ParquetSink(ParquetSettings(tmp_path / "rows", file_rows=6))
    for poll in sequence((NOON, 0), (NOON + 1, 1)):
        sink.write(poll)
    assert {place.partition("/")[0] for place in visible(tmp_path / "rows")} == {"brokers", "replicas"}


def test_files_come_while_no_poll_does(tmp_path: Path) -> None:
    """A cluster that nobody answers for leaves rows behind in no memory for longer than `roll`."""
    ticks = [59.0, 60.0]
    sink = ParquetSink(ParquetSettings(tmp_path, roll=60.0), clock=lambda: ticks.pop(0))
    sink.write(at(NOON, 0))
    sink.idle()
    assert visible(tmp_path) == []
    sink.idle()
    assert len(visible(tmp_path, "polls")) == 1
    sink.idle()


def test_a_clock_that_jumps_mixes_no_hours(tmp_path: Path) -> None:
    """Back an hour, ahead a year, and on: every row is in the folder of its own hour, and none is lost."""
    jumps = [(NOON, 0.0), (NOON - 3600, 10.0), (NOON + 366 * 86_400, 20.0), (NOON + 30, 30.0)]
    sink = write(tmp_path, sequence(*jumps))
    assert sorted(read(tmp_path, "polls")["time"].to_pylist()) == sorted(time_ for time_, _ in jumps)
    for time_, _ in jumps:
        hour = time_ - time_ % 3600
        assert time_ in read(tmp_path, "polls", hour, hour + 1800)["time"].to_pylist()
    assert sink.stats.status().dropped == {}
    assert [tables["polls"]["clock"] for tables in read_polls(tmp_path)] == [[0.0], [10.0], [20.0], [30.0]]


def test_old_files_go_and_nothing_else_does(tmp_path: Path) -> None:
    """Files of hours that are past the retention go with their folders; what somebody else put there stays."""
    write(tmp_path, sequence((NOON - 3 * 86_400, 0), (NOON - 2 * 86_400, 1)))
    old = min((tmp_path / "polls").rglob("*.parquet"))
    others = [
        old.with_name("mine.parquet"),
        old.with_name(f"{old.name}.bak"),
        tmp_path / "polls" / "date=2020-01-01" / "notes.txt",
        tmp_path / "elsewhere" / "date=2020-01-01" / "hour=00" / old.name,
        tmp_path / "polls" / "date=nonsense" / "hour=00" / old.name,
        tmp_path / "polls" / "date=2020-13-99" / "hour=00" / old.name,
    ]
    for other in others:
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_text("not ours")
    outside = tmp_path.with_name("outside")
    (outside / "hour=00").mkdir(parents=True)
    (outside / "hour=00" / old.name).write_text("beyond a link")
    (tmp_path / "polls" / "date=2020-01-02").symlink_to(outside)

    write(tmp_path, sequence((NOON, 0)), retention=1800.0)
    assert not old.exists()
    assert all(other.read_text() == "not ours" for other in others)
    assert (outside / "hour=00" / old.name).exists()
    assert read(tmp_path, "replicas")["time"].unique().to_pylist() == [NOON - 2 * 86_400, NOON]
    assert not (tmp_path / "replicas" / old.parts[-3]).exists()


YEAR = 366 * 86_400


def hourly(path: Path, *numbers: int, **settings: float) -> None:
    """Let one process write a poll in each of these hours after noon."""
    write(path, sequence(*((NOON + 3600 * number, 3600.0 * place) for place, number in enumerate(numbers))), **settings)


def kept(path: Path) -> list[float]:
    """Hours after noon that are in the files."""
    return sorted((time_ - NOON) / 3600 for time_ in read(path, "polls")["time"].to_pylist())


def test_a_clock_that_is_wrong_at_the_start_makes_nothing_old(tmp_path: Path) -> None:
    """A year ahead or back, once or with every start: a start deletes no more than the hour that it adds.

    Once the clock is right what was written under the wrong one is not counted, and right hours are kept in full.
    """
    later, before = YEAR // 3600, -YEAR // 3600
    hourly(tmp_path, *range(6), retention=6 * 3600.0)
    hourly(tmp_path, later, retention=6 * 3600.0)
    assert kept(tmp_path) == [*range(6), later]
    for _ in range(3):
        hourly(tmp_path, later, retention=6 * 3600.0)
    assert sorted(set(kept(tmp_path))) == [*range(1, 6), later]
    hourly(tmp_path, before, retention=6 * 3600.0)
    assert sorted(set(kept(tmp_path))) == [before, *range(1, 6), later]
    hourly(tmp_path, *range(6, 10), retention=6 * 3600.0)
    assert sorted(set(kept(tmp_path))) == [*range(3, 10), later]


def test_a_clock_that_jumps_ahead_makes_nothing_old(tmp_path: Path) -> None:
    """While a process runs, too."""
    hourly(tmp_path, *range(6), YEAR // 3600, YEAR // 3600 + 1, 6, retention=6 * 3600.0)
    assert [hour for hour in kept(tmp_path) if hour < 100] == [1, 2, 3, 4, 5, 6]


def test_files_of_a_folder_that_was_idle_go_as_new_ones_come(tmp_path: Path) -> None:
    """Nothing goes because nobody wrote for a month; the oldest hour goes for each that is added."""
    hourly(tmp_path, *range(6), retention=6 * 3600.0)
    hourly(tmp_path, 720, retention=6 * 3600.0)
    assert kept(tmp_path) == [*range(6), 720]
    hourly(tmp_path, 721, 722, 723, retention=6 * 3600.0)
    assert kept(tmp_path) == [3, 4, 5, 720, 721, 722, 723]


def test_a_disk_that_history_fills_gets_room_with_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hours that were polled count, although no file could be written; else it would be full for ever."""

    def full(folder: Folder) -> None:
        if len(visible(tmp_path, "polls")) > 3:
            raise SinkFullError(f"{folder.path}: no room")

    hourly(tmp_path, *range(4), retention=6 * 3600.0)
    monkeypatch.setattr(Folder, "_check_room", full)
    sink = ParquetSink(ParquetSettings(tmp_path, retention=6 * 3600.0, most_rows=20))
    for number in range(4, 8):
        sink.write(replace(at(NOON + 3600 * number, 3600.0 * number), sequence=number))
    assert kept(tmp_path) == [1, 2, 3]
    assert not sink.stats.status().up
    sink.write(replace(at(NOON + 3600 * 8, 3600.0 * 8), sequence=8))
    assert sink.stats.status().up
    assert max(kept(tmp_path)) == 7
    sink.close(float("inf"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a megabyte. That takes root, as real clusters with full disks do."""
    need_mount(tmp_path)
    path = tmp_path / "small"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "small", str(path)], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", str(path)], check=True)


@pytest.mark.parametrize("reserve", [0, REAL_RESERVE])
def test_a_full_disk_loses_history_and_nothing_else(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch, reserve: int
) -> None:
    """While a real disk is full rows are kept, then lost and counted; every file opens; with room it goes on."""
    monkeypatch.setattr(folder_module, "RESERVE", reserve)
    sink = ParquetSink(ParquetSettings(small_disk, roll=1.0, most_rows=200))
    judged = [replace(at(NOON + second, float(second)), sequence=second) for second in range(40)]
    for poll in judged[:5]:
        sink.write(poll)
    assert sink.stats.status().up
    filler = small_disk / "filler"
    _fill(filler)
    for poll in judged[5:30]:
        sink.write(poll)
    down = sink.stats.status()
    assert (down.up, set(down.dropped)) == (False, {"disk_full"})
    assert down.dropped["disk_full"] > 0
    assert hidden(small_disk) == []

    filler.unlink()
    for poll in judged[30:]:
        sink.write(poll)
    sink.close(float("inf"))
    status = sink.stats.status()
    assert (status.up, status.dropped) == (True, down.dropped)
    found = {name.name: read(small_disk, name.name).num_rows for name in TABLES}
    assert sum(found.values()) == status.rows
    assert status.rows + status.dropped["disk_full"] == sum(
        build(table, poll).rows for table in TABLES for poll in judged
    )
    assert found["polls"] > 10


def _fill(filler: Path) -> None:
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass


def test_a_folder_that_cannot_be_written_is_tried_again(tmp_path: Path) -> None:
    """A file stands where the folder should be; once it is gone everything that was kept is written."""
    path = tmp_path / "history"
    path.write_text("in the way")
    sink = ParquetSink(ParquetSettings(path, roll=1.0))
    for poll in sequence((NOON, 0), (NOON + 1, 1), (NOON + 2, 2)):
        sink.write(poll)
    assert (sink.stats.status().up, sink.stats.status().dropped) == (False, {})
    path.unlink()
    sink.write(replace(at(NOON + 3, 3), sequence=3))
    sink.close(float("inf"))
    assert sink.stats.status().up
    assert read(path, "polls")["sequence"].to_pylist() == [0, 1, 2, 3]


def test_a_folder_that_is_taken_away_is_made_again(tmp_path: Path) -> None:
    """Somebody moves the folder aside while the sidecar runs."""
    path = tmp_path / "history"
    sink = ParquetSink(ParquetSettings(path, roll=1.0))
    sink.write(sequence((NOON, 0))[0])
    path.rename(tmp_path / "aside")
    for poll in sequence((NOON, 0), (NOON + 1, 1), (NOON + 2, 2))[1:]:
        sink.write(poll)
    sink.close(float("inf"))
    assert read(path, "polls")["sequence"].to_pylist() == [0, 1, 2]


def test_what_cannot_be_written_at_the_end_is_counted(tmp_path: Path) -> None:
    """A process that stops with rows in its hands says how many."""
    path = tmp_path / "history"
    path.write_text("in the way")
    judged = sequence((NOON, 0))
    sink = write(path, judged)
    assert sink.stats.status().dropped == {"stopped": sum(build(table, judged[0]).rows for table in TABLES)}


def test_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    """The second one says so, keeps its rows, and takes over when the first one ends."""
    first, second = (ParquetSink(ParquetSettings(tmp_path, roll=1.0)) for _ in range(2))
    first.write(at(NOON, 0))
    second.write(replace(at(NOON, 0), run="bbb"))
    assert (first.stats.status().up, second.stats.status().up) == (True, False)
    first.close(float("inf"))
    second.write(replace(at(NOON + 1, 1), run="bbb", sequence=1))
    second.close(float("inf"))
    assert sorted(zip(*(read(tmp_path, "polls")[name].to_pylist() for name in ("run", "sequence")), strict=True)) == [
        ("bbb", 0),
        ("bbb", 1),
        ("run", 0),
    ]


def counted(judged: list[Poll], *names: str) -> int:
    """Rows of some tables in some polls; of all where no name is given."""
    return sum(build(table, poll).rows for table in TABLES for poll in judged if table.name in names or not names)


def test_a_poll_that_cannot_be_made_is_lost_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that nobody thought of, in a late table: no row of that poll is kept, and due files go out."""
    sink = ParquetSink(ParquetSettings(tmp_path, roll=1.0))
    judged = sequence((NOON, 0), (NOON + 10, 10), (NOON + 20, 20))
    real = build

    def fails(table: Table[Any], poll: Poll) -> Built:
        if (table.name, poll.sequence) == ("polls", 1):
            raise ZeroDivisionError
        return real(table, poll)

    monkeypatch.setattr(sink_module, "build", fails)
    sink.write(judged[0])
    with pytest.raises(ZeroDivisionError):
        sink.write(judged[1])
    assert read(tmp_path, "replicas")["sequence"].unique().to_pylist() == [0]
    sink.write(judged[2])
    sink.close(float("inf"))
    assert sink.stats.status().rows == counted([judged[0], judged[2]])
    for table in ("replicas", "polls"):
        assert read(tmp_path, table)["sequence"].unique().to_pylist() == [0, 2]


def test_a_file_that_cannot_be_made_holds_back_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows are lost and counted once; every other row of the same polls is written, and nothing stays in memory."""
    sink = ParquetSink(ParquetSettings(tmp_path, roll=1.0))
    judged = sequence((NOON, 0), (NOON + 10, 10), (NOON + 20, 20))
    real, calls = sink_module.encode, list[str]()

    def fails(table: Table[Any], parts: list[Any]) -> Any:
        calls.append(table.name)
        if table.name == "replicas" and calls.count("replicas") == 1:
            raise MemoryError
        return real(table, parts)

    monkeypatch.setattr(sink_module, "encode", fails)
    for poll in judged:
        sink.write(poll)
    sink.close(float("inf"))
    status = sink.stats.status()
    assert status.dropped == {"error": counted(judged[:1], "replicas")}
    assert status.rows == counted(judged) - counted(judged[:1], "replicas")
    assert read(tmp_path, "replicas")["sequence"].unique().to_pylist() == [1, 2]
    assert calls.count("replicas") == len(judged)


def test_errors_that_nobody_thought_of_keep_memory_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are kept up to the bound, each lost one is counted, and writing goes on when the error is gone."""
    sink = ParquetSink(ParquetSettings(tmp_path, roll=1.0, most_rows=30))
    judged = sequence(*((NOON + 10 * number, 10.0 * number) for number in range(20)))

    def fails(_: Folder) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setattr(Folder, "check", fails)
        for poll in judged[:-1]:
            sink.write(poll)
    lost = sink.stats.status()
    assert (lost.up, set(lost.dropped)) == (False, {"error"})
    assert counted(judged[:-1]) - lost.dropped["error"] <= 30
    sink.write(judged[-1])
    sink.close(float("inf"))
    assert sink.stats.status().dropped == lost.dropped
    assert sink.stats.status().rows + lost.dropped["error"] == counted(judged)


@pytest.mark.parametrize("moved", [False, True])
def test_who_does_not_hold_the_folder_deletes_nothing(tmp_path: Path, moved: bool) -> None:
    """A second sidecar with a shorter retention leaves the owner's files and leftovers alone, until it takes over.

    Nor does a lock count that somebody moved aside together with its folder.
    """
    path = tmp_path / "history"
    write(path, sequence((NOON - 5 * 3600, 0), (NOON - 4 * 3600, 1)))
    second = ParquetSink(ParquetSettings(path, roll=1.0, retention=3600.0))
    if moved:
        other = tmp_path / "other"
        other.mkdir()
        second = ParquetSink(ParquetSettings(other, roll=1.0, retention=3600.0))
        second.write(replace(at(NOON - 3600, 1), run="bbb"))
        other.rename(tmp_path / "aside")
        path.rename(other)
        path = other
    first = ParquetSink(ParquetSettings(path, roll=1.0))
    first.write(replace(at(NOON, 0), sequence=2))
    leftover = path / "polls" / "date=2020-01-01" / "hour=00" / ".kafka-warden-a-0-1.parquet.tmp"
    leftover.parent.mkdir(parents=True)
    leftover.write_text("half")
    kept = visible(path)

    second.write(replace(at(NOON, 2), run="bbb", sequence=1))
    assert second.stats.status().up is False
    assert visible(path) == kept
    assert leftover.exists()
    first.close(float("inf"))
    second.write(replace(at(NOON + 1, 3), run="bbb", sequence=2))
    second.close(float("inf"))
    assert not leftover.exists()


KILLED = """
import os, sys
from pathlib import Path
from kafka_warden.history.parquet.folder import Folder

folder = Folder(Path(sys.argv[1]))
folder.check()
folder.write("polls", 0, "kafka-warden-0-0-1.parquet", b"whole")

def halfway(handle):
    print("halfway", flush=True)
    sys.stdin.read()
os.fsync = halfway
folder.write("polls", 0, "kafka-warden-0-0-2.parquet", b"half")
"""


def test_a_killed_process_leaves_no_half_file(tmp_path: Path) -> None:
    """SIGKILL in the middle of a file: readers do not see it, and the next process clears it away."""
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"halfway\n"
        assert [file.read_bytes() for file in hidden(tmp_path)] == [b"half"]
        process.send_signal(signal.SIGKILL)
    assert len(visible(tmp_path)) == 1
    other = next(iter(hidden(tmp_path))).with_name(".somebody-else.tmp")
    other.write_text("stays")

    Folder(tmp_path).check()
    assert hidden(tmp_path) == [other]
    assert len(visible(tmp_path)) == 1


@pytest.mark.parametrize("refused", [False, True])
def test_a_file_outlives_a_crash_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: bool) -> None:
    """Flushed are the names of folders that are made for it, then its bytes, then its name once it has it.

    A file system that flushes no folders has its files nevertheless.
    """
    flushed: list[tuple[str, bool]] = []
    name = "kafka-warden-0-0-{}.parquet"

    def fsync(handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        flushed.append((str(path.relative_to(tmp_path)), any(path.glob("*.parquet"))))
        if refused and path.is_dir():
            raise OSError(errno.EINVAL, "Invalid argument")

    folder = Folder(tmp_path)
    folder.check()
    monkeypatch.setattr(os, "fsync", fsync)
    folder.write("polls", 0, name.format(1), b"whole")
    hour = "polls/date=1970-01-01/hour=00"
    assert flushed == [
        (".", False),
        ("polls", False),
        ("polls/date=1970-01-01", False),
        (f"{hour}/.{name.format(1)}.tmp", False),
        (hour, True),
    ]
    folder.write("polls", 0, name.format(2), b"whole")
    assert flushed[5:] == [(f"{hour}/.{name.format(2)}.tmp", False), (hour, True)]
    assert len(visible(tmp_path)) == 2
    folder.close()


def test_names_that_utf8_cannot_write_do_not_stop_history(tmp_path: Path) -> None:
    """A lone surrogate in a name costs that name its spelling, as on the page."""
    seen = snapshot({"t": [Partition()]}, quotas=(QuotaEntity("a\ud800", None, {"\udc00": 1.0}),))
    write(tmp_path, polls([seen]))
    found = read(tmp_path, "quotas").to_pydict()
    assert (found["user"], found["values"]) == ([r"a\ud800"], [[(r"\udc00", 1.0)]])


def test_columns_keep_their_types_in_files(tmp_path: Path) -> None:
    """Texts are texts for every reader, not codes of this one: Spark knows no dictionary."""
    write(tmp_path, scene_polls())
    file = min((tmp_path / "replicas").rglob("*.parquet"))
    types = {field.name: str(field.type) for field in pq.ParquetFile(file).schema_arrow}
    assert {types[name] for name in ("topic", "topic_id", "state", "run")} == {"string"}
    assert (types["schema_version"], types["time"], types["sequence"]) == ("int32", "double", "int64")
    assert BY_NAME["replicas"].key == ("topic", "topic_id", "partition", "broker")


def test_the_folder_is_not_left_locked(tmp_path: Path) -> None:
    """A sink that was closed lets another process of the same user go on at once."""
    write(tmp_path, scene_polls()[:1])
    code = "import sys; from pathlib import Path; from kafka_warden.history.parquet.folder import Folder; "
    code += "Folder(Path(sys.argv[1])).check()"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, cwd=ROOT, env=dict(os.environ))


GROWTH = """
import resource, sys
from pathlib import Path
from kafka_warden.history.parquet.arrow import to_arrow
from kafka_warden.history.parquet.sink import ParquetSettings, ParquetSink
from kafka_warden.history.schema import TABLES, build
from tests.history.test_parquet import small_cluster

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

judged = small_cluster(256)
sink = ParquetSink(ParquetSettings(Path(sys.argv[1])))
for poll in judged[:64]:
    sink.write(poll)
before = resident()
for poll in judged[64:]:
    sink.write(poll)
print((resident() - before) / 192, sum(to_arrow(build(table, judged[0])).nbytes for table in TABLES))
"""


def small_cluster(count: int) -> list[Poll]:
    """Polls, one second apart, of a cluster with 60 partitions of three replicas."""
    return polls(
        snapshot(
            {"t": [Partition(end=1000 * row + 37 * n, lag={2: (n * row) % 7}) for row in range(60)]},
            clock=float(n),
            time=NOON + n,
        )
        for n in range(count)
    )


def test_rows_in_memory_are_compact(tmp_path: Path) -> None:
    """Until the hour is over, a poll adds less memory than half the size of its rows in Arrow."""
    command = [sys.executable, "-c", GROWTH, str(tmp_path)]
    grown, held = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True).stdout.split()
    assert float(grown) < int(held) / 2


def test_files_do_not_depend_on_blocks(tmp_path: Path) -> None:
    """A file of many polls is equal, byte by byte, to one that is made of all rows at once."""
    judged = [replace(poll, sequence=n) for n, poll in enumerate(scene_polls() * 5)]
    assert len(judged) > 2 * sink_module.BLOCK_POLLS
    write(tmp_path, judged)
    for table in TABLES:
        parts = [part for poll in judged if (part := to_arrow(build(table, poll))).num_rows]
        expected = [sink_module.encode(table, parts).to_pybytes()] if parts else []
        assert [file.read_bytes() for file in (tmp_path / table.name).rglob("*.parquet")] == expected
