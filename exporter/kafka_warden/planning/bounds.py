"""KIP-73's bounds of the brokers that copies go through, and the throttle inside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_warden.planning.choice import Choice, Goal, choose
from kafka_warden.planning.during_move import During
from kafka_warden.planning.loads import Load


@dataclass(frozen=True, slots=True)
class Bounds:
    """KIP-73's bounds of one broker, bytes per second; `None` where they are not known or the network is not."""

    lower: float | None
    upper: float | None


def derive_bounds(planned: During, loads: Sequence[Load], network: float | None) -> dict[int, Bounds]:
    """Find the bounds of the brokers of some loads, by id. `network`: bytes per second of one broker, if configured."""
    lower = planned.lower_bounds()
    upper = planned.upper_bounds(network) if network is not None else {}
    return {broker: Bounds(lower[broker], upper.get(broker)) for broker in sorted({load.broker for load in loads})}


def choose_within(loads: Sequence[Load], goal: Goal, bounds: Mapping[int, Bounds]) -> Choice | None:
    """Choose the throttle for some loads; `None` where there is none, as nothing is copied."""
    if not loads:
        return None
    upper = {broker: bound.upper for broker, bound in bounds.items()} if goal.network is not None else None
    return choose(loads, goal, {broker: bound.lower for broker, bound in bounds.items()}, upper)
