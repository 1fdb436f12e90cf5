"""History files: complete, one per hour, and read back unchanged, whatever the clock and the disk do."""

import errno
import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings

from kafka_warden.clock import monotonic
from kafka_warden.errors import SinkError, SinkReason
from kafka_warden.history.column import HistoryTable
from kafka_warden.history.parquet import folder as folder_module
from kafka_warden.history.parquet import sink as sink_module
from kafka_warden.history.parquet.arrow import to_arrow
from kafka_warden.history.parquet.folder import Folder
from kafka_warden.history.parquet.reader import polls as read_polls
from kafka_warden.history.parquet.reader import read
from kafka_warden.history.parquet.sink import ParquetSink
from kafka_warden.history.poll import Poll
from kafka_warden.history.schema import TABLES, Built, build, columns_of
from kafka_warden.model import Parameters, QuotaEntity, Snapshot
from tests.building import EPOCH, Partition, snapshot
from tests.history.anything import histories
from tests.history.places import NOON, hidden, visible, write
from tests.history.replay import differences, in_order_of, polls, replay, rows, scene_polls, written
from tests.support.small_disks import small_disk

ROOT = Path(__file__).parents[2]
SMALL_DISK = 8 * 1024
"""Kilobytes."""
REAL_RESERVE = folder_module.RESERVE


def at(time_: float, clock: float) -> Poll:
    return polls([snapshot({"t": [Partition(end=int(clock))]}, clock=clock, time=time_)])[0]


def sequence(*times: tuple[float, float]) -> list[Poll]:
    """Polls of one process at Unix times, each with its monotonic time."""
    return [replace(at(time_, clock), sequence=number) for number, (time_, clock) in enumerate(times)]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(histories())
@example([poll.snapshot for poll in scene_polls()])
def test_any_poll_is_restored_from_files(tmp_path_factory: pytest.TempPathFactory, history: list[Snapshot]) -> None:
    folder = tmp_path_factory.mktemp("history")
    evaluated = polls([replace(seen, time=EPOCH + seen.clock) for seen in history], Parameters())
    sink = write(folder, evaluated)
    found = list(read_polls(folder))
    for poll, after, again in zip(evaluated, found, replay(found), strict=True):
        before = rows(poll)
        assert differences(before, in_order_of(before, written(after))) == []
        assert differences(before, in_order_of(before, rows(again))) == []
    assert sink.stats.status().rows == counted(evaluated)
    assert (sink.stats.status().dropped, sink.stats.status().up) == ({}, True)


def test_a_file_has_its_table_and_version(tmp_path: Path) -> None:
    write(tmp_path, scene_polls()[:1])
    for table in TABLES:
        files = list((tmp_path / table.name).rglob("*.parquet"))
        assert len(files) == bool(build(table, scene_polls()[0]).rows)
        for file in files:
            metadata = pq.ParquetFile(file).metadata
            assert metadata.row_group(0).column(0).compression == "ZSTD"
            assert metadata.metadata[b"kafka_warden.table"] == table.name.encode()
            # Every reader reads dictionary columns as plain values.
            found = [(field.name, field.type) for field in pq.ParquetFile(file).schema_arrow]
            assert [name for name, _ in found] == [column.name for column in columns_of(table)]
            assert not any(pa.types.is_dictionary(kind) for _, kind in found)


def test_one_file_per_hour(tmp_path: Path) -> None:
    sink = ParquetSink(tmp_path)
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


def test_files_are_written_after_roll_and_file_rows(tmp_path: Path) -> None:
    sink = ParquetSink(tmp_path / "time", roll=60.0)
    found = []
    for poll in sequence((NOON, 0), (NOON + 50, 50), (NOON + 60, 60), (NOON + 70, 70)):
        sink.write(poll)
        found.append(len(visible(tmp_path / "time", "polls")))
    assert found == [0, 0, 1, 1]

    sink = ParquetSink(tmp_path / "rows", file_rows=6)
    for poll in sequence((NOON, 0), (NOON + 1, 1)):
        sink.write(poll)
    assert {place.partition("/")[0] for place in visible(tmp_path / "rows")} == {"brokers", "replicas"}


