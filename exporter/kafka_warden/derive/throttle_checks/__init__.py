"""The table of throttle problems, read from one poll (judgement.md 4). `throttle_problems.py` has the clocks."""

from kafka_warden.derive.throttle_checks import limits, lists
from kafka_warden.derive.throttle_checks.facts import Facts, ProblemKey, limit_of_rows
from kafka_warden.derive.throttles import SIDES
from kafka_warden.formulas.throttle_problems import Problem
from kafka_warden.model import Bools, Side

__all__ = ["Facts", "ProblemKey", "judge", "limit_of_rows"]


def judge(facts: Facts) -> dict[ProblemKey, bool | None]:
    """Tell what holds; `None` is what cannot be told, what is not mentioned does not hold."""
    found = limits.below_inbound(facts)
    columns: list[tuple[Side, Problem, Bools]] = []
    for side in SIDES:
        columns += [
            (side, Problem.BLOCKED, limits.blocked(facts, side)),
            (side, Problem.HOLDS_ORIGINAL, limits.holds_original(facts, side)),
            (side, Problem.UNEVEN, lists.uneven(facts, side)),
            (side, Problem.LOPSIDED, lists.lopsided(facts, side)),
            (side, Problem.FETCH_SIZE, limits.fetch_size(facts, side)),
            (side, Problem.IDLE_RATE, limits.idle_rate(facts, side)),
        ]
        found |= lists.left_behind(facts, side)
    columns += [
        (Side.LOG_DIRS, Problem.BLOCKED, limits.log_dirs_blocked(facts)),
        (Side.LOG_DIRS, Problem.IDLE_RATE, limits.log_dirs_idle(facts)),
    ]
    for side, problem, column in columns:
        found |= {(broker, side, problem): True for broker in facts.frame.brokers[column].tolist()}
    return found | lists.named_in_vain(facts)
