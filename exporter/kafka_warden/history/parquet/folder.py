"""The history folder: one process at a time, whole files only. Only files of kafka-warden are deleted.

    partitions/date=2026-11-21/hour=17/kafka-warden-<run>-<sequence>-<part>.parquet

A file is written under a name that starts with a dot, which Spark and Arrow ignore, then flushed and renamed.

The history names all topics. Only the owner can read a folder that is made here. Who can read one that exists can read
what is written there.
"""

import contextlib
import datetime as dt
import errno
import fcntl
import os
import re
import stat
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from kafka_warden.errors import SinkError, SinkReason
from kafka_warden.history.schema import TABLES

RESERVE: Final = 16 << 20
"""Bytes left free on the disk, for the state file; at most a twentieth of the disk."""

LOCK: Final = ".kafka-warden.lock"
OWN: Final = re.compile(r"kafka-warden-[0-9a-z]+-\d+-\d+\.parquet")
LEFTOVER: Final = re.compile(rf"\.{OWN.pattern}\.tmp")
DATE: Final = re.compile(r"date=(\d{4}-\d\d-\d\d)")
HOUR: Final = re.compile(r"hour=(\d\d)")
SECONDS: Final = 3600

_FULL: Final = {errno.ENOSPC, errno.EDQUOT}
_REFUSED: Final = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST}
_UNSYNCED: Final = {errno.EINVAL, errno.ENOTSUP}
"""Some network file systems do not support fsync of a folder."""


