"""The files of a plan: the wanted reassignment, and the rollback."""

from pathlib import Path

from kafka_warden.errors import ConfigError, ReassignmentError
from kafka_warden.planning.reassignment import Target, parse_reassignment
from kafka_warden.settings.strict import reason


def read_targets(file: Path) -> tuple[Target, ...]:
    """Read a reassignment in the format of kafka-reassign-partitions.

    Raises:
        ReassignmentError: it cannot be read or planned; the message names the file.
    """
    try:
        return parse_reassignment(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ReassignmentError(f"{file}: not UTF-8 text") from None
    except (OSError, ValueError) as failure:
        raise ReassignmentError(f"{file}: cannot read the file: {reason(failure)}") from None
    except ReassignmentError as failure:
        raise ReassignmentError(f"{file}: {failure}") from None


def write_rollback(file: Path | None, text: str) -> None:
    """Write the rollback, if a file is given. A file with another assignment stays: it may be from before the move.

    Raises:
        ConfigError: it has another assignment, or cannot be written.
    """
    if file is None:
        return
    try:
        if file.exists() and file.read_text(encoding="utf-8") != text:
            raise ConfigError(
                f"--rollback: {file} has another assignment, perhaps the one before the move; rename it, or use another"
                " file"
            )
        file.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as failure:
        raise ConfigError(f"--rollback: cannot write {file}: {reason(failure)}") from None