def test_files_are_written_without_new_polls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`roll` is measured on the clock of the polls, which counts the time in which the machine was suspended."""
    since_boot = 3600.0
    monkeypatch.setattr(time, "CLOCK_BOOTTIME", 7, raising=False)
    monkeypatch.setattr(time, "clock_gettime", lambda _: since_boot)
    sink = ParquetSink(tmp_path, roll=60.0)
    sink.write(at(NOON, monotonic()))
    for seconds, files in ((59.0, 0), (1.0, 1), (60.0, 1)):
        since_boot += seconds
        sink.idle()
        assert len(visible(tmp_path, "polls")) == files


def test_a_file_has_one_hour_if_the_clock_jumps(tmp_path: Path) -> None:
    jumps = [(NOON, 0.0), (NOON - 3600, 10.0), (NOON + 366 * 86_400, 20.0), (NOON + 30, 30.0)]
    sink = write(tmp_path, sequence(*jumps))
    assert sorted(read(tmp_path, "polls")["time"].to_pylist()) == sorted(time_ for time_, _ in jumps)
    for time_, _ in jumps:
        hour = time_ - time_ % 3600
        assert time_ in read(tmp_path, "polls", hour, hour + 1800)["time"].to_pylist()
    assert sink.stats.status().dropped == {}
    assert [tables["polls"]["clock"] for tables in read_polls(tmp_path)] == [[0.0], [10.0], [20.0], [30.0]]


def test_only_old_files_are_deleted(tmp_path: Path) -> None:
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
    write(path, sequence(*((NOON + 3600 * number, 3600.0 * place) for place, number in enumerate(numbers))), **settings)


def kept(path: Path) -> list[float]:
    return sorted((time_ - NOON) / 3600 for time_ in read(path, "polls")["time"].to_pylist())


def test_a_wrong_clock_at_the_start_keeps_files(tmp_path: Path) -> None:
    """With a clock a year ahead or back, once or at every start, a start deletes at most one hour: as many as it adds.

    When the clock is right again, hours in the future are not counted.
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


def test_a_clock_that_jumps_ahead_keeps_files(tmp_path: Path) -> None:
    hourly(tmp_path, *range(6), YEAR // 3600, YEAR // 3600 + 1, 6, retention=6 * 3600.0)
    assert [hour for hour in kept(tmp_path) if hour < 100] == [1, 2, 3, 4, 5, 6]


def test_retention_frees_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hours with polls count even if no file could be written; if not, the disk would stay full."""

    def full(folder: Folder) -> None:
        if len(visible(tmp_path, "polls")) > 3:
            raise SinkError(f"{folder.path}: no room", SinkReason.DISK_FULL)

    hourly(tmp_path, *range(4), retention=6 * 3600.0)
    monkeypatch.setattr(Folder, "_check_room", full)
    sink = ParquetSink(tmp_path, retention=6 * 3600.0, most_rows=20)
    for number in range(4, 8):
        sink.write(replace(at(NOON + 3600 * number, 3600.0 * number), sequence=number))
    assert kept(tmp_path) == [1, 2, 3]
    assert not sink.stats.status().up
    sink.write(replace(at(NOON + 3600 * 8, 3600.0 * 8), sequence=8))
    assert sink.stats.status().up
    assert max(kept(tmp_path)) == 7
    sink.close(float("inf"))


def test_an_hour_that_cannot_be_deleted_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is tried once an hour and logged once, with its place. Other old hours are deleted."""
    hourly(tmp_path, 0, 1)
    stuck = min((tmp_path / "polls").rglob("*.parquet")).parent
    clear, tries = folder_module._clear, list[Path]()

    def refuse(directory: Path, own: re.Pattern[str]) -> None:
        if (directory, own) == (stuck, folder_module.OWN):
            tries.append(directory)
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(directory))
        clear(directory, own)

    sink = ParquetSink(tmp_path, roll=1.0, retention=3600.0)
    polls_ = sequence(*((NOON + seconds, float(seconds)) for seconds in (7200, 7210, 10800, 10810, 14400)))
    with monkeypatch.context() as patched:
        patched.setattr(folder_module, "_clear", refuse)
        for poll in polls_[:4]:
            sink.write(poll)
            assert sink.stats.status().up
    assert len(tries) == 2
    assert {int(hour) for hour in kept(tmp_path)} == {0, 2, 3}
    printed = capsys.readouterr().out
    assert printed.count("old history files cannot be deleted") == printed.count(str(stuck)) == 1
    assert "history cannot be written" not in printed
    sink.write(polls_[4])
    assert not stuck.exists()
    sink.close(float("inf"))
    assert sink.stats.status().dropped == {}


