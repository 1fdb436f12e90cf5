"""What all reassignments add up to (judgement.md 5; KIP-73, MoveRatio and MoveTime)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from exporter.derive.frame import Frame
from exporter.derive.moves import Move
from exporter.derive.throttles import SIDES, Throttles
from exporter.formulas import moves as formulas
from exporter.formulas.ops import NUMBERS
from exporter.model import UNKNOWN, UNLIMITED, Floats, Side


@dataclass(frozen=True, slots=True)
class Totals:
    """Bytes and seconds. A sum is `None` while a part of it is unknown."""

    reassigning_partitions: int | None
    ratio: float | None
    remaining_bytes: float | None
    eta: float | None
    predicted: float | None
    catch_up: Mapping[tuple[int, Side], float]
    """(broker, side) to bytes per second that its adding replicas copy, or that it sends to adding ones."""


def derive_totals(frame: Frame, moves: tuple[Move, ...], throttles: Throttles, bytes_in: Floats) -> Totals:
    """Add the moves up."""
    snapshot = frame.snapshot
    reassigning = int(snapshot.partitions.reassigning.sum())
    ratio = formulas.move_ratio(NUMBERS, float(reassigning), float(len(snapshot.partitions)))
    left = [move.remaining_bytes for move in moves if move.remaining_bytes is not None]
    etas = [move.eta for move in moves if move.eta is not None]
    known = snapshot.reassignments_known
    return Totals(
        reassigning_partitions=reassigning if known else None,
        ratio=ratio if known else None,
        remaining_bytes=sum(left) if known and len(left) == len(moves) else None,
        eta=max(etas) if etas and len(etas) == len(moves) else None,
        predicted=_predicted(frame, moves, throttles, bytes_in, ratio),
        catch_up=_catch_up(moves),
    )


def _predicted(
    frame: Frame, moves: tuple[Move, ...], throttles: Throttles, bytes_in: Floats, ratio: float
) -> float | None:
    """KIP-73's MoveTime, where something moves under a limit and all that it needs is known."""
    involved = {broker for move in moves for broker in (move.broker, move.leader) if broker is not None}
    limits = [throttles.limit(broker, side) for broker in involved for side in SIDES]
    lowest = min((limit for limit in limits if limit is not None), default=UNLIMITED)
    sizes, led = frame.snapshot.replicas.size, frame.led_by != UNKNOWN
    if lowest == UNLIMITED or (sizes == UNKNOWN).any() or np.isnan(bytes_in[led]).any():
        return None
    busiest = float(np.bincount(frame.led_by[led], weights=bytes_in[led]).max())
    brokers = float(len(frame.snapshot.brokers))
    return formulas.move_time(NUMBERS, ratio, float(sizes.sum()) / brokers, brokers, lowest, busiest)


def _catch_up(moves: tuple[Move, ...]) -> dict[tuple[int, Side], float]:
    rates: dict[tuple[int, Side], float] = {}
    for move in moves:
        if move.bytes_per_second is None or move.leader is None:
            continue
        for key in ((move.broker, Side.FOLLOWER), (move.leader, Side.LEADER)):
            rates[key] = rates.get(key, 0.0) + move.bytes_per_second
    return rates
