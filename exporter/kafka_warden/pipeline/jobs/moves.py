"""`kafka-warden pipeline moves`: every reassignment, and every move between log directories."""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline import marks
from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.marts.moves import MOVE_SAMPLES, MOVES, REASSIGNMENTS
from kafka_warden.pipeline.moves.move_lifetimes import move_lifetimes
from kafka_warden.pipeline.moves.reassignments import reassignments
from kafka_warden.pipeline.moves.samples import MOVE, hosts, move_polls, move_samples
from kafka_warden.pipeline.session import persisted, set_shuffle_partitions
from kafka_warden.pipeline.store import in_list, of_mart
from kafka_warden.pipeline.timeline import DAY, POLL, moment

_MOMENTS: Final = ("began", "ended", "last_seen", "eta_first_at")


def run(request: Request[None]) -> None:
    """Write the marts `moves`, `move_samples` and `reassignments`.

    Raises:
        StoreError: the store cannot be used.
    """
    with marks.working(request.store, JOB.name, *request.span) as work:
        if work.hours:
            set_shuffle_partitions(request.spark, work.rows)
            _moves(request, work)
    request.progress.say(f"moves: of {len(work.hours)} clusters, up to batch {work.done}")


def _moves(request: Request[None], work: marks.Work) -> None:
    again = marks.unended(request.store, MOVES, work)
    history = History(request.store, only=again.raw, done=work.done)
    with persisted(move_polls(history)) as polls, persisted(move_samples(history, polls)) as shown:
        with request.progress.step("moves: samples"):
            again.replace(work, MOVE_SAMPLES, samples_of(shown))
        with request.progress.step("moves: lifetimes"):
            placed = history.table("brokers").select(*POLL, "broker", "placed")
            found = move_lifetimes(shown, hosts(history, shown), placed)
            lives = found.withColumns({name: moment(name) for name in _MOMENTS}).select(*MOVES.names)
            again.replace(work, MOVES, lives)
    with request.progress.step("moves: reassignments"):
        # Of all stored moves: one that ended long ago may be of the same reassignment as one that goes on.
        mine = in_list("cluster_id", work.hours)
        stored = request.store.read(of_mart(MOVES)).where(mine)
        marks.replace(work, REASSIGNMENTS, reassignments(stored), mine)


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
