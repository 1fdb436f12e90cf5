"""A plan as JSON: stable keys (docs/plan.md), base units; unknown and infinite values are `null` with a reason."""

import json
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from kafka_warden.model import UNKNOWN
from kafka_warden.planning.commands import (
    Command,
    Where,
    creation_commands,
    election_json,
    metric_checks,
    move_checks,
    move_commands,
)
from kafka_warden.planning.creation import Creation
from kafka_warden.planning.findings import Verdict, notes, problems, verdict, warnings
from kafka_warden.planning.inbound import InboundRates, Percentile, outdated, total
from kafka_warden.planning.loads import Load
from kafka_warden.planning.moving import Moving
from kafka_warden.planning.plan import MovePlan
from kafka_warden.planning.reassignment import to_json
from kafka_warden.planning.room import Room

FORMAT: Final = 1
"""Increased when a key changes its meaning or is removed; keys may be added."""

UNLIMITED: Final = "unlimited"
NEVER: Final = "never"
UNKNOWN_INBOUND: Final = "the inbound rate of a replica is unknown"
NO_NETWORK: Final = "network.bytes_per_second is not set"
CONTRADICTION: Final = "deadline and share contradict"
NOTHING_COPIED: Final = "nothing is copied"
NOT_REPORTED: Final = "not reported by the broker"


