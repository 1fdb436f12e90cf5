"""The text and the JSON of a plan for two partitions."""

import json
from typing import Any

from kafka_warden.planning.commands import Where, move_commands
from kafka_warden.planning.document import move_document
from kafka_warden.planning.plan import MovePlan
from kafka_warden.planning.reassignment import to_json
from kafka_warden.planning.text import move_text
from tests.support.planned import GB, MB, cluster, measured, plan, sized, to

WHERE = Where("a:9092", "move it.json")
SEEN = cluster({"t": [sized([1, 2], 36 * GB), sized([2, 1], 36 * GB)]}, more=[3])


def usual(**asked: Any) -> MovePlan:
    """Plan to replace one replica of two partitions by one on a third broker."""
    return plan(SEEN, to("t", 0, 3, 2), to("t", 1, 2, 3), bytes_in=MB, **{"network": 125 * MB, "share": 0.3, **asked})


def document(found: MovePlan) -> dict[str, Any]:
    made = move_document(found, measured(SEEN, MB), WHERE)
    back: dict[str, Any] = json.loads(json.dumps(made, allow_nan=False))
    assert back == made
    return back


def lines(found: MovePlan, *purposes: str, where: Where = WHERE) -> list[str]:
    """Return the commands with these purposes."""
    return [command.line for command in move_commands(found, where) if command.purpose in purposes]


def text(found: MovePlan, where: Where = WHERE) -> str:
    return move_text(found, measured(SEEN, MB), where, to_json(found.rollback))