@pytest.mark.parametrize("reserve", [0, REAL_RESERVE])
def test_a_full_disk_loses_only_new_rows(
    stack: ExitStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reserve: int
) -> None:
    disk = stack.enter_context(small_disk(tmp_path / "small", SMALL_DISK))
    monkeypatch.setattr(folder_module, "RESERVE", reserve)
    sink = ParquetSink(disk, roll=1.0, most_rows=200)
    evaluated = [replace(at(NOON + second, float(second)), sequence=second) for second in range(40)]
    for poll in evaluated[:5]:
        sink.write(poll)
    assert sink.stats.status().up
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    for poll in evaluated[5:30]:
        sink.write(poll)
    down = sink.stats.status()
    assert (down.up, set(down.dropped)) == (False, {"disk_full"})
    assert down.dropped["disk_full"] > 0
    assert hidden(disk) == []

    filler.unlink()
    for poll in evaluated[30:]:
        sink.write(poll)
    sink.close(float("inf"))
    status = sink.stats.status()
    assert (status.up, status.dropped) == (True, down.dropped)
    found = {name.name: read(disk, name.name).num_rows for name in TABLES}
    assert sum(found.values()) == status.rows
    assert status.rows + status.dropped["disk_full"] == counted(evaluated)
    assert found["polls"] > 10


@pytest.mark.parametrize(
    ("made", "umask", "folders", "files"),
    [
        (None, 0o000, 0o700, 0o600),
        (0o700, 0o022, 0o700, 0o600),
        (0o750, 0o022, 0o750, 0o640),
        (0o777, 0o000, 0o755, 0o644),
        (0o755, 0o077, 0o700, 0o600),
    ],
)
def test_only_readers_of_the_folder_can_read_history(
    tmp_path: Path, made: int | None, umask: int, folders: int, files: int
) -> None:
    """It names all topics. Without a folder that someone else made it is for its owner only."""
    path = tmp_path / "history"
    if made is not None:
        path.mkdir()
        path.chmod(made)
    before = os.umask(umask)
    try:
        folder = Folder(path)
        folder.check()
        folder.write("polls", 0, "kafka-warden-a-1-1.parquet", b"rows")
        folder.close()
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == (made or 0o700)
    below = [each for each in path.rglob("*") if each.name != folder_module.LOCK]
    assert {each.stat().st_mode & 0o777 for each in below if each.is_dir()} == {folders}
    assert [each.stat().st_mode & 0o777 for each in below if each.is_file()] == [files]


def test_a_moved_folder_is_created_again(tmp_path: Path) -> None:
    path = tmp_path / "history"
    sink = ParquetSink(path, roll=1.0)
    sink.write(sequence((NOON, 0))[0])
    path.rename(tmp_path / "aside")
    for poll in sequence((NOON, 0), (NOON + 1, 1), (NOON + 2, 2))[1:]:
        sink.write(poll)
    sink.close(float("inf"))
    assert read(path, "polls")["sequence"].to_pylist() == [0, 1, 2]


def test_rows_that_cannot_be_written_at_the_stop_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text("in the way")
    evaluated = sequence((NOON, 0))
    sink = write(path, evaluated)
    assert sink.stats.status().dropped == {"stopped": counted(evaluated)}


def test_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    first, second = (ParquetSink(tmp_path, roll=1.0) for _ in range(2))
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


@pytest.mark.parametrize("refusal", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: int) -> None:
    """Each poll tries again, and no descriptor stays open."""

    def refuse(*_: int) -> None:
        raise OSError(refusal, os.strerror(refusal))

    folder, before = Folder(tmp_path), len(list(Path("/proc/self/fd").iterdir()))
    with monkeypatch.context() as network:
        network.setattr(fcntl, "flock", refuse)
        for _ in range(3):
            with pytest.raises(SinkError, match="local disk") as raised:
                folder.check()
            assert raised.value.reason is SinkReason.NOT_WRITABLE
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    folder.check()
    folder.close()


