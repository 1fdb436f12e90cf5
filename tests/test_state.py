"""The state file: replaced as a whole, and never a reason to fail."""

import errno
import json
import os
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from kafka_warden.state import StateFile

DOCUMENT = {"format": 1, "replicas": [1, 2]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kafka-warden.state"


def test_what_is_saved_is_loaded(file: Path) -> None:
    state = StateFile(file)
    state.save({"format": 0})
    state.save(DOCUMENT)
    assert StateFile(file).load() == DOCUMENT
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_missing_file_is_a_first_start(file: Path) -> None:
    with capture_logs() as logs:
        assert StateFile(file).load() is None
    assert logs == []


def test_a_fifo_is_not_a_state(file: Path) -> None:
    os.mkfifo(file)
    with capture_logs() as logs:
        state = StateFile(file)
        assert state.load() is None
        state.save(DOCUMENT)
    assert [entry["why"] for entry in logs] == ["not a regular file"] * 2
    assert file.is_fifo()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\x80",
        b'{"a": 1',
        b"[" * 100_000,
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": -1e300}',
        b'{"a": 9223372036854775808}',
        b'{"a": %s}' % (b"9" * 5000),
        b'{"a": [%s[]]}' % (b"[]," * 1000),
    ],
    ids=["empty", "half", "list", "raw", "cut", "deep", "nan", "infinity", "inf", "far", "wide", "digits", "lists"],
)
def test_a_damaged_file_costs_one_warning(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with capture_logs() as logs:
        assert StateFile(file).load() is None
    assert [entry["log_level"] for entry in logs] == ["warning"]
    assert file.read_bytes() == content
    StateFile(file).save(DOCUMENT)
    assert json.loads(file.read_bytes()) == DOCUMENT


def test_a_directory_in_its_place_costs_one_warning_each_way(file: Path) -> None:
    file.mkdir()
    state = StateFile(file)
    with capture_logs() as logs:
        assert state.load() is None
        state.save(DOCUMENT)
        state.save(DOCUMENT)
        file.rmdir()
        state.save(DOCUMENT)
    assert [entry["log_level"] for entry in logs] == ["warning", "warning", "info"]
    assert state.load() == DOCUMENT
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_missing_directory_is_said(tmp_path: Path) -> None:
    with capture_logs() as logs:
        StateFile(tmp_path / "nowhere" / "state").save(DOCUMENT)
    assert [entry["event"] for entry in logs] == ["the state file cannot be written"]


def test_others_may_not_read_it(file: Path) -> None:
    StateFile(file).save(DOCUMENT)
    assert file.stat().st_mode & 0o077 == 0


def test_a_value_that_json_has_not_is_said_and_leaves_the_old_file(file: Path) -> None:
    state = StateFile(file)
    state.save(DOCUMENT)
    with capture_logs() as logs:
        state.save({"format": float("nan")})
    assert [entry["log_level"] for entry in logs] == ["warning"]
    assert state.load() == DOCUMENT


def test_a_planted_link_is_not_followed(file: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    victim = tmp_path_factory.mktemp("elsewhere") / "victim"
    victim.write_text("precious")
    file.with_name(f".{file.name}.{os.getpid()}").symlink_to(victim)
    names: set[str] = set()
    for _ in range(3):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(os, "fsync", lambda _: names.update(path.name for path in file.parent.glob("*.tmp")))
            StateFile(file).save(DOCUMENT)
    assert victim.read_text() == "precious"
    assert len(names) == 3


def test_temporary_files_of_a_killed_process_are_removed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    StateFile(file).save(DOCUMENT)
    own = [file.with_name(f".{file.name}.{name}") for name in ("x3_kl8ab.tmp", "b7_kl8ab.tmp")]
    others = [
        file.with_name(name) for name in (f".{file.name}.backup", f".{file.name}.1234", ".other.state.x3_kl8ab.tmp")
    ]
    for path in (*own, *others):
        path.write_text("{")
    assert StateFile(file).load() == DOCUMENT
    assert sorted(file.parent.iterdir()) == sorted([file, *others])

    for path in own:
        path.write_text("{")
    unlink = Path.unlink

    def fail_once(path: Path) -> None:
        monkeypatch.setattr(Path, "unlink", unlink)
        raise PermissionError(path)

    monkeypatch.setattr(Path, "unlink", fail_once)
    assert StateFile(file).load() == DOCUMENT
    assert sum(path.exists() for path in own) == 1


def test_a_full_disk_leaves_the_old_file_and_no_other(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = StateFile(file)
    state.save(DOCUMENT)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with capture_logs() as logs:
        state.save({"format": 2})
    assert [entry["log_level"] for entry in logs] == ["warning"]
    assert state.load() == DOCUMENT
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("mode", [0o602, 0o666, 0o777])
def test_a_file_that_others_can_write_is_not_used(file: Path, mode: int) -> None:
    StateFile(file).save(DOCUMENT)
    file.chmod(mode)
    with capture_logs() as logs:
        assert StateFile(file).load() is None
    assert [entry["why"] for entry in logs] == [
        f"mode {mode:04o} lets other users write it; remove it, or run: chmod 600 {file}"
    ]
    StateFile(file).save(DOCUMENT)
    assert StateFile(file).load() == DOCUMENT


def test_the_own_group_may_write_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a volume of Kubernetes with `fsGroup`. A group of others may not."""
    StateFile(file).save(DOCUMENT)
    file.chmod(0o660)
    assert StateFile(file).load() == DOCUMENT
    monkeypatch.setattr(os, "getegid", lambda: file.stat().st_gid + 1)
    monkeypatch.setattr(os, "getgroups", list)
    assert StateFile(file).load() is None


def test_a_file_of_another_user_is_not_used(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its mode is: in a folder that others can write it may be planted."""
    StateFile(file).save(DOCUMENT)
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    with capture_logs() as logs:
        assert StateFile(file).load() is None
    assert [entry["why"] for entry in logs] == [f"it belongs to user {own}; remove it, or run: chown {own + 1} {file}"]


def test_no_file_is_written_that_would_not_be_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = StateFile(file)
    state.save(DOCUMENT)
    size = file.stat().st_size
    monkeypatch.setattr("kafka_warden.state.LARGEST", size)
    state.save(DOCUMENT)
    assert state.problem is None
    monkeypatch.setattr("kafka_warden.state.LARGEST", size - 1)
    with capture_logs() as logs:
        state.save(DOCUMENT)
        assert StateFile(file).load() is None
    assert [entry["why"] for entry in logs] == [f"it is larger than {size - 1} bytes"] * 2


def test_the_problem_stands_until_the_file_can_be_written(file: Path) -> None:
    state = StateFile(file)
    assert (state.saved, state.problem) == (False, None)
    file.mkdir()
    with capture_logs():
        state.save(DOCUMENT)
        assert state.saved
        assert str(state.problem).startswith(f"the state file {file} cannot be written: ")
        file.rmdir()
        state.save(DOCUMENT)
    assert (state.saved, state.problem) == (True, None)
