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
import stat
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import structlog

from kafka_warden.errors import StateError
from kafka_warden.settings.strict import parse_json, read_file, special_file

log = structlog.get_logger(__name__)

LARGEST: Final = 192 << 20
"""Bytes: 200,000 partitions with two followers each, all behind, have 152 MB. More is neither read nor written."""

LEAST_BYTES: Final = 8
"""Bytes for each list and object of a document, on average. Damage that consists of these would fill the memory."""

SHARED: Final = stat.S_IWGRP | stat.S_IWOTH

BOOTSTRAP: Final = "bootstrap"
"""Key of a document: the addresses of `bootstrap.servers`."""

TEMPORARY: Final = ".tmp"

PROBE: Final = 1 << 20
"""Bytes that a check writes: what a cluster with thousands of replicas out of sync needs."""


class StateFile:
    """One file. Each process needs its own. Only its owner can read it: names of topics are private."""

    def __init__(self, path: Path) -> None:
        self.problem: str | None = None
        """Why the last document could not be written."""
        self.saved = False
        """Whether a document was written, or could not be."""
        self._path = path
        self._prefix = f".{path.name}."

    def load(self) -> Mapping[str, Any] | None:
        """Read the document; `None` when there is none, or after a warning when it cannot be used.

        Removes the temporary files of a process that was killed while it wrote.
        """
        leftover = re.compile(rf"{re.escape(self._prefix)}([a-z0-9_]{{8}}\{TEMPORARY})")
        with contextlib.suppress(OSError):
            for path in filter(lambda path: leftover.fullmatch(path.name), self._path.parent.iterdir()):
                with contextlib.suppress(OSError):
                    path.unlink()
        try:
            return self.read()
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
        before = self.problem
        try:
            self._write(json.dumps(document, allow_nan=False, separators=(",", ":")).encode())
        except (OSError, ValueError, StateError) as problem:
            if before is None:
                log.warning("the state file cannot be written", path=str(self._path), why=str(problem))
            self.problem = f"the state file {self._path} cannot be written: {problem}"
        else:
            if before is not None:
                log.info("the state file can be written again", path=str(self._path))
            self.problem = None
        self.saved = True

    def probe(self) -> None:
        """Check that the document can be read, if there is one, and replaced. Writes a temporary file and removes it.

        Raises:
            StateError: the document is damaged.
            OSError: it cannot be replaced.
        """
        if self._path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with self._temporary(bytes(PROBE)) as temporary:
            temporary.unlink()
        with contextlib.suppress(FileNotFoundError):
            self.read()

    def read(self) -> Mapping[str, Any]:
        """Read the document.

        Raises:
            StateError: it is damaged, or another user could have written it.
            OSError: it cannot be read; FileNotFoundError: there is none.
        """
        try:
            raw = read_file(self._path, LARGEST, self._refuse_foreign)
        except ValueError as problem:
            raise StateError(f"it is {problem}") from None
        if raw.count(b"[") + raw.count(b"{") > len(raw) // LEAST_BYTES + 1:
            raise StateError("it is damaged: too many lists and objects")
        try:
            document = parse_json(raw)
        except ValueError as problem:
            raise StateError(f"it is damaged: {problem}") from problem
        if not isinstance(document, dict):
            raise StateError("it is damaged: not a JSON object")
        return document

    def _refuse_foreign(self, status: os.stat_result) -> None:
        """Raise a StateError for a file that another user may have written."""
        own, mode = os.geteuid(), stat.S_IMODE(status.st_mode)
        if status.st_uid != own:
            raise StateError(f"it belongs to user {status.st_uid}; remove it, or run: chown {own} {self._path}")
        # Kubernetes makes the files of a volume writable for the group of `fsGroup`, which is one of this process.
        others = stat.S_IWOTH if status.st_gid in {os.getegid(), *os.getgroups()} else SHARED
        if mode & others:
            raise StateError(f"mode {mode:04o} lets other users write it; remove it, or run: chmod 600 {self._path}")

    def _write(self, raw: bytes) -> None:
        if len(raw) > LARGEST:
            raise StateError(f"it is larger than {LARGEST} bytes")
        with self._temporary(raw) as temporary:
            temporary.replace(self._path)

    @contextlib.contextmanager
    def _temporary(self, raw: bytes) -> Iterator[Path]:
        """Write a temporary file to the disk; nothing of it stays under its name."""
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
            yield Path(temporary)
        finally:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def watched_cluster(document: Mapping[str, Any], bootstrap: Collection[str]) -> str | None:
    """Return the id of the only cluster that these addresses may lead to; `None` for any.

    A user who configures other addresses than those of the document may want to watch another cluster.
    """
    cluster, before = document.get("cluster_id"), document.get(BOOTSTRAP)
    if isinstance(cluster, str) and isinstance(before, list) and not set(bootstrap).isdisjoint(map(str, before)):
        return cluster
    return None
