"""Tables of the problems of throttles and of tiered storage: since when each holds."""

from collections.abc import Mapping, Sequence

from kafka_warden.derive.saved.values import Clock, Row
from kafka_warden.derive.throttle_problems.facts import ProblemKey
from kafka_warden.derive.tiered import Holding, Key
from kafka_warden.formulas.throttle_problems import Held
from kafka_warden.formulas.throttle_problems import Problem as ThrottleProblem
from kafka_warden.formulas.tiered_problems import Problem as TieredProblem
from kafka_warden.model import Side


def write_held(problems: Mapping[ProblemKey, Held], clock: Clock) -> list[Row]:
    """Write down the problems of throttles."""
    return [
        {"broker": broker, "side": side, "problem": problem, "polls": held.polls, "since": clock.write(held.since)}
        for (broker, side, problem), held in problems.items()
    ]


def read_held(rows: Sequence[Row], clock: Clock) -> dict[ProblemKey, Held]:
    """Read them back."""
    return {
        (row["broker"], Side(row["side"]), ThrottleProblem(row["problem"])): Held(
            clock.read(row["since"]), int(row["polls"])
        )
        for row in rows
    }


def write_holdings(problems: Mapping[Key, Holding], clock: Clock) -> list[Row]:
    """Write down the problems of tiered storage."""
    return [
        {
            "broker": broker,
            "problem": problem,
            "shown": held.shown,
            "seen": held.seen,
            "start": None if held.start is None else clock.write(held.start),
        }
        for (broker, problem), held in problems.items()
    ]


def read_holdings(rows: Sequence[Row], clock: Clock) -> dict[Key, Holding]:
    """Read them back."""
    return {
        (row["broker"], TieredProblem(row["problem"])): Holding(
            bool(row["shown"]), bool(row["seen"]), None if row["start"] is None else clock.read(row["start"])
        )
        for row in rows
    }
