"""Inputs of all checks of throttles, of one poll (docs/spec/throttles.md#problems)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kafka_warden.derive.flows.side_loads import Load, SideKey
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle.limits import Throttles
from kafka_warden.derive.throttle.lists import Named
from kafka_warden.derive.throttle_problems.needs import Needs
from kafka_warden.formulas.throttle_problems import Problem
from kafka_warden.model import UNKNOWN, Bools, Floats, Ints, Parameters, Side

ProblemKey = tuple[int, Side, Problem]
"""Broker id, side and problem."""


@dataclass(frozen=True, slots=True)
class Facts:
    """R replicas, B brokers."""

    indexed: IndexedSnapshot
    throttles: Throttles
    needs: Needs
    named: Mapping[Side, Named]
    in_sync: Mapping[Side, Bools]
    sides: Mapping[SideKey, Load]
    parameters: Parameters


def broker_of_row(indexed: IndexedSnapshot, side: Side) -> Ints:
    """(R,) index of the broker whose limit of that side holds a replica back, `UNKNOWN` without a leader."""
    return indexed.host if side is Side.FOLLOWER else indexed.led_by[indexed.snapshot.replicas.partition]


def limit_of_rows(indexed: IndexedSnapshot, needs: Needs, side: Side, rows: np.ndarray) -> Floats:
    """(K,) limits that hold K replicas back on that side, NaN where none is known."""
    index = broker_of_row(indexed, side)[rows]
    return np.where(index == UNKNOWN, np.nan, needs.limits[side][index])


def brokers_of(facts: Facts, rows: Bools, side: Side) -> Bools:
    """(B,) brokers whose limit of that side is asked for by any of these replicas (R,)."""
    index = broker_of_row(facts.indexed, side)[rows]
    hit: Bools = np.bincount(index[index != UNKNOWN], minlength=len(facts.indexed.brokers)) > 0
    return hit
