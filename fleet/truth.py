"""The true events: beside the history, never inside it, one JSON object per line."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Happened:
    """An event of a cluster, a broker, or a replica. Times are Unix seconds."""

    kind: str
    began: float
    ended: float
    """When its cause ended; catching up comes after."""
    topic: str | None = None
    partition: int | None = None
    broker: int | None = None


@dataclass(frozen=True, slots=True)
class Moved:
    """The move of one adding replica. Times are Unix seconds; `ended` is null while it is in progress."""

    topic: str
    topic_id: str
    partition: int
    broker: int
    source: int
    began: float
    ended: float | None
    outcome: str
    """`completed`, `cancelled` or `running`."""
    bytes_at_start: float
    limit: float
    """Its first throttle, bytes per second."""
    raised_to: float | None
    """Its raised throttle, if it was raised."""
    raised_at: float | None
    cause: str | None
    """Why it was stuck, if it was."""


@dataclass(frozen=True, slots=True)
class Reached:
    """When a growing value reaches its limit. `None`: not within the simulated time."""

    subject: str
    """`cluster` or a broker id."""
    what: str
    limit: float
    day: float | None
    """Days after the first poll."""
    reached: float | None
    """The same as Unix seconds."""


@dataclass(slots=True)
class Truth:
    """The truth of one cluster."""

    cluster_id: str
    faults: list[Happened] = field(default_factory=list)
    calm: list[Happened] = field(default_factory=list)
    """Events that look like faults but are not: bursts, rolling restarts."""
    moves: list[Moved] = field(default_factory=list)
    growth: list[Reached] = field(default_factory=list)


def write(path: Path, truths: Iterable[Truth]) -> None:
    """Write `faults.json`, `calm.json`, `moves.json` and `growth.json` of all clusters of a fleet."""
    path.mkdir(parents=True, exist_ok=True)
    found = list(truths)
    for name in ("faults", "calm", "moves", "growth"):
        rows = [_row(truth.cluster_id, each) for truth in found for each in getattr(truth, name)]
        (path / f"{name}.json").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


def _row(cluster_id: str, what: Any) -> str:
    row = {"cluster_id": cluster_id, **asdict(what)}
    return json.dumps({key: "Infinity" if value == float("inf") else value for key, value in row.items()})
