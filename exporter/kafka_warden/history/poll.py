"""What history is made of: one poll, judged, and how judging began."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from kafka_warden.derive import Derived
from kafka_warden.model import Parameters, Snapshot


class Remembered(StrEnum):
    """What a poll was judged with besides itself."""

    NOTHING = "nothing"
    """It is the first one of a process, or the first after a failure."""
    RESTORED = "restored"
    """It is the first one of a process, which had the state file of the one before."""
    KEPT = "kept"
    """All polls before it, since the last one with another word."""


@dataclass(frozen=True, slots=True)
class Poll:
    """One judged poll."""

    snapshot: Snapshot
    derived: Derived
    parameters: Parameters
    run: str
    """Names the process; the monotonic clock is its own."""
    sequence: int
    """Judged polls of this process before this one, those included that history leaves out or loses."""
    remembered: Remembered = Remembered.KEPT
    restored: Mapping[str, Any] | None = None
    """The document of the state file, where it was `RESTORED`."""


ID_BYTES: Final = 16


def topic_id_text(topic_id: bytes) -> str:
    """Write a topic id as Kafka's tools do (`Uuid.toString`)."""
    return base64.urlsafe_b64encode(topic_id).decode().rstrip("=")


def topic_id_bytes(text: str) -> bytes:
    """Read it back: 16 bytes."""
    return base64.urlsafe_b64decode(text + "==")[:ID_BYTES]
