"""Problems of limits: headroom against inbound rates, and their values (docs/spec/throttles.md#problems)."""

import numpy as np

from kafka_warden.derive.throttle.limits import binding_limits, throttled_rates
from kafka_warden.derive.throttle_problems.facts import Facts, ProblemKey, brokers_of
from kafka_warden.formulas import throttle
from kafka_warden.formulas import throttle_problems as formulas
from kafka_warden.formulas.throttle_problems import Problem
from kafka_warden.model import UNKNOWN, UNLIMITED, Bools, BrokerConfig, Side


def blocked(facts: Facts, side: Side) -> Bools:
    """(B,) limits of 0 that hold back a follower which is behind."""
    rows = facts.throttles.held[side] & facts.needs.behind
    if side is Side.LEADER:
        # A leader holds back only followers that are not in sync.
        rows &= ~facts.indexed.snapshot.replicas.in_isr
    return formulas.blocked(facts.needs.limits[side], brokers_of(facts, rows, side))


def log_dirs_blocked(facts: Facts) -> Bools:
    """(B,) the same of limits for moves between log directories."""
    copying = np.isin(facts.indexed.brokers, [moving.broker for moving in facts.indexed.snapshot.future_replicas])
    return formulas.blocked(facts.needs.limits[Side.LOG_DIRS], copying)


def below_inbound(facts: Facts) -> dict[ProblemKey, bool | None]:
    """Find brokers and sides whose inbound rate exceeds what their limit lets through."""
    return {
        (broker, side, Problem.BELOW_INBOUND): formulas.below_inbound(limit, load.verdict, load.may_lose)
        for (broker, side), load in facts.sides.items()
        if load.limited is not False and (limit := facts.throttles.limit(broker, side)) is not None
    }


def holds_original(facts: Facts, side: Side) -> dict[ProblemKey, bool | None]:
    """Find brokers whose limit keeps a replica out of the ISR that was in it and does not move.

    Unknown at a rate below the limit. A window of few large responses forgets them at once: the rate falls for some
    seconds, and meanwhile the limit of the other side holds the replica back.
    """
    replicas = facts.indexed.snapshot.replicas
    out = facts.in_sync[side] & facts.needs.behind & ~replicas.in_isr & ~replicas.adding
    # A replica that does not answer is down, not held back.
    out &= ~replicas.offline & (replicas.end != UNKNOWN)
    limits, brokers = facts.needs.limits[side], facts.indexed.brokers
    binding = binding_limits(facts.indexed, limits, throttled_rates(facts.indexed, side))
    held_back = brokers_of(facts, out, side)
    return {
        (broker, side, Problem.HOLDS_ORIGINAL): binds or None
        for broker, binds in zip(brokers[held_back].tolist(), binding[held_back].tolist(), strict=True)
    }


def fetch_size(facts: Facts, side: Side) -> Bools:
    """(B,) limits that one fetch response may exceed (KIP-73: fetch size, window and network)."""
    configs = [facts.indexed.snapshot.broker_configs.get(broker) for broker in facts.indexed.brokers.tolist()]
    known = [config or BrokerConfig() for config in configs]
    own = np.array([float(config.replica_fetch_response_max_bytes) for config in known])
    # A leader sends responses as large as its followers ask for.
    asked = max((float(c.replica_fetch_response_max_bytes) for c in configs if c is not None), default=0.0)
    fetch = np.full(len(own), asked) if side is Side.LEADER else own
    window = np.array([config.quota_window_num * config.quota_window_size for config in known])
    configured = facts.parameters.network_bytes_per_second
    network = UNLIMITED if configured is None else configured
    brokers = sum(not broker.gone for broker in facts.indexed.snapshot.brokers.values())
    limit = facts.needs.limits[side]
    largest = throttle.largest_fetch(limit, max(brokers, 1), window, network)
    return formulas.fetch_too_large(limit, facts.named[side].any, fetch, largest)


def idle_rate(facts: Facts, side: Side) -> Bools:
    """(B,) limits that are set while no list of any topic names a replica; in a move that is `lopsided`."""
    in_use = not facts.throttles.lists_known or any(facts.throttles.lists.values())
    return formulas.idle_rate(facts.needs.limits[side], in_use) & ~facts.needs.taking_part


def log_dirs_idle(facts: Facts) -> Bools:
    """(B,) a limit for moves between log directories while nothing moves: there is no list for them."""
    snapshot = facts.indexed.snapshot
    in_use = bool(snapshot.future_replicas) or bool(snapshot.partitions.reassigning.any())
    answering = np.isin(facts.indexed.brokers, [directory.broker for directory in snapshot.log_dirs])
    return answering & formulas.idle_rate(facts.needs.limits[Side.LOG_DIRS], in_use or not snapshot.reassignments_known)
