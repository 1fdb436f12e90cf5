"""One evaluated poll, and the state that it was evaluated with."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final

from kafka_warden.derive import Derived
from kafka_warden.model import Parameters, Snapshot


class Remembered(StrEnum):
    """State of earlier polls that a poll was evaluated with."""

    NOTHING = "nothing"
    """None: the first poll of a process, or the first after a failure."""
    RESTORED = "restored"
    """The state file: the first poll of a process."""
    KEPT = "kept"
    """All earlier polls, since the last one that is `NOTHING` or `RESTORED`."""


@dataclass(frozen=True, slots=True)
class Poll:
    """One evaluated poll."""

    snapshot: Snapshot
    derived: Derived
    parameters: Annotated[Parameters, "options in effect"]
    run: Annotated[str, "id of the process"]
    sequence: Annotated[int, "number of the poll in its run; a gap is a poll left out or lost"]
    remembered: Annotated[Remembered, "state before: `nothing`, `restored` (state file) or `kept` (earlier polls)"] = (
        Remembered.KEPT
    )
    restored: Mapping[str, Any] | None = None
    """The content of the state file, if `remembered` is `RESTORED`."""


ID_BYTES: Final = 16


def topic_id_text(topic_id: bytes) -> str:
    """Format a topic id as Kafka's tools do (`Uuid.toString`)."""
    return base64.urlsafe_b64encode(topic_id).decode().rstrip("=")


def topic_id_bytes(text: str) -> bytes:
    """Parse a topic id: 16 bytes."""
    return base64.urlsafe_b64decode(text + "==")[:ID_BYTES]
