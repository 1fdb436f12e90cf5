"""A plan as JSON: stable keys (docs/reference/plan.md). Most keys are fields of a dataclass."""

import json
import math
from typing import Any, Final

import numpy as np

from kafka_warden.planning.commands import (
    Where,
    creation_commands,
    election_json,
    metric_checks,
    move_checks,
    move_commands,
)
from kafka_warden.planning.creation import Creation
from kafka_warden.planning.findings import PlanVerdict, notes, problems, verdict, warnings
from kafka_warden.planning.inbound import InboundRates, Percentile, outdated, total
from kafka_warden.planning.json_values import NOTHING_COPIED, UNLIMITED, Value, to_document, values_of
from kafka_warden.planning.plan import MovePlan
from kafka_warden.planning.reassignment import to_json

FORMAT: Final = 1
"""Increased when a key changes its meaning or is removed; keys may be added."""


def move_document(plan: MovePlan, inbound: InboundRates, where: Where | None) -> dict[str, Any]:
    """Return the plan for a reassignment. `where`: `None` for no commands."""
    return to_document(
        {
            "format": FORMAT,
            "kind": "reassignment",
            "verdict": str(verdict(plan)),
            "problems": problems(plan),
            "warnings": [*outdated(inbound, plan.snapshot.time), *warnings(plan)],
            "notes": notes(plan),
            "goal": plan.goal,
            "measured": _measured(inbound),
            "throttle": Value(plan.choice, NOTHING_COPIED),
            "move": _move(plan),
            "sides": _sides(plan),
            "brokers": plan.rooms,
            "partitions": plan.moving,
            "commands": () if where is None else move_commands(plan, where),
            "checks": () if where is None else move_checks(plan, where),
            "metrics": metric_checks(plan),
            "rollback_plan": _rollback(plan),
            "election": json.loads(election_json(plan)),
            "rollback": json.loads(to_json(plan.rollback)),
        }
    )


def creation_document(creation: Creation, where: Where) -> dict[str, Any]:
    """Return the plan for a new topic, or for more partitions of one."""
    return to_document(
        {
            "format": FORMAT,
            "kind": "creation",
            "verdict": str(PlanVerdict.POSSIBLE if creation.fits else PlanVerdict.IMPOSSIBLE),
            "problems": creation.reasons,
            "topic": creation.topic,
            "partitions_before": len(creation.existing),
            "partitions": creation.total,
            "replication_factor": creation.factor,
            "counted": creation.counted,
            "cluster": {
                "partitions_before": creation.cluster_before,
                "partitions_after": creation.cluster_before + creation.partitions * creation.counted,
                "limit": Value(creation.cluster_limit, infinite=UNLIMITED),
            },
            "broker_limit": Value(creation.broker_limit, infinite=UNLIMITED),
            "brokers": [{"broker": broker, **values_of(count)} for broker, count in creation.brokers.items()],
            "commands": creation_commands(creation, where),
        }
    )


def _measured(inbound: InboundRates) -> dict[str, Any]:
    return {
        "seconds": inbound.longest,
        "polls": inbound.polls,
        **({"percentile": 100 * inbound.share} if isinstance(inbound, Percentile) else {}),
        "bytes_in_per_second": total(inbound.rates),
        "partitions_measured": int(np.isfinite(inbound.rates).sum()),
        "partitions": len(inbound.rates),
    }


def _move(plan: MovePlan) -> dict[str, Any]:
    unknown = "the size or the rate of a partition is unknown" if plan.loads else NOTHING_COPIED
    move_time = Value(plan.move_time, unknown)
    if not plan.move_time_applies:
        move_time = Value(None, "partitions or inbound rates are too uneven for the formula of KIP-73")
    return {
        "partitions": sum(bool(partition.arriving) for partition in plan.moving),
        "replicas": plan.copies,
        "bytes": plan.copied,
        "ratio": plan.ratio,
        "kip73_seconds": move_time,
        "predicted_seconds": Value(plan.predicted),
        "at_bytes_per_second": Value(plan.choice and plan.choice.assumed_limit, NOTHING_COPIED, UNLIMITED),
        "bottleneck": Value(
            plan.last and {"broker": plan.last[0].broker, "side": str(plan.last[0].side)}, NOTHING_COPIED
        ),
    }


def _rollback(plan: MovePlan) -> Value:
    back, problem = plan.rollback_plan, plan.rollback_problem
    if back is None:
        return Value(None, problem)
    return Value(
        {
            "replicas": back.copies,
            "bytes": back.copied,
            "bytes_per_second": Value(back.limit, problem or NOTHING_COPIED),
            "predicted_seconds": Value(back.predicted),
        }
    )


def _sides(plan: MovePlan) -> list[dict[str, Any]]:
    at = plan.choice.assumed_limit if plan.choice is not None else math.inf
    return [
        {
            **values_of(load),
            "needed_bytes_per_second": load.needed(plan.goal.deadline),
            "net_bytes_per_second": load.net(at),
            "predicted_seconds": Value(load.seconds(at)),
        }
        for load in plan.loads
    ]
