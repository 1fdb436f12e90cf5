"""The moves in `/metrics` of several sidecars, poll by poll."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from bench.sidecar import Sidecar, shown
from tests.support.threads import repeating

LOOK = 0.1
Move = tuple[str, int, int]
"""Topic, partition and adding broker."""

_ROW = re.compile(r"^kafka_warden_reassignment_(\w+)\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True)
class Poll:
    """One page.

    Attributes:
        began: Unix time at which the poll began.
        moves: All that it shows.
        causes: Of those that are stuck.
        stalled: Seconds since each last got on.
        rates: Bytes per second; without a move whose rate is not known.
    """

    began: float
    moves: frozenset[Move]
    causes: Mapping[Move, str]
    stalled: Mapping[Move, float]
    rates: Mapping[Move, float]


@dataclass
class Pages:
    """All pages of one sidecar since the first read.

    Attributes:
        interval: Seconds between its polls.
        polls: In their order, one each.
    """

    interval: float
    polls: list[Poll] = field(default_factory=list)

    def first(self, move: Move, cause: str, since: float) -> tuple[int, Poll] | None:
        """The first poll after a moment that shows it, and its number after that moment; None before."""
        later = [poll for poll in self.polls if poll.began > since]
        return next(((n, poll) for n, poll in enumerate(later, 1) if poll.causes.get(move) == cause), None)


@contextmanager
def reading(sidecars: Mapping[float, Sidecar]) -> Iterator[Sequence[Pages]]:
    """Read the pages of sidecars, by their interval, while the block runs."""
    pages = {interval: Pages(interval) for interval in sidecars}

    def read() -> None:
        for interval, sidecar in sidecars.items():
            poll = _read(sidecar)
            polls = pages[interval].polls
            if poll is not None and (not polls or poll.began > polls[-1].began):
                polls.append(poll)

    with repeating(read, LOOK):
        yield list(pages.values())


def _read(sidecar: Sidecar) -> Poll | None:
    try:
        page = sidecar.read()
    except OSError:
        return None
    at = shown(page)
    if at is None:
        return None
    rows = [(name, dict(_LABEL.findall(labels)), float(value)) for name, labels, value in _ROW.findall(page)]

    def of(metric: str) -> dict[Move, float]:
        return {_move(labels): value for name, labels, value in rows if name == metric}

    causes = {_move(labels): labels["cause"] for name, labels, _ in rows if name == "stuck"}
    moves = frozenset(of("bytes_remaining"))
    return Poll(at, moves, causes, of("stalled_seconds"), of("bytes_per_second"))


def _move(labels: Mapping[str, str]) -> Move:
    return labels["topic"], int(labels["partition"]), int(labels["broker"])
