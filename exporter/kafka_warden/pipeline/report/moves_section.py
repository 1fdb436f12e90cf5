"""The section on moves."""

import math
from collections.abc import Sequence
from typing import Final

from kafka_warden.pipeline.report import moves_plots
from kafka_warden.pipeline.report.moves import Fleet, Move, Samples, chosen, longest, newest, samples_of, summed_up
from kafka_warden.pipeline.report.numbers import amount_of_bytes, duration, instant, plural, rate, share, short
from kafka_warden.pipeline.report.parts import (
    Column,
    Gallery,
    Missing,
    Part,
    Plot,
    Said,
    Section,
    Shown,
    Table,
    numbers,
)
from kafka_warden.pipeline.report.reading import Marts

_TITLE: Final = "Moves"
_NAME: Final = 28
"""Longest name of a move beside a plot; the table of all moves has full names."""

_PREDICTED: Final = (
    "Each dot is a completed move. Below the line it was faster than the sidecar's first ETA of it, above it slower:"
    " the throttle was changed meanwhile, more was produced than before, or the move was stuck."
)
_THROTTLED: Final = (
    "Each dot is a move: its mean rate, and the mean of the lower of its two throttles. A throttle is shared by all"
    " moves of a broker and by in-sync traffic of the listed partitions, so it may also limit a dot below the line."
)
_REASSIGNMENTS: Final = (
    "Moves between brokers that overlap in time are one reassignment; those that began in one poll are a wave. Planned:"
    " the time of the bottleneck by the throttle law, of the first wave. Bottleneck: the broker that was busy last."
)
_OVER_TIME: Final = (
    "The moves that were stuck longest, then those with the worst first ETA, then the longest."
    " Shaded: stuck. The dashed line is the lower of the two throttles."
)


def section(marts: Marts, drawn: int) -> Section:
    """Read and draw the moves, `drawn` of them in a plot of their own."""
    moves = marts.find("moves")
    if moves is None:
        return Section("moves", _TITLE, "Not known: no mart of moves.", (marts.missing("moves", "moves"),))
    fleet = summed_up(moves)
    if not fleet.count:
        nothing = "Nothing was moved in this history."
        return Section("moves", _TITLE, nothing, (Said(nothing),))
    read = longest(moves)
    return Section(
        "moves",
        _TITLE,
        _finding(fleet),
        (*_against(fleet, read), *_stuck(fleet), *_reassignments(marts), *_each(marts, read, drawn)),
    )


def _finding(fleet: Fleet) -> str:
    outcomes = ", ".join(f"{number:,} {outcome}" for outcome, number in fleet.outcomes.items())
    error = (
        ""
        if fleet.median_error is None
        else f" Half of the first ETAs were off by {share(fleet.median_error)} or less."
    )
    stuck = sum(fleet.causes.values())
    longest_cause = f", mostly {next(iter(fleet.causes)).replace('_', ' ')}" if stuck else ""
    stood = f" Stuck for {duration(stuck)} in all{longest_cause}." if stuck else " None was stuck."
    return f"{plural(fleet.count, 'move')}: {outcomes}.{_copied(fleet)}{error}{stood}"


def _copied(fleet: Fleet) -> str:
    if fleet.bytes_copied is None:
        return ""
    amount = amount_of_bytes(fleet.bytes_copied)
    if not fleet.unknown:
        return f" {amount} copied."
    return f" At least {amount} copied: of {plural(fleet.unknown, 'move')} it is unknown."


def _against(fleet: Fleet, read: Sequence[Move]) -> list[Part]:
    left_out = f"{more:,} shorter moves are left out of plots and tables." if (more := fleet.count - len(read)) else ""
    predictable = [move for move in read if move.outcome == "completed" and move.rest]
    limited = [move for move in read if move.rate_mean and move.limit_mean and math.isfinite(move.limit_mean)]
    return [
        _predicted(predictable, left_out)
        if predictable
        else Said("No completed move had an ETA, so there is nothing to compare."),
        _throttles(limited, len(read) - len(limited), left_out)
        if limited
        else Said("No move was throttled and had a known rate."),
    ]


def _predicted(moves: Sequence[Move], left_out: str) -> Shown:
    worst = sorted(moves, key=lambda move: -abs(move.eta_error or 0.0))
    columns = (Column("Move"), *numbers("First ETA", "Took from then", "Error"))
    rows = [
        (short(one.name, _NAME), duration(one.eta_first), duration(one.rest), share(one.eta_error)) for one in worst
    ]
    plot = Plot("The first ETA against real time", _PREDICTED, moves_plots.predicted(moves))
    return Shown(plot, Table("Worst ETA first", columns, rows, left_out))


