"""`kafka-warden pipeline moves`: every reassignment, and every move between log directories."""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.marts import write
from kafka_warden.pipeline.marts.moves import MOVE_SAMPLES, MOVES
from kafka_warden.pipeline.moves.move_lifetimes import move_lifetimes
from kafka_warden.pipeline.moves.samples import MOVE, hosts, move_samples
from kafka_warden.pipeline.session import persisted, set_shuffle_partitions
from kafka_warden.pipeline.timeline import POLL, moment

_MOMENTS: Final = ("began", "ended", "last_seen", "eta_first_at")


def run(request: Request[None]) -> None:
    """Write the marts `moves` and `move_samples`."""
    set_shuffle_partitions(request.spark, request.history.rows("replicas"))
    with persisted(move_samples(request.history)) as shown:
        with request.progress.step("moves: samples"):
            write(MOVE_SAMPLES, samples_of(shown), request.output)
        with request.progress.step("moves: lifetimes"):
            placed = request.history.table("brokers").select(*POLL, "broker", "placed")
            found = move_lifetimes(shown, hosts(request.history, shown), placed)
            moves = found.withColumns({name: moment(name) for name in _MOMENTS}).select(*MOVES.names)
            write(MOVES, moves, request.output)


def samples_of(shown: DataFrame) -> DataFrame:
    """Return the mart `move_samples`."""
    of_life = Window.partitionBy(*MOVE, "life")
    return (
        shown.withColumns({"began": F.min("at").over(of_life), "time": F.col("at")})
        .withColumns({name: moment(name) for name in ("began", "time")})
        .select(*MOVE_SAMPLES.names)
    )


JOB: Final[Job[None]] = Job(
    "moves", "every move: bytes, rate, throttle, stalls, prediction", lambda _: None, lambda _: None, run
)
