"""One plan as a row of the mart."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kafka_warden.pipeline.marts.plan import PLANS
from kafka_warden.planning.findings import problems, verdict
from kafka_warden.planning.inbound import Percentile, total
from kafka_warden.planning.plan import MovePlan


def row(plan: MovePlan, assumed: Percentile, document: dict[str, Any], file: Path, chosen: float) -> tuple[Any, ...]:
    """Return the row, in the order of the mart. `chosen`: the share of the plan that is printed in full."""
    seen, choice = plan.snapshot, plan.choice
    values: dict[str, Any] = {
        "cluster_id": seen.cluster_id,
        "percentile": 100 * assumed.share,
        "as_of": datetime.fromtimestamp(seen.time, UTC),
        "polls": assumed.polls,
        "span": assumed.longest,
        "file": str(file),
        "chosen": assumed.share == chosen,
        "verdict": str(verdict(plan)),
        "problems": list(problems(plan)),
        "deadline": plan.goal.deadline,
        "bytes_in": total(assumed.rates),
        "copied": plan.copied,
        "throttle": None if plan.limit is None else float(plan.limit),
        "allowed": plan.goal.most,
        "move_ratio": plan.ratio,
        "move_time": plan.move_time,
        "predicted": plan.predicted,
        "document": json.dumps(document, allow_nan=False),
    }
    if choice is not None:
        values |= {name: getattr(choice, name) for name in ("needed", "lower_bound", "upper_bound", "least_deadline")}
    if plan.last is not None:
        load, _ = plan.last
        values |= {"bottleneck_broker": load.broker, "bottleneck_side": str(load.side)}
    return tuple(values.get(name) for name in PLANS.names)
