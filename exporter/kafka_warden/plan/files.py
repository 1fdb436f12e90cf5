"""The files of a plan: the reassignment that is asked for, and the rollback."""

from pathlib import Path

from kafka_warden.errors import ConfigError, ReassignmentError
from kafka_warden.planning.reassignment import Target, parse_reassignment
from kafka_warden.settings.strict import reason


def read_targets(file: Path) -> tuple[Target, ...]:
    """Read a reassignment as kafka-reassign-partitions takes it.

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
    """Write the rollback, where a file is given. One that says otherwise stays: it may be of before the move began.

    Raises:
        ConfigError: it says otherwise, or cannot be written.
    """
    if file is None:
        return
    try:
        if file.exists() and file.read_text(encoding="utf-8") != text:
            raise ConfigError(
                f"--rollback: {file} is there and holds another assignment, perhaps that of before the move;"
                " move it away, or name another file"
            )
        file.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as failure:
        raise ConfigError(f"--rollback: cannot write {file}: {reason(failure)}") from None
