"""Totals of all reassignments (docs/spec/moves.md#move-time; KIP-73)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kafka_warden.arrays import Ints, Longs, sum_known
from kafka_warden.derive import etas
from kafka_warden.derive.etas import eta, last_eta
from kafka_warden.derive.law import without_flow
from kafka_warden.derive.moves import Move
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle import SideKey, Throttles
from kafka_warden.derive.throttle_use import Throttling
from kafka_warden.model import SIDES, UNKNOWN, UNLIMITED, Floats, Side


def move_ratio(to_move: int, partitions: int) -> float:
    """KIP-73's MoveRatio: partitions to be moved over all partitions; 0 for an empty cluster."""
    return to_move / partitions if partitions else 0.0


def move_time(ratio: float, log_size_per_broker: float, brokers: int, limit: float, max_bytes_in: float) -> float:
    """KIP-73's MoveTime in seconds: MoveRatio x TotalLogSizePerBroker x #Brokers / (limit - max(BytesInPerSec)).

    `+inf` when the limit is not above the busiest broker's inbound. It divides the cluster's bytes by one broker's
    limit, so `bottleneck` is shown with it. The limit must be a real one. docs/spec/moves.md#move-time.
    """
    return eta(ratio * log_size_per_broker * brokers, limit - max_bytes_in)


def move_time_of_cluster(
    ratio: float, limit: float, sizes: Longs, led_by: Ints | Longs, bytes_in: Floats, brokers: int
) -> float | None:
    """MoveTime from the sizes of R replicas and the inbound rates of L led partitions.

    `sizes` (R,), `UNKNOWN` where unknown; `led_by` (L,) leaders as small indices; `bytes_in` (L,) bytes per second, NaN
    where unknown. None while a part is unknown, and without a broker.
    """
    if not brokers or (sizes == UNKNOWN).any() or np.isnan(bytes_in).any():
        return None
    busiest = float(np.bincount(led_by, weights=bytes_in).max(initial=0.0))
    return move_time(ratio, float(sizes.sum()) / brokers, brokers, limit, busiest)


@dataclass(frozen=True, slots=True)
class Totals:
    """Bytes and seconds. A sum is `None` while a part of it is unknown."""

    reassigning_partitions: Annotated[int | None, "partitions under reassignment"]
    ratio: Annotated[float | None, "MoveRatio of KIP-73", "ratio"]
    remaining_bytes: Annotated[float | None, "bytes to copy", "bytes"]
    eta: Annotated[float | None, "time until all moves are done", "s"]
    predicted: Annotated[float | None, "MoveTime of KIP-73", "s"]
    predicted_bottleneck: Annotated[float | None, "time at the bottleneck, by the throttle law", "s"]
    """`None` when nothing is limited."""
    bottleneck: Annotated[SideKey | None, "broker and side that end last"]
    catch_up: Annotated[Mapping[tuple[int, Side], float], "copy rate of adding replicas", "bytes/s"]
    """(broker, side) to bytes per second that its adding replicas copy, or that it sends to adding ones.

    Missing while one of them is unknown.
    """


def derive_totals(
    indexed: IndexedSnapshot, moves: tuple[Move, ...], throttles: Throttles, throttling: Throttling, bytes_in: Floats
) -> Totals:
    """Add the moves up. Those that copy nothing have no part in any sum."""
    snapshot, moves = indexed.snapshot, tuple(move for move in moves if move.adding)
    reassigning = int(snapshot.partitions.reassigning.sum())
    ratio = move_ratio(reassigning, len(snapshot.partitions))
    binding = _bottleneck(throttling) if moves and not without_flow(indexed).size else None
    known = snapshot.reassignments_known
    return Totals(
        reassigning_partitions=reassigning if known else None,
        ratio=ratio if known else None,
        remaining_bytes=sum_known([move.remaining_bytes for move in moves]) if known else None,
        eta=_eta(moves, throttling),
        predicted=_predicted(indexed, moves, throttles, bytes_in, ratio),
        predicted_bottleneck=binding[1] if binding is not None else None,
        bottleneck=binding[0] if binding is not None else None,
        catch_up=_catch_up(moves),
    )


def _eta(moves: tuple[Move, ...], throttling: Throttling) -> float | None:
    """ETA of everything; `+inf` where one never ends, `None` where one is unknown."""
    etas = [move.eta for move in moves if move.eta is not None]
    if not etas or math.inf in etas:
        return math.inf if etas else None
    if len(etas) < len(moves):
        return None
    return last_eta(etas, throttling.etas, throttling.side_etas)


def _bottleneck(throttling: Throttling) -> tuple[SideKey, float] | None:
    """Return the throttled broker and side that ends last by the law, and when; of two alike the tighter one.

    Measured rates do not distinguish sides: a flow has the same rate at both of its ends.
    """
    limited = {key: load for key, load in sorted(throttling.sides.items()) if load.limited is not False}
    remaining = {key: load.remaining for key, load in limited.items() if load.remaining is not None}
    if len(remaining) < len(limited):
        return None
    tightest = dict(sorted(remaining.items(), key=lambda entry: limited[entry[0]].headroom or 0.0))
    return etas.bottleneck(tightest, {key: load.net for key, load in limited.items()})


def _predicted(
    indexed: IndexedSnapshot, moves: tuple[Move, ...], throttles: Throttles, bytes_in: Floats, ratio: float
) -> float | None:
    """KIP-73's MoveTime, where something moves under a limit and all that it needs is known."""
    involved = {broker for move in moves for broker in (move.broker, move.leader) if broker is not None}
    limits = [throttles.limit(broker, side) for broker in involved for side in SIDES]
    known = [limit for limit in limits if limit is not None]
    lowest = min(known, default=UNLIMITED)
    if lowest == UNLIMITED or len(known) < len(limits) or any(move.leader is None for move in moves):
        return None
    snapshot, led = indexed.snapshot, indexed.led_by != UNKNOWN
    return move_time_of_cluster(
        ratio, lowest, snapshot.replicas.size, indexed.led_by[led], bytes_in[led], len(snapshot.brokers)
    )


def _catch_up(moves: tuple[Move, ...]) -> dict[SideKey, float]:
    """Add the rates up by broker and side; a sum with an unknown rate is missing."""
    rates: dict[SideKey, list[float | None]] = {}
    for move in moves:
        rates.setdefault((move.broker, Side.FOLLOWER), []).append(move.bytes_per_second)
        if move.leader is not None:
            rates.setdefault((move.leader, Side.LEADER), []).append(move.bytes_per_second)
    sums = {key: sum_known(parts) for key, parts in rates.items()}
    return {key: rate for key, rate in sums.items() if rate is not None}
