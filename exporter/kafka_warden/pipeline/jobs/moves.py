"""`kafka-warden pipeline moves`: the life of every reassignment, and of every move between log directories."""

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.marts import write
from kafka_warden.pipeline.marts.moves import MOVE_SAMPLES, MOVES
from kafka_warden.pipeline.moves.lives import lives
from kafka_warden.pipeline.moves.samples import MOVE, hosts, move_samples
from kafka_warden.pipeline.session import kept, spread
from kafka_warden.pipeline.timeline import POLL, moment

_MOMENTS: Final = ("began", "ended", "last_seen", "eta_first_at")


@dataclass(frozen=True, slots=True)
class Options:
    """There are none."""


def run(request: Request[Options]) -> None:
    """Write the marts `moves` and `move_samples`."""
    spread(request.spark, request.history.rows("replicas"))
    # What both marts are made of: the rows of moves, few beside those of replicas.
    with kept(move_samples(request.history)) as shown:
        with request.progress.step("moves: samples"):
            write(MOVE_SAMPLES, samples_of(shown), request.output)
        with request.progress.step("moves: lives"):
            write(MOVES, moves_of(request.history, shown), request.output)


def samples_of(shown: DataFrame) -> DataFrame:
    """Make the mart `move_samples`."""
    of_life = Window.partitionBy(*MOVE, "life")
    return (
        shown.withColumns({"began": F.min("at").over(of_life), "time": F.col("at")})
        .withColumns({name: moment(name) for name in ("began", "time")})
        .select(*MOVE_SAMPLES.names)
    )


def moves_of(history: History, shown: DataFrame) -> DataFrame:
    """Make the mart `moves`."""
    placed = history.table("brokers").select(*POLL, "broker", "placed")
    found = lives(shown, hosts(history, shown), placed)
    return found.withColumns({name: moment(name) for name in _MOMENTS}).select(*MOVES.names)


def _add_flags(_: ArgumentParser) -> None:
    pass


def _read_flags(_: Namespace) -> Options:
    return Options()


JOB: Final = Job(
    "moves", "the life of every move: bytes, rate, throttle, stalls, prediction", _add_flags, _read_flags, run
)
