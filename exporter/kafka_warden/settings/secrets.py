"""Passwords and keys: values that do not print, and the files that hold them.

A file with a secret must not be readable by group or others. There are three exceptions, where the platform sets the
mode: Kubernetes secret volumes (mode 0644 by default, recognised by their `..data` link), files that are mount points,
as container engines make them, and files of mode 0440 or 0640 that belong to root and to a group of this process, as
`fsGroup` makes them.
"""

import base64
import hmac
import json
import os
import re
import stat
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NoReturn, Protocol

from kafka_warden.errors import SecretError
from kafka_warden.settings.strict import read_file, reason

REDACTED: Final = "<redacted>"
_LARGEST: Final = 64 * 1024
_WORD: Final = 5
"""Characters. A shorter value is part of ordinary text: it is replaced only where it is a word of its own."""

_known: weakref.WeakValueDictionary[int, "Secret"] = weakref.WeakValueDictionary()


class Secret:
    """A text that only `reveal` shows: not `str`, `repr`, `format`, `vars`, pickling or an f-string."""

    __slots__ = ("__weakref__", "_forms", "_value")

    def __init__(self, value: str) -> None:
        self._value = value
        encoded = (form for form in _encoded(value) if len(form) >= _WORD)
        self._forms = tuple(filter(None, {*_written(value), *encoded}))
        _known[id(self)] = self

    def reveal(self) -> str:
        """Return the value itself, for the one call that needs it."""
        return self._value

    def found_in(self, text: str) -> Iterator[str]:
        """Yield the forms of the value that `text` contains."""
        return (form for form in self._forms if form in text)

    def read(self) -> "Secret":
        """Return itself: a secret from the environment is used like one from a file."""
        return self

    def paths(self) -> tuple[Path, ...]:
        """Return the files that it comes from: none."""
        return ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._value.encode(), other._value.encode())

    __hash__ = None  # type: ignore[assignment]  # a hash would be one more trace of the value

    def __repr__(self) -> str:
        return REDACTED

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(REDACTED, spec)

    def __copy__(self) -> "Secret":
        return self

    def __deepcopy__(self, memo: object) -> "Secret":
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a Secret cannot be pickled")


class SecretSource(Protocol):
    """A `Secret`, or a `SecretFile`, which is read each time."""

    def read(self) -> Secret:
        """Return the secret as it is now, or raise SecretError."""

    def paths(self) -> tuple[Path, ...]:
        """Return the files that it comes from, for a `FileWatch`."""


@dataclass(frozen=True, slots=True, repr=False)
class SecretFile:
    """A file whose whole content is one secret; one newline at its end does not belong to it."""

    path: Path

    def __repr__(self) -> str:
        return f"SecretFile({str(self.path)!r})"

    def read(self) -> Secret:
        """Read the file.

        Raises:
            SecretError: it cannot be read, is empty, is not text, or others may read it.
        """
        try:
            content = read_file(self.path, _LARGEST, partial(refuse_shared, self.path))
        except (OSError, ValueError) as failure:
            raise SecretError(f"{self.path}: cannot read the secret: {reason(failure)}") from None
        return Secret(_text(self.path, content))

    def paths(self) -> tuple[Path, ...]:
        """Return the file."""
        return (self.path,)


def _text(path: Path, content: bytes) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise SecretError(f"{path}: not UTF-8 text") from None
    text = text.removesuffix("\n").removesuffix("\r")
    if not text:
        raise SecretError(f"{path}: the file is empty; write the secret into it")
    return text


def refuse_shared(path: Path, status: os.stat_result) -> None:
    """Refuse a file with a secret that others may read, and what is no file.

    Raises:
        SecretError: the message has the command to run.
    """
    if not stat.S_ISREG(status.st_mode):
        raise SecretError(f"{path}: not a regular file")
    shared = status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    handed_out = shared == stat.S_IRGRP and status.st_uid == 0 and status.st_gid in (*os.getgroups(), os.getegid())
    # A Kubernetes secret volume: name -> ..data/name and ..data -> ..2026_11_21_08_15_01.123456789
    real = Path(os.path.realpath(path))
    in_volume = real.parent.name.startswith("..") and (real.parent.parent / "..data").is_symlink()
    if shared and not handed_out and not in_volume and not _is_mount_point(path):
        raise SecretError(
            f"{path}: mode {stat.S_IMODE(status.st_mode):04o} lets others read this secret; run: chmod 600 {path}"
        )


def _is_mount_point(path: Path) -> bool:
    """Return whether a container engine mounted this very file, as Docker does with secrets.

    os.path.ismount() compares devices, which every file of an overlay whose layers lie on several disks passes.
    """
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    except OSError:
        return False
    return any(line.split(" ", 5)[4] == os.path.realpath(path) for line in mounts.splitlines())


def basic_authorization(user: str, password: Secret) -> Secret:
    """Return the header of HTTP's basic authentication."""
    return Secret("Basic " + base64.b64encode(f"{user}:{password.reveal()}".encode()).decode())


FileStatus = tuple[int, int, int]
"""Time of the last change (of content or mode, in ns), inode, size."""


class FileWatch:
    """Detects changes of files, also through symbolic links."""

    __slots__ = ("_paths", "_seen")

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = tuple(paths)
        self._seen = self._signature()

    def changed(self) -> bool:
        """Return whether a file changed since the previous call. A file that is missing has not changed."""
        now = self._signature()
        changed = any(new is not None and new != old for new, old in zip(now, self._seen, strict=True))
        self._seen = tuple(old if new is None else new for new, old in zip(now, self._seen, strict=True))
        return changed

    def _signature(self) -> tuple[FileStatus | None, ...]:
        return tuple(file_status(path) for path in self._paths)


def file_status(path: Path) -> FileStatus | None:
    """Return a value that changes when the file is written, replaced or gets another mode; `None` without a file."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_ctime_ns, status.st_ino, status.st_size


def scrub(text: str) -> str:
    """Replace every secret that is in memory by `<redacted>`, also as Python, JSON and base 64 write it."""
    # A list made in one step: other threads make secrets meanwhile.
    secrets = [reference() for reference in _known.valuerefs()]
    found = {form for secret in secrets if secret is not None for form in secret.found_in(text)}
    # Longest first: a password may contain another one.
    for form in sorted(found, key=len, reverse=True):
        word = rf"(?<!\w){re.escape(form)}(?!\w)"
        text = text.replace(form, REDACTED) if len(form) >= _WORD else re.sub(word, REDACTED, text)
    return text


def _raw(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


def _written(value: str) -> Iterator[str]:
    """Yield a text as it is, and as it is written within a longer text."""
    yield value
    raw = _raw(value)
    for before in ("", "'\""):  # with both quotes in a text, one of them is escaped
        shown = (repr(before + value), ascii(before + value), repr(before.encode() + raw)[1:])
        yield from (text[len(repr(before)) - 1 : -1] for text in shown)
    yield from (json.dumps(value, ensure_ascii=escaped)[1:-1] for escaped in (True, False))


def _encoded(value: str) -> Iterator[str]:
    """Yield the parts of a longer text in base 64 that show a text."""
    raw = _raw(value)
    # In base 64 a text has one of three forms, by its place. The characters at its ends depend on its neighbours.
    for shift, first in enumerate((0, 2, 3)):
        encoded = base64.b64encode(bytes(shift) + raw).decode()
        form = encoded[first : (shift + len(raw)) * 8 // 6]
        yield from (form, form.translate(_URL_SAFE))


_URL_SAFE: Final = str.maketrans("+/", "-_")
