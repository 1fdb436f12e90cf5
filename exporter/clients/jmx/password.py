"""Passwords that live in files and may be rotated while the sidecar runs."""

from pathlib import Path

from exporter.errors import AuthenticationError

Stamp = tuple[int, int, int]
"""Inode, size and time of modification: changes when the file does."""


class Passwords:
    """The content of files, line end left out; read again when a file changes. `repr` shows nothing of it."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[Stamp, str]] = {}

    def read(self, path: Path) -> tuple[str, Stamp]:
        """The password and the stamp of its file; raises :class:`AuthenticationError` when that cannot be read."""
        try:
            found = path.stat()
            stamp = (found.st_ino, found.st_size, found.st_mtime_ns)
            known = self._known.get(path)
            if known is None or known[0] != stamp:
                known = self._known[path] = (stamp, path.read_text(encoding="utf-8").rstrip("\r\n"))
        except (OSError, UnicodeDecodeError) as failed:
            reason = failed.strerror if isinstance(failed, OSError) else "it is not UTF-8"
            raise AuthenticationError(f"cannot read jmx.password_file {path}: {reason}") from None
        stamp, text = known
        return text, stamp
