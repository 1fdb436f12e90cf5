"""The state file, which keeps start times over a restart: one JSON document, replaced as a whole.

It is written to a temporary file beside it, flushed to the disk and renamed, so that a reader never sees half of it. A
file that cannot be used is logged once, and all ages start at 0. A file that cannot be written is logged once until it
can be.
"""

import contextlib
import errno
import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import structlog

from kafka_warden.errors import StateError
from kafka_warden.settings.strict import read_file, special_file
from kafka_warden.strict_json import parse_json

log = structlog.get_logger(__name__)

LARGEST: Final = 64 << 20
"""Bytes: more than twice what 200,000 partitions need when all are behind. A larger file is not a state file."""

TEMPORARY: Final = ".tmp"

PROBE: Final = 1 << 20
"""Bytes that a check writes: what a cluster with thousands of replicas out of sync needs."""


class StateFile:
    """One file. Each process needs its own. Only its owner can read it: names of topics are private."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._prefix = f".{path.name}."
        self._failing = False

    def load(self) -> Mapping[str, Any] | None:
        """Read the document; `None` when there is none, or after a warning when it cannot be used.

        Removes the temporary files of a process that was killed while it wrote.
        """
        leftover = re.compile(rf"{re.escape(self._prefix)}([a-z0-9_]{{8}}\{TEMPORARY}|\d+)")
        with contextlib.suppress(OSError):
            for path in filter(lambda path: leftover.fullmatch(path.name), self._path.parent.iterdir()):
                with contextlib.suppress(OSError):
                    path.unlink()
        try:
            return self._read()
        except FileNotFoundError:
            return None
        except (OSError, StateError) as problem:
            self.refuse(problem)
            return None

    def refuse(self, problem: Exception) -> None:
        """Log that the document is not used, and why."""
        log.warning("the state file is not used; all ages start at 0", path=str(self._path), why=str(problem))

    def save(self, document: Mapping[str, Any]) -> None:
        """Replace the document. Never raises: the numbers in `/metrics` do not depend on it."""
        try:
            self._write(json.dumps(document, allow_nan=False, separators=(",", ":")).encode())
        except (OSError, ValueError) as problem:
            if not self._failing:
                log.warning("the state file cannot be written", path=str(self._path), why=str(problem))
            self._failing = True
        else:
            if self._failing:
                log.info("the state file can be written again", path=str(self._path))
            self._failing = False

    def probe(self) -> None:
        """Check that the document can be read, if there is one, and replaced. Writes a temporary file and removes it.

        Raises:
            StateError: the document is damaged.
            OSError: it cannot be replaced.
        """
        if self._path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        self._temporary(bytes(PROBE)).unlink()
        with contextlib.suppress(FileNotFoundError):
            self._read()

    def _read(self) -> Mapping[str, Any]:
        raw = read_file(self._path, LARGEST + 1)
        if len(raw) > LARGEST:
            raise StateError(f"it is larger than {LARGEST} bytes")
        try:
            document = parse_json(raw)
        except ValueError as problem:
            raise StateError(f"it is damaged: {problem}") from problem
        if not isinstance(document, dict):
            raise StateError("it is damaged: not a JSON object")
        return document

    def _write(self, raw: bytes) -> None:
        temporary = self._temporary(raw)
        try:
            temporary.replace(self._path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise

    def _temporary(self, raw: bytes) -> Path:
        """Write a temporary file to the disk; nothing of it stays after a failure."""
        # For root, a rename would replace /dev/null itself.
        if special_file((self._path,)) is not None:
            raise OSError("not a regular file")
        # mkstemp makes a new file that only this user can read, with a name that cannot be predicted.
        handle, temporary = tempfile.mkstemp(TEMPORARY, self._prefix, self._path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise
        return Path(temporary)
