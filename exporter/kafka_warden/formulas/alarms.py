"""Precision and recall of a rule."""

from typing import Any

from kafka_warden.formulas.ops import Ops, V


def precision(ops: Ops[V], true_alarms: V, false_alarms: V) -> Any:
    """Share of the alarms that were true; unknown without alarms."""
    return ops.divide(true_alarms, true_alarms + false_alarms)


def recall(ops: Ops[V], caught: V, missed: V) -> Any:
    """Share of the events that raised an alarm; unknown without events."""
    return ops.divide(caught, caught + missed)


def fires(holds_for: V, wanted: V) -> Any:
    """Whether a condition that held for so long fires: Prometheus' `for`; 0 fires at once."""
    return holds_for >= wanted
