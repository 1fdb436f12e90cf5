"""The files of a plan: what is read, and what is written as a whole."""

import json
import os
from pathlib import Path

import pytest

from kafka_warden.errors import ConfigError, PlanError
from kafka_warden.planning import files
from kafka_warden.planning.files import read_targets, replace_file, write_rollback

GOOD = json.dumps({"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1]}]})


def test_only_a_regular_file_is_read(tmp_path: Path) -> None:
    """A device has no end, and a FIFO waits for its writer."""
    os.mkfifo(tmp_path / "fifo")
    for file in (tmp_path / "fifo", Path("/dev/zero")):
        with pytest.raises(PlanError, match="cannot read the file: not a regular file"):
            read_targets(file)
        with pytest.raises(ConfigError, match=r"cannot write .*: not a regular file"):
            write_rollback(file, GOOD)
        with pytest.raises(OSError, match="not a regular file"):
            replace_file(file, GOOD)


def test_a_large_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST", 1 << 20)
    (tmp_path / "move.json").write_text(" " * (1 << 20) + GOOD)
    with pytest.raises(PlanError, match=r"move\.json: larger than 1048576 bytes"):
        read_targets(tmp_path / "move.json")


def test_a_file_is_written_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "inbound.json"
    replace_file(file, "old")
    monkeypatch.setattr(os, "fsync", _disk_full)

    with pytest.raises(OSError, match="No space left"):
        replace_file(file, "new")
    with pytest.raises(ConfigError, match="No space left"):
        write_rollback(tmp_path / "back.json", GOOD)

    assert file.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["inbound.json"]


def _disk_full(_: int) -> None:
    raise OSError(28, "No space left on device")


def test_a_rollback_stays(tmp_path: Path) -> None:
    """The next run has the same one, or refuses: the file may be from before the move."""
    file = tmp_path / "back.json"
    write_rollback(file, GOOD)
    written = file.stat().st_mtime_ns
    write_rollback(file, GOOD)

    assert (file.read_text(), file.stat().st_mtime_ns) == (GOOD, written)
    assert file.stat().st_mode & 0o777 == 0o666 & ~_umask()
    with pytest.raises(ConfigError, match="has another assignment, perhaps the one before the move"):
        write_rollback(file, GOOD.replace("[1]", "[2]"))
    assert file.read_text() == GOOD


def _umask() -> int:
    found = os.umask(0o22)
    os.umask(found)
    return found
