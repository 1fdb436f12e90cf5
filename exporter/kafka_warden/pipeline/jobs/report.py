"""The job `report`: one HTML page out of the marts of the other jobs. It reads the output, and no history."""

import argparse
import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Final

from pyspark.sql import DataFrame

from kafka_warden.errors import MartError
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.marts import Mart, backtest, forecast, moves, read, rollup
from kafka_warden.pipeline.report.build import build
from kafka_warden.pipeline.report.reading import Marts
from kafka_warden.pipeline.report.saving import save


@dataclass(frozen=True, slots=True)
class Options:
    """What the page is to be like.

    Attributes:
        title: Of the page.
        moves: How many moves are drawn by themselves.
        made: The time of making, as it is to be written; empty for none, so that the same marts give the same page.
    """

    title: str = "Kafka fleet report"
    moves: int = 12
    made: str = ""


_DEFAULT: Final = Options()

MOST_DRAWN: Final = 60
"""Moves drawn by themselves; a page with more would be slow to open."""


def run(request: Request[Options]) -> None:
    """Read the marts and write the page beside them.

    Raises:
        MartError: The page cannot be written there.
    """
    options = request.options
    marts = Marts(lambda name: _find(request, name), lambda job: _command(request, job))
    with request.progress.step("report"):
        text = build(marts, options.title, str(request.input), _version(), options.made, options.moves)
        place = save(request.spark, text, request.output)
    request.progress.say(f"{place}: {len(text.encode()) / 1e6:.1f} MB")


def described() -> Mapping[str, Mart]:
    """Name to description of every mart that is shown."""
    return {mart.name: mart for made in (rollup, moves, backtest, forecast) for mart in made.MARTS}


def _find(request: Request[Options], name: str) -> DataFrame | None:
    try:
        return read(request.spark, described()[name], request.output)
    except MartError:
        return None


def _command(request: Request[Options], job: str) -> str:
    return shlex.join(["kafka-warden", "pipeline", job, "--input", str(request.input), "--output", str(request.output)])


def _version() -> str:
    try:
        return metadata.version("kafka-warden")
    except metadata.PackageNotFoundError:
        return "unknown"


def _add_flags(command: ArgumentParser) -> None:
    command.add_argument(
        "--title", default=_DEFAULT.title, metavar="TEXT", help=f"of the page (default: {_DEFAULT.title})"
    )
    command.add_argument(
        "--moves",
        type=_number,
        default=_DEFAULT.moves,
        metavar="NUMBER",
        help="moves drawn by themselves (default: 12)",
    )
    command.add_argument(
        "--made", default="", metavar="TIME", help="time of making, for the page's top (default: none)"
    )


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST_DRAWN:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to {MOST_DRAWN}, got {text!r}")
    return int(text)


def _read_flags(parsed: Namespace) -> Options:
    return Options(parsed.title, parsed.moves, parsed.made)


JOB: Final = Job(
    "report",
    "Make one page with plots out of the marts of the other jobs.",
    _add_flags,
    _read_flags,
    run,
)