def _throttles(moves: Sequence[Move], others: int, left_out: str) -> Shown:
    low = sorted(moves, key=lambda move: math.inf if move.use_mean is None else move.use_mean)
    columns = (Column("Move"), *numbers("Mean rate", "Throttle", "Use"))
    rows = [
        (short(move.name, _NAME), rate(move.rate_mean), rate(move.limit_mean), share(move.use_mean)) for move in low
    ]
    without = f"{plural(others, 'move')} without a throttle or with an unknown rate left out." if others else ""
    table = Table("Least used throttle first", columns, rows, " ".join(filter(None, (without, left_out))))
    return Shown(Plot("Rate against the throttle", _THROTTLED, moves_plots.throttled(moves)), table)


def _stuck(fleet: Fleet) -> list[Part]:
    if not fleet.causes:
        return []
    columns = (Column("Cause"), *numbers("Stuck"))
    rows = [(cause.replace("_", " "), duration(seconds)) for cause, seconds in fleet.causes.items()]
    how = "How long moves were stuck, all moves together, by the sidecar's cause."
    plot = Plot("What moves were stuck by", how, moves_plots.causes(fleet.causes))
    return [Shown(plot, Table("Time stuck by cause", columns, rows))]


def _reassignments(marts: Marts) -> list[Part]:
    found = marts.find("reassignments")
    if found is None:
        return [marts.missing("reassignments", "moves")]
    read, left_out = newest(found)
    amounts = numbers("Took", "Planned", "Replicas", "Completed", "Waves", "Copied", "Stuck")
    rows = [
        (
            instant(one.began),
            "running" if one.ended is None else "ended",
            duration(one.seconds),
            duration(one.planned_seconds),
            *(f"{number:,}" for number in (one.replicas, one.completed, one.waves)),
            amount_of_bytes(one.bytes_copied),
            duration(one.stuck_seconds),
            "unknown" if one.bottleneck_broker is None else f"{one.bottleneck_broker}, {one.bottleneck_side}",
        )
        for one in read
    ]
    columns = (Column("Began (UTC)"), Column("State", choice=True), *amounts, Column("Bottleneck"))
    note = _REASSIGNMENTS + (f" {left_out:,} older ones left out." if left_out else "")
    return [Table("Reassignments, the newest first", columns, rows, note)] if rows else []


def _each(marts: Marts, read: Sequence[Move], drawn: int) -> list[Part]:
    samples = marts.find("move_samples")
    if samples is None:
        return [marts.missing("move_samples", "moves"), _listed(read)]
    wanted = chosen(read, drawn)
    found = samples_of(samples, wanted)
    plots = tuple(_small(move, found[place], place) for place, move in enumerate(wanted) if place in found)
    if not plots:
        missing = "The mart move_samples has no two samples of any move, so none is drawn over time."
        return [Missing(missing), _listed(read)]
    left = len(read) - len(plots)
    how = _OVER_TIME + (f" {left:,} of {len(read):,} moves are not drawn here; all are in the table." if left else "")
    return [Gallery("Rate against the throttle, over time", how, plots), _listed(read)]


def _small(move: Move, samples: Samples, place: int) -> Plot:
    took = f"{move.outcome} {'for' if move.outcome == 'running' else 'after'} {duration(move.seconds)}"
    how = f"{amount_of_bytes(move.bytes_copied)} copied, {took}, first ETA {duration(move.eta_first)}."
    return Plot(move.name, how, moves_plots.over_time(move, samples, f"move-{place}"))


def _listed(read: Sequence[Move]) -> Table:
    about = (Column("Kind", choice=True), Column("Move"), Column("Began (UTC)"), Column("Outcome", choice=True))
    amounts = numbers("From", "Took", "MoveTime", "First ETA", "Copied", "Mean rate", "Throttle", "Stalled", "Stuck")
    columns = (*about, *amounts, Column("Causes"))
    return Table("All moves, the longest first", columns, [_row(move) for move in read])


def _row(move: Move) -> tuple[str, ...]:
    return (
        move.kind.replace("_", " "),
        move.name,
        instant(move.began),
        move.outcome,
        "unknown" if move.leader is None else str(move.leader),
        duration(move.seconds),
        duration(move.predicted_seconds),
        duration(move.eta_first),
        amount_of_bytes(move.bytes_copied),
        rate(move.rate_mean),
        rate(move.limit_mean),
        duration(move.stalled_seconds),
        duration(move.stuck_seconds),
        ", ".join(f"{cause.replace('_', ' ')} {duration(seconds)}" for cause, seconds in sorted(move.causes.items())),
    )