class _Reasons:
    """Collects the reasons of null values, by the path of their key."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def number(self, path: str, value: float | None, unknown: str, infinite: str = UNLIMITED) -> float | None:
        """Return a finite number; for others return `None` and store the reason."""
        if value is not None and math.isfinite(value):
            return value
        self.found[path] = unknown if value is None else infinite
        return None


def move_document(plan: MovePlan, inbound: InboundRates, where: Where | None) -> dict[str, Any]:
    """Return the plan for a reassignment. `where`: `None` for no commands."""
    why = _Reasons()
    return {
        "format": FORMAT,
        "kind": "reassignment",
        "verdict": str(verdict(plan)),
        "problems": list(problems(plan)),
        "warnings": [*outdated(inbound, plan.snapshot.time), *warnings(plan)],
        "notes": list(notes(plan)),
        "goal": {
            "deadline_seconds": plan.goal.deadline,
            "max_network_share": why.number("goal.max_network_share", plan.goal.share, "not asked for"),
            "network_bytes_per_second": why.number("goal.network_bytes_per_second", plan.goal.network, NO_NETWORK),
        },
        "measured": _measured(inbound),
        "throttle": _throttle(plan, why),
        "move": _move(plan, why),
        "sides": [_side(plan, load, f"sides[{index}]", why) for index, load in enumerate(plan.loads)],
        "brokers": [_broker(plan, room, f"brokers[{index}]", why) for index, room in enumerate(plan.rooms)],
        "partitions": [_partition(moving, f"partitions[{index}]", why) for index, moving in enumerate(plan.moving)],
        "commands": [] if where is None else _commands(move_commands(plan, where)),
        "checks": [] if where is None else _commands(move_checks(plan, where)),
        "metrics": [{"query": query, "expect": expect} for query, expect in metric_checks(plan)],
        "rollback_plan": _rollback(plan, why),
        "election": json.loads(election_json(plan)),
        "rollback": json.loads(to_json(plan.rollback)),
        "reasons": why.found,
    }


def creation_document(creation: Creation, where: Where) -> dict[str, Any]:
    """Return the plan for a new topic, or for more partitions of one."""
    why = _Reasons()
    return {
        "format": FORMAT,
        "kind": "creation",
        "verdict": str(Verdict.POSSIBLE if creation.fits else Verdict.IMPOSSIBLE),
        "problems": list(creation.reasons),
        "topic": creation.topic,
        "partitions_before": len(creation.existing),
        "partitions": creation.total,
        "replication_factor": creation.factor,
        "counted": creation.counted,
        "cluster": {
            "partitions_before": creation.cluster_before,
            "partitions_after": creation.cluster_before + creation.partitions * creation.counted,
            "limit": why.number("cluster.limit", creation.cluster_limit, UNLIMITED),
        },
        "broker_limit": why.number("broker_limit", creation.broker_limit, UNLIMITED),
        "brokers": [
            {
                "broker": broker,
                "partitions_before": count.before,
                "partitions_after": why.number(f"brokers[{index}].partitions_after", count.after, "it does not fit"),
            }
            for index, (broker, count) in enumerate(creation.brokers.items())
        ],
        "commands": _commands(creation_commands(creation, where)),
        "reasons": why.found,
    }


def _measured(inbound: InboundRates) -> dict[str, Any]:
    return {
        "seconds": inbound.longest,
        "polls": inbound.polls,
        **({"percentile": 100 * inbound.share} if isinstance(inbound, Percentile) else {}),
        "bytes_in_per_second": total(inbound.rates),
        "partitions_measured": int(np.isfinite(inbound.rates).sum()),
        "partitions": len(inbound.rates),
    }


def _throttle(plan: MovePlan, why: _Reasons) -> dict[str, Any]:
    choice, upper = plan.choice, NO_NETWORK if plan.goal.network is None else UNKNOWN_INBOUND
    allowed = why.number("throttle.allowed_bytes_per_second", plan.goal.most, NOTHING_COPIED, NO_NETWORK)
    found: dict[str, float | None] = {"allowed_bytes_per_second": allowed}
    for key, name, unknown in (
        ("bytes_per_second", "limit", CONTRADICTION),
        ("needed_bytes_per_second", "needed", NOTHING_COPIED),
        ("least_deadline_seconds", "least_deadline", NOTHING_COPIED),
        ("least_network_share", "least_share", NO_NETWORK),
        ("lower_bound_bytes_per_second", "lower_bound", UNKNOWN_INBOUND),
        ("upper_bound_bytes_per_second", "upper_bound", upper),
    ):
        value, reason = (None, NOTHING_COPIED) if choice is None else (getattr(choice, name), unknown)
        found[key] = why.number(f"throttle.{key}", value, reason, NEVER)
    return found


def _move(plan: MovePlan, why: _Reasons) -> dict[str, Any]:
    unknown = NOTHING_COPIED if plan.choice is None else "the size or the rate of a partition is unknown"
    move_time = plan.move_time
    if not plan.move_time_applies:
        move_time, unknown = None, "partitions or inbound rates are too uneven for the formula of KIP-73"
    last = plan.last[0] if plan.last is not None else None
    if last is None:
        why.found["move.bottleneck"] = NOTHING_COPIED
    return {
        "partitions": sum(bool(partition.arriving) for partition in plan.moving),
        "replicas": plan.copies,
        "bytes": plan.copied,
        "ratio": plan.ratio,
        "kip73_seconds": why.number("move.kip73_seconds", move_time, unknown, NEVER),
        "predicted_seconds": why.number("move.predicted_seconds", plan.predicted, NOTHING_COPIED, NEVER),
        "at_bytes_per_second": why.number(
            "move.at_bytes_per_second", None if plan.choice is None else plan.choice.assumed_limit, NOTHING_COPIED
        ),
        "bottleneck": None if last is None else {"broker": last.broker, "side": str(last.side)},
    }


def _rollback(plan: MovePlan, why: _Reasons) -> dict[str, Any]:
    back = plan.rollback_plan
    unknown = back.why or NOTHING_COPIED
    names = {"replicas": "replicas", "bytes": "bytes", "bytes_per_second": "limit", "predicted_seconds": "predicted"}
    return {
        name: why.number(f"rollback_plan.{name}", getattr(back, field), unknown, NEVER) for name, field in names.items()
    }


def _side(plan: MovePlan, load: Load, path: str, why: _Reasons) -> dict[str, Any]:
    at = plan.choice.assumed_limit if plan.choice is not None else math.inf
    return {
        "broker": load.broker,
        "side": str(load.side),
        "floor_bytes_per_second": load.floor,
        "bytes_in_per_second": load.bytes_in,
        "bytes": load.remaining,
        "burst_bytes": load.burst,
        "needed_bytes_per_second": load.needed(plan.goal.deadline),
        "net_bytes_per_second": load.net(at),
        "predicted_seconds": why.number(f"{path}.predicted_seconds", load.seconds(at), NOTHING_COPIED, NEVER),
    }


def _broker(plan: MovePlan, room: Room, path: str, why: _Reasons) -> dict[str, Any]:
    bounds, disk, counts = plan.bounds.get(room.broker), room.disk, room.partitions
    unknown = "it has no copies" if bounds is None else UNKNOWN_INBOUND
    upper = NO_NETWORK if plan.goal.network is None and bounds is not None else unknown
    if disk.fits is None:
        why.found[f"{path}.disk.fits"] = disk.why
    return {
        "broker": room.broker,
        "sends_bytes": room.sends,
        "receives_bytes": room.receives,
        "lower_bound_bytes_per_second": why.number(
            f"{path}.lower_bound_bytes_per_second", bounds.lower if bounds else None, unknown
        ),
        "upper_bound_bytes_per_second": why.number(
            f"{path}.upper_bound_bytes_per_second", bounds.upper if bounds else None, upper
        ),
        "partitions": {
            "before": counts.before,
            "during": counts.during,
            "after": counts.after,
            "limit": why.number(f"{path}.partitions.limit", counts.limit, UNLIMITED),
            "fits": counts.fits,
        },
        "disk": {
            name: why.number(f"{path}.disk.{name}", value, NOT_REPORTED)
            for name, value in (
                ("bytes_before", disk.before),
                ("bytes_during", disk.during),
                ("bytes_after", disk.after),
                ("usable_bytes", disk.usable),
                ("capacity_bytes", disk.capacity),
            )
        }
        | {"fits": disk.fits},
    }


def _partition(moving: Moving, path: str, why: _Reasons) -> dict[str, Any]:
    leader = moving.leader if moving.leader != UNKNOWN else None
    return {
        "topic": moving.topic,
        "partition": moving.number,
        "leader": why.number(f"{path}.leader", leader, "it has none"),
        "replicas_before": list(moving.sources),
        "replicas_after": list(moving.replicas),
        "copied_to": [one.broker for one in moving.arriving],
        "bytes": sum((one.remaining for one in moving.arriving), 0.0),
        "in_file": moving.asked,
        "moves_already": moving.under_way,
    }


def _commands(commands: Sequence[Command]) -> list[dict[str, str]]:
    return [{"purpose": one.purpose, "about": one.about, "command": one.line} for one in commands]