def counted(evaluated: list[Poll], *names: str) -> int:
    """Number of rows of some tables in some polls; of all tables by default."""
    return sum(build(table, poll).rows for table in TABLES for poll in evaluated if table.name in names or not names)


def test_a_poll_that_cannot_be_converted_is_lost_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = ParquetSink(tmp_path, roll=1.0)
    evaluated = sequence((NOON, 0), (NOON + 10, 10), (NOON + 20, 20))
    real = build

    def fails(table: HistoryTable, poll: Poll) -> Built:
        if (table.name, poll.sequence) == ("polls", 1):
            raise ZeroDivisionError
        return real(table, poll)

    monkeypatch.setattr(sink_module, "build", fails)
    sink.write(evaluated[0])
    with pytest.raises(ZeroDivisionError):
        sink.write(evaluated[1])
    assert read(tmp_path, "replicas")["sequence"].unique().to_pylist() == [0]
    sink.write(evaluated[2])
    sink.close(float("inf"))
    assert sink.stats.status().rows == counted([evaluated[0], evaluated[2]])
    for table in ("replicas", "polls"):
        assert read(tmp_path, table)["sequence"].unique().to_pylist() == [0, 2]


def test_a_file_that_cannot_be_encoded_blocks_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated = sequence((NOON, 0), (NOON + 10, 10), (NOON + 20, 20))
    real, calls = sink_module.encode, list[str]()

    def fails(table: HistoryTable, parts: list[Any]) -> Any:
        calls.append(table.name)
        if table.name == "replicas" and calls.count("replicas") == 1:
            raise MemoryError
        return real(table, parts)

    monkeypatch.setattr(sink_module, "encode", fails)
    status = write(tmp_path, evaluated, roll=1.0).stats.status()
    assert status.dropped == {"error": counted(evaluated[:1], "replicas")}
    assert status.rows == counted(evaluated) - counted(evaluated[:1], "replicas")
    assert read(tmp_path, "replicas")["sequence"].unique().to_pylist() == [1, 2]
    assert calls.count("replicas") == len(evaluated)


def test_unexpected_errors_keep_memory_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = ParquetSink(tmp_path, roll=1.0, most_rows=30)
    evaluated = sequence(*((NOON + 10 * number, 10.0 * number) for number in range(20)))

    def fails(_: Folder) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setattr(Folder, "check", fails)
        for poll in evaluated[:-1]:
            sink.write(poll)
    lost = sink.stats.status()
    assert (lost.up, set(lost.dropped)) == (False, {"error"})
    assert counted(evaluated[:-1]) - lost.dropped["error"] <= 30
    sink.write(evaluated[-1])
    sink.close(float("inf"))
    assert sink.stats.status().dropped == lost.dropped
    assert sink.stats.status().rows + lost.dropped["error"] == counted(evaluated)


@pytest.mark.parametrize("moved", [False, True])
def test_a_process_without_the_lock_deletes_nothing(tmp_path: Path, moved: bool) -> None:
    """A second sidecar with a shorter retention deletes no files and no temporary files until it takes over.

    A lock that was moved together with its folder does not count.
    """
    path = tmp_path / "history"
    write(path, sequence((NOON - 5 * 3600, 0), (NOON - 4 * 3600, 1)))
    second = ParquetSink(path, roll=1.0, retention=3600.0)
    if moved:
        other = tmp_path / "other"
        other.mkdir()
        second = ParquetSink(other, roll=1.0, retention=3600.0)
        second.write(replace(at(NOON - 3600, 1), run="bbb"))
        other.rename(tmp_path / "aside")
        path.rename(other)
        path = other
    first = ParquetSink(path, roll=1.0)
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
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"halfway\n"
        assert [file.read_bytes() for file in hidden(tmp_path)] == [b"half"]
        process.send_signal(signal.SIGKILL)
    assert len(visible(tmp_path)) == 1
    other = next(iter(hidden(tmp_path))).with_name(".other.tmp")
    other.write_text("stays")

    Folder(tmp_path).check()
    assert hidden(tmp_path) == [other]
    assert len(visible(tmp_path)) == 1


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    """Neither one with the name of the temporary file nor one with that of the lock, which is an error."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path, name = tmp_path / "history", "kafka-warden-0-0-1.parquet"
    hour = path / "polls" / "date=1970-01-01" / "hour=00"
    hour.mkdir(parents=True)
    (hour / f".{name}.tmp").symlink_to(victim)
    folder = Folder(path)
    folder.write("polls", 0, name, b"whole")
    assert victim.read_text() == "precious"
    assert [(file.name, file.is_symlink(), file.read_bytes()) for file in hour.iterdir()] == [(name, False, b"whole")]

    (path / folder_module.LOCK).symlink_to(tmp_path / "missing")
    with pytest.raises(SinkError):
        folder.check()
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("refused", [False, True])
def test_a_file_survives_a_crash_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: bool) -> None:
    """New parent folders are flushed, then the content of the file, then its folder after the rename.

    If the file system cannot flush folders, the files are still written.
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


