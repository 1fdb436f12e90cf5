"""`kafka-warden pipeline moves`: every reassignment, and every move between log directories."""

from collections.abc import Callable
from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline import marks
from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.marts import Mart, write
from kafka_warden.pipeline.marts.moves import MOVE_SAMPLES, MOVES
from kafka_warden.pipeline.moves.move_lifetimes import move_lifetimes
from kafka_warden.pipeline.moves.samples import MOVE, hosts, move_samples
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.session import persisted, set_shuffle_partitions
from kafka_warden.pipeline.stored_history import StoredHistory
from kafka_warden.pipeline.timeline import DAY, POLL, moment

_MOMENTS: Final = ("began", "ended", "last_seen", "eta_first_at")


def run(request: Request[None]) -> None:
    """Write the marts `moves` and `move_samples`.

    Raises:
        StoreError: the store cannot be used.
    """
    store = request.store
    if store is None:
        _moves(request.history, lambda mart, frame: write(mart, frame, request.output), request.progress)
        return
    with marks.working(store, JOB.name, *request.history.span) as work:
        if work.hours:
            again = marks.unended(store, MOVES, work)
            history = StoredHistory(store, only=again.raw, done=work.done)
            _moves(history, lambda mart, frame: again.replace(work, mart, frame), request.progress)
    request.progress.say(f"moves: of {len(work.hours)} clusters, up to batch {work.done}")


def _moves(history: History, put: Callable[[Mart, DataFrame], None], progress: Progress) -> None:
    set_shuffle_partitions(history.spark, history.rows("replicas"))
    with persisted(move_samples(history)) as shown:
        with progress.step("moves: samples"):
            put(MOVE_SAMPLES, samples_of(shown))
        with progress.step("moves: lifetimes"):
            placed = history.table("brokers").select(*POLL, "broker", "placed")
            found = move_lifetimes(shown, hosts(history, shown), placed)
            put(MOVES, found.withColumns({name: moment(name) for name in _MOMENTS}).select(*MOVES.names))


def samples_of(shown: DataFrame) -> DataFrame:
    """Return the mart `move_samples`."""
    of_life = Window.partitionBy(*MOVE, "life")
    return (
        shown.withColumns(
            {
                "began": F.min("at").over(of_life),
                "ended": F.max_by("next_at", "n").over(of_life),
                "time": F.col("at"),
                "date": F.date_from_unix_date(F.floor(F.col("at") / DAY).cast("int")),
            }
        )
        .withColumns({name: moment(name) for name in ("began", "ended", "time")})
        .select(*MOVE_SAMPLES.names)
    )


JOB: Final[Job[None]] = Job(
    "moves", "every move: bytes, rate, throttle, stalls, prediction", lambda _: None, lambda _: None, run
)
