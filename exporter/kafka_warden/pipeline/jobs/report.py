"""The job `report`: HTML pages from the marts of the other jobs. It reads no history."""

import argparse
import shlex
from argparse import ArgumentParser
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from typing import Final

from pyspark.sql import DataFrame

from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.marts import MARTS as OF_JOBS
from kafka_warden.pipeline.report.build import build
from kafka_warden.pipeline.report.page import Head
from kafka_warden.pipeline.report.reading import Marts
from kafka_warden.pipeline.report.saving import save
from kafka_warden.pipeline.store import of_mart


@dataclass(frozen=True, slots=True)
class Options:
    """What the user chose."""

    title: str = "Kafka fleet report"
    moves: int = 12
    """Moves with a plot of their own, per cluster."""
    made: str = ""
    """Time of creation to print; empty by default, so that the same marts give the same page."""


MARTS: Final = {mart.name: mart for job in ("rollup", "moves", "backtest", "forecast") for mart in OF_JOBS[job]}
"""The marts that the page shows."""
MOST_DRAWN: Final = 60
"""Moves with a plot of their own; a page with more would be slow to open."""


def run(request: Request[Options]) -> None:
    """Write the pages to the folder of the store.

    Raises:
        StoreError: the store cannot be used, or a page not be written.
    """
    options, store = request.options, request.store
    store.open()

    def find(name: str) -> DataFrame | None:
        return store.find(of_mart(MARTS[name]))

    def command(job: str) -> str:
        return shlex.join(["kafka-warden", "pipeline", job, "--store", store.given])

    version = "unknown"
    with suppress(metadata.PackageNotFoundError):
        version = metadata.version("kafka-warden")
    with request.progress.step("report"):
        head = Head(options.title, store.given, version, options.made)
        for name, text in build(Marts(find, command), head, options.moves):
            place = save(text, store.given, name)
            request.progress.say(f"{place}: {len(text.encode()) / 1e6:.1f} MB")


def _add_flags(command: ArgumentParser) -> None:
    add, default = command.add_argument, Options()
    add("--title", default=default.title, metavar="TEXT", help=f"of the report (default: {default.title})")
    add(
        "--moves",
        type=_number,
        default=default.moves,
        metavar="N",
        help="moves of a cluster with their own plot (default: 12)",
    )
    add("--made", default="", metavar="TIME", help="time of creation, for the top of the pages (default: none)")


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST_DRAWN:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to {MOST_DRAWN}, got {text!r}")
    return int(text)


JOB: Final = Job(
    "report",
    "an index and a page per cluster, with plots from the marts of the other jobs",
    _add_flags,
    lambda parsed: Options(parsed.title, parsed.moves, parsed.made),
    run,
)