def test_lone_surrogates_are_escaped(tmp_path: Path) -> None:
    seen = snapshot({"t": [Partition()]}, quotas=(QuotaEntity("a\ud800", None, {"\udc00": 1.0}),))
    write(tmp_path, polls([seen]))
    found = read(tmp_path, "quotas").to_pydict()
    assert (found["user"], found["values"]) == ([r"a\ud800"], [[(r"\udc00", 1.0)]])


GROWTH = """
import resource, sys
from pathlib import Path
from kafka_warden.history.parquet.arrow import to_arrow
from kafka_warden.history.parquet.sink import ParquetSink
from kafka_warden.history.schema import TABLES, build
from tests.history.test_parquet import small_cluster

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

evaluated = small_cluster(256)
sink = ParquetSink(Path(sys.argv[1]))
for poll in evaluated[:64]:
    sink.write(poll)
before = resident()
for poll in evaluated[64:]:
    sink.write(poll)
print((resident() - before) / 192, sum(to_arrow(build(table, evaluated[0])).nbytes for table in TABLES))
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


def test_row_groups_have_few_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = next(table for table in TABLES if table.name == "partitions")
    rows = pa.concat_tables([to_arrow(build(table, poll)) for poll in small_cluster(6)])
    monkeypatch.setattr(sink_module, "GROUP_BYTES", rows.slice(0, 100).nbytes)
    file = tmp_path / "rows.parquet"
    file.write_bytes(sink_module.encode(table, (rows.slice(0, 60), rows.slice(60, 60), rows.slice(120))))
    found = pq.ParquetFile(file).metadata
    assert [found.row_group(group).num_rows for group in range(found.num_row_groups)] == [120, 240]
    assert pq.read_table(file)["partition"].to_pylist() == rows["partition"].to_pylist()


LOADED = """
import sys
from pathlib import Path
from kafka_warden.app import tune_interpreter
from tests.history.replay import scene_polls

tune_interpreter()
from kafka_warden.history.parquet.sink import ParquetSink, pa

sink = ParquetSink(Path(sys.argv[1]))
for poll in scene_polls():
    sink.write(poll)
sink.close(float("inf"))
print(pa.default_memory_pool().backend_name, *({"pyarrow.compute", "pyarrow.dataset"} & set(sys.modules)))
"""


def test_the_sidecar_loads_little_of_pyarrow(tmp_path: Path) -> None:
    """An allocator of its own takes up to 10 MB, and pyarrow.compute 3 MB."""
    # pyarrow imports pandas where it is installed, and pandas the rest of pyarrow.
    (tmp_path / "pandas.py").write_text("raise ImportError", encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-c", LOADED, str(tmp_path / "history")]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.stdout.split() == ["system"]
    assert len(visible(tmp_path / "history")) > 1


def test_files_do_not_depend_on_blocks(tmp_path: Path) -> None:
    evaluated = [replace(poll, sequence=n) for n, poll in enumerate(scene_polls() * 5)]
    assert len(evaluated) > 2 * sink_module.BLOCK_POLLS
    write(tmp_path, evaluated)
    for table in TABLES:
        parts = [part for poll in evaluated if (part := to_arrow(build(table, poll))).num_rows]
        expected = [sink_module.encode(table, parts).to_pybytes()] if parts else []
        assert [file.read_bytes() for file in (tmp_path / table.name).rglob("*.parquet")] == expected
