"""The last snapshots, immutable. Formulas that look back look here."""

from dataclasses import dataclass
from typing import Final

from exporter.model import Snapshot

HORIZON: Final = 60.0
"""Seconds of the monotonic clock that a window reaches back: five quota windows."""

FEWEST: Final = 4
"""Snapshots that are kept however far apart they are."""


@dataclass(frozen=True, slots=True)
class Window:
    """Snapshots in the order of their polls, oldest first."""

    snapshots: tuple[Snapshot, ...] = ()

    @property
    def latest(self) -> Snapshot:
        """The snapshot of the last poll.

        Raises:
            IndexError: there is none yet.
        """
        return self.snapshots[-1]

    @property
    def previous(self) -> Snapshot | None:
        """The snapshot before the last."""
        return self.snapshots[-2] if len(self.snapshots) > 1 else None


def append(window: Window, snapshot: Snapshot, horizon: float = HORIZON) -> Window:
    """Return the window with one more snapshot, and without those that are older than the horizon.

    A snapshot of another cluster starts a new window.
    """
    kept = window.snapshots
    if kept and kept[-1].cluster_id != snapshot.cluster_id:
        kept = ()
    recent = tuple(seen for seen in kept if snapshot.clock - seen.clock <= horizon)
    return Window((*(recent if len(recent) >= FEWEST - 1 else kept[-(FEWEST - 1) :]), snapshot))
