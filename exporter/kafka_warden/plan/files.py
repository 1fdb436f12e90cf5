"""The files of a plan: the wanted reassignment, and the rollback."""

import os
import tempfile
from pathlib import Path
from typing import Final

from kafka_warden.errors import ConfigError, PlanError
from kafka_warden.planning.reassignment import Target, parse_reassignment
from kafka_warden.settings.strict import read_file, reason, special_file

LARGEST: Final = 256 << 20
"""Bytes: ten times what 200,000 partitions need."""


def read_targets(file: Path) -> tuple[Target, ...]:
    """Read a reassignment in the format of kafka-reassign-partitions.

    Raises:
        PlanError: it cannot be read or planned; the message names the file.
    """
    try:
        return parse_reassignment(read_text(file))
    except PlanError as failure:
        raise PlanError(f"{file}: {failure}") from None
    except OSError as failure:
        raise PlanError(f"{file}: cannot read the file: {reason(failure)}") from None
    except ValueError as failure:
        raise PlanError(f"{file}: {failure}") from None


def write_rollback(file: Path | None, text: str) -> None:
    """Write the rollback, if a file is given. A file with another assignment stays: it may be from before the move.

    Raises:
        ConfigError: it has another assignment, or cannot be written.
    """
    if file is None:
        return
    try:
        if not file.exists():
            replace_file(file, text)
        elif read_text(file) != text:
            raise ConfigError(
                f"--rollback: {file} has another assignment, perhaps the one before the move; rename it, or use another"
                " file"
            )
    except (OSError, ValueError) as failure:
        raise ConfigError(f"--rollback: cannot write {file}: {reason(failure)}") from None


def read_text(file: Path) -> str:
    """Read a file of text.

    Raises:
        OSError: it cannot be read, or is no regular file.
        ValueError: it is too large, or not UTF-8.
    """
    content = read_file(file, LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"larger than {LARGEST >> 20} MiB")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ValueError("not UTF-8 text") from None


def replace_file(file: Path, text: str) -> None:
    """Write a file as a whole: a reader, or the next run, finds all of it or nothing.

    Raises:
        OSError: it cannot be written, or is no regular file.
        ValueError: the path has a NUL.
    """
    # For root, a rename would replace /dev/null itself.
    if special_file((file,)) is not None:
        raise OSError("not a regular file")
    with tempfile.TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as beside:
        # Not the temporary file of `tempfile`: other users, such as that of the tool, may read this one.
        written = Path(beside) / file.name
        with written.open("w", encoding="utf-8") as content:
            content.write(text)
            content.flush()
            os.fsync(content.fileno())
        written.replace(file)