class Folder:
    """One folder, locked by this process while it is open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    def check(self) -> None:
        """Lock the folder if it is not locked yet, and check the free space.

        Raises:
            SinkError: nothing can be written.
        """
        try:
            if not self._holds():
                self.close()
                self._open()
            self._check_room()
        except OSError as problem:
            raise translated(problem, self.path) from problem

    def write(self, table: str, hour: int, name: str, content: Any) -> None:
        """Write a whole file with a name that matches `OWN`, for an hour since 1970.

        Raises:
            SinkError: the file may be missing. A second try has the same name, so the rows are there once.
        """
        directory = self.path / table / f"{dt.datetime.fromtimestamp(hour * SECONDS, dt.UTC):date=%Y-%m-%d/hour=%H}"
        beside = directory / f".{name}.tmp"
        try:
            readers = stat.S_IMODE(self.path.stat().st_mode)
            _make(directory, 0o700 | readers & 0o055)
            # A file or link with that name is removed, and "x" follows no link.
            beside.unlink(missing_ok=True)
            with open(beside, "xb", opener=partial(os.open, mode=0o600 | readers & 0o044)) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(directory / name)
            # Without this the name may be lost if the machine crashes.
            _sync(directory)
        except OSError as problem:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)
            raise translated(problem, beside) from problem

    def expire(self, present: int, past: Iterable[int], kept: int) -> bool:
        """Delete own files of all but the newest hours, and folders that are empty then.

        Only hours up to the current one that have files are counted. So a wrong clock deletes at most one old hour for
        each hour that is written.

        Args:
            present: current hour, in hours since 1970. Later ones are neither counted nor deleted.
            past: hours that count even without files, so that history gets space again on a disk that it has filled.
            kept: number of hours to keep, 1 or more.

        Returns:
            Whether this process holds the lock; if not, nothing is deleted.

        Raises:
            SinkError: a file cannot be deleted. Those of other old hours are.
        """
        failed: OSError | None = None
        try:
            if not self._holds():
                return False
            found = [(hour, directory) for hour, directory in hours(self.path) if hour <= present]
            filled = {hour for hour, directory in found if _matching(directory, OWN)}
            counted = sorted(filled.union(hour for hour in past if hour <= present))
            for hour, directory in found if len(counted) > kept else ():
                if hour < counted[-kept]:
                    try:
                        _clear(directory, OWN)
                        _prune(directory)
                    except OSError as problem:
                        failed = failed or problem
            if failed is not None:
                raise failed
        except OSError as problem:
            raise translated(problem, Path(problem.filename or self.path)) from problem
        return True

    @property
    def locked(self) -> bool:
        """Whether this process holds the lock."""
        return self._lock is not None

    def close(self) -> None:
        """Unlock the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _holds(self) -> bool:
        """Return whether the lock is held and belongs to the folder that is at the path now."""
        if self._lock is None:
            return False
        try:
            return os.path.samestat(os.fstat(self._lock), (self.path / LOCK).lstat())
        except FileNotFoundError:
            return False

    def _open(self) -> None:
        self.path.mkdir(0o700, parents=True, exist_ok=True)
        handle = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            os.close(handle)
            if isinstance(problem, BlockingIOError):
                raise SinkError(
                    f"{self.path}: another process writes its history there; give each exporter its own folder",
                    SinkReason.IN_USE,
                ) from problem
            raise SinkError(
                f"{self.path}: its file system cannot lock a file: {problem.strerror};"
                " set history.parquet.path to a folder on a local disk",
                SinkReason.NOT_WRITABLE,
            ) from problem
        self._lock = handle
        for _, directory in hours(self.path):
            _clear(directory, LEFTOVER)

    def _check_room(self) -> None:
        disk = os.statvfs(self.path)
        left, least = disk.f_bavail * disk.f_frsize, min(RESERVE, disk.f_blocks * disk.f_frsize // 20)
        if left < least:
            raise SinkError(
                f"{self.path}: the disk has {left} bytes free, and history needs {least};"
                " free some space, or lower history.parquet.retention",
                SinkReason.DISK_FULL,
            )
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise SinkError(
                f"{self.path}: this user cannot write there; change its owner or mode", SinkReason.NOT_WRITABLE
            )


def hours(path: Path) -> Iterator[tuple[int, Path]]:
    """Yield the folder of each hour of each table, with its hours since 1970. Links are not followed."""
    for table in TABLES:
        for date in _directories(path / table.name):
            day = DATE.fullmatch(date.name)
            for directory in _directories(date) if day else ():
                hour = HOUR.fullmatch(directory.name)
                if day and hour and (number := hour_of(day[1], hour[1])) is not None:
                    yield number, directory


def hour_of(day: str, hour: str) -> int | None:
    """Return the hours since 1970 of an hour of a day; `None` if there is no such day."""
    try:
        midnight = dt.datetime.fromisoformat(day).replace(tzinfo=dt.UTC)
    except ValueError:
        return None
    return int(midnight.timestamp()) // SECONDS + int(hour)


def translated(problem: OSError, path: Path) -> SinkError:
    """Convert an error of the operating system."""
    why = problem.strerror or str(problem)
    if problem.errno in _FULL:
        return SinkError(f"{path}: {why}; free some space, or lower history.parquet.retention", SinkReason.DISK_FULL)
    if problem.errno in _REFUSED:
        return SinkError(
            f"{path}: {why}; history.parquet.path must be a folder that this user can write", SinkReason.NOT_WRITABLE
        )
    return SinkError(f"{path}: {why}")


def _directories(path: Path) -> list[Path]:
    try:
        with os.scandir(path) as entries:
            return sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []


def _make(directory: Path, mode: int) -> None:
    if not directory.is_dir():
        _make(directory.parent, mode)
        directory.mkdir(mode, exist_ok=True)
        _sync(directory.parent)


def _sync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as problem:
        if problem.errno not in _UNSYNCED:
            raise
    finally:
        os.close(handle)


def _clear(directory: Path, own: re.Pattern[str]) -> None:
    for file in _matching(directory, own):
        file.unlink(missing_ok=True)


def _matching(directory: Path, own: re.Pattern[str]) -> list[Path]:
    with os.scandir(directory) as entries:
        return [
            Path(entry.path) for entry in entries if own.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
        ]


def _prune(directory: Path) -> None:
    """Remove the folders of an hour and its date if they are empty."""
    for folder in (directory, directory.parent):
        try:
            folder.rmdir()
        except OSError as problem:
            if problem.errno != errno.ENOTEMPTY:
                raise
            return
