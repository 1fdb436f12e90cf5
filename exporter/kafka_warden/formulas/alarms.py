"""How good a rule is: what it fired for, against what happened."""

from typing import Any

from kafka_warden.formulas.ops import Ops, V


def precision(ops: Ops[V], true_alarms: V, false_alarms: V) -> Any:
    """Share of the alarms that were about something; unknown where there were none."""
    return ops.divide(true_alarms, true_alarms + false_alarms)


def recall(ops: Ops[V], caught: V, missed: V) -> Any:
    """Share of what happened that an alarm told of; unknown where nothing happened."""
    return ops.divide(caught, caught + missed)


def fires(holds_for: V, wanted: V) -> Any:
    """Whether a condition that held so long fires: Prometheus' `for`, of which 0 fires at once."""
    return holds_for >= wanted
