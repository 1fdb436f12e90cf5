"""Every problem of a throttle by broker and side, and for how long (docs/spec/throttles.md#problems)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from kafka_warden.arrays import Axis, Column
from kafka_warden.derive.flows.side_loads import Load, SideKey
from kafka_warden.derive.followers.lag import Lag
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle.limits import Throttles
from kafka_warden.derive.throttle.lists import ListsMemory, derive_named
from kafka_warden.derive.throttle_problems import limit_checks, list_checks
from kafka_warden.derive.throttle_problems.facts import Facts, ProblemKey, limit_of_rows
from kafka_warden.derive.throttle_problems.needs import Needs, derive_needs
from kafka_warden.formulas import throttle_problems as formulas
from kafka_warden.formulas.throttle_problems import Held, Problem
from kafka_warden.model import SIDES, Bools, Parameters, Side


@dataclass(frozen=True, slots=True)
class ProblemsMemory:
    """What is remembered from poll to poll."""

    in_sync: Annotated[Mapping[Side, Bools], Column(Axis.REPLICA, 0, "was_in_sync")]
    """(R,) replicas that were in the ISR since they are throttled on that side."""
    held: Mapping[ProblemKey, Held] = field(default_factory=dict)
    lists: ListsMemory = field(default_factory=ListsMemory)


def derive_problems(
    indexed: IndexedSnapshot,
    lag: Lag,
    throttles: Throttles,
    sides: Mapping[SideKey, Load],
    memory: ProblemsMemory,
    parameters: Parameters,
) -> tuple[ProblemsMemory, dict[ProblemKey, float]]:
    """Return the memory, and the age in seconds of every problem that is raised, by broker and side."""
    needs = derive_needs(indexed, lag, throttles)
    lists, named = derive_named(indexed, throttles, memory.lists)
    in_sync = {side: _in_sync(indexed, throttles, needs, side, memory.in_sync[side]) for side in SIDES}
    facts = Facts(indexed, throttles, needs, named, in_sync, sides, parameters)
    clock, holding = indexed.snapshot.clock, _evaluate(facts)
    held = {
        key: state
        for key in memory.held.keys() | holding.keys()
        if (state := formulas.persist(memory.held.get(key), clock, holding.get(key, False))) is not None
    }
    grace = {Problem.LEFT_BEHIND: parameters.moves_grace}
    ages = ((key, formulas.raised(state, clock, grace.get(key[2], 0.0))) for key, state in sorted(held.items()))
    return ProblemsMemory(in_sync, held, lists), {key: age for key, age in ages if age is not None}


def _in_sync(indexed: IndexedSnapshot, throttles: Throttles, needs: Needs, side: Side, before: Bools) -> Bools:
    replicas = indexed.snapshot.replicas
    kept = np.zeros(len(replicas), bool)
    rows = np.flatnonzero(throttles.held[side])
    # A limit that cannot be read at present ends nothing.
    throttled = ~np.isposinf(limit_of_rows(indexed, needs, side, rows))
    kept[rows] = formulas.held_in_sync(before[rows], throttled, replicas.in_isr[rows])
    return kept


def _evaluate(facts: Facts) -> dict[ProblemKey, bool | None]:
    """Return the problems that hold; `None` is unknown, a missing one does not hold."""
    found = limit_checks.below_inbound(facts)
    columns: list[tuple[Side, Problem, Bools]] = []
    for side in SIDES:
        columns += [
            (side, Problem.BLOCKED, limit_checks.blocked(facts, side)),
            (side, Problem.UNEVEN, list_checks.uneven(facts, side)),
            (side, Problem.LOPSIDED, list_checks.lopsided(facts, side)),
            (side, Problem.FETCH_SIZE, limit_checks.fetch_size(facts, side)),
            (side, Problem.IDLE_RATE, limit_checks.idle_rate(facts, side)),
        ]
        found |= list_checks.left_behind(facts, side) | limit_checks.holds_original(facts, side)
    columns += [
        (Side.LOG_DIRS, Problem.BLOCKED, limit_checks.log_dirs_blocked(facts)),
        (Side.LOG_DIRS, Problem.IDLE_RATE, limit_checks.log_dirs_idle(facts)),
    ]
    for side, problem, column in columns:
        found |= {(broker, side, problem): True for broker in facts.indexed.brokers[column].tolist()}
    return found | list_checks.named_in_vain(facts)
