"""How times and other values are written."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kafka_warden.formulas.folds import Minimum
from kafka_warden.model import Floats, Snapshot

Row = Mapping[str, Any]
"""One entry of a table of the document: plain JSON values."""


class Clock:
    """Monotonic seconds of one process to Unix seconds and back; `None` and NaN mean unknown."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._zero = snapshot.time - snapshot.clock
        self._now = snapshot.clock

    def write(self, at: float) -> float | None:
        """Convert monotonic seconds into Unix seconds."""
        return None if at != at else self._zero + at  # noqa: PLR0124  # NaN is the one value that is not itself

    def read(self, time: float | None) -> float:
        """Convert Unix seconds into monotonic seconds, which may lie before the start of this process.

        Raises:
            ValueError: it is before 1970.
        """
        if time is None:
            return np.nan
        if not time >= 0:
            raise ValueError(f"the time {time}")
        # The wall clock may have been set back since: no condition started later than now.
        return min(float(time) - self._zero, self._now)

    def column(self, rows: Sequence[Row], name: str) -> Floats:
        """Read one column of a table."""
        return np.array([self.read(row[name]) for row in rows], np.float64)


def write_minimum(minimum: Minimum | None, clock: Clock) -> Row | None:
    """Write the state of a stall clock."""
    if minimum is None:
        return None
    return {"value": minimum.value, "at": clock.write(minimum.at), "samples": minimum.samples}


def read_minimum(row: Row | None, clock: Clock) -> Minimum | None:
    """Read it back."""
    return None if row is None else Minimum(float(row["value"]), clock.read(row["at"]), int(row["samples"]))
