"""The job `rollup`: minutes and hours of replicas, topics, brokers and clusters."""

from typing import Final

from kafka_warden.pipeline import marks, marts
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.rollup.rollup import Target, roll_up
from kafka_warden.pipeline.rollup.samples import of_history, of_tables
from kafka_warden.pipeline.rollup.windows import within
from kafka_warden.pipeline.session import set_shuffle_partitions
from kafka_warden.pipeline.store import Store, of_mart


def run(request: Request[None]) -> None:
    """Roll up the whole history, or what is new in a store."""
    if request.store is not None:
        of_store(request, request.store)
    else:
        batch(request)


def batch(request: Request[None]) -> None:
    """Replace the marts, or of a part of history only its hours."""
    write = marts.write if request.history.whole else marts.write_parts
    target = Target(
        lambda mart, frame: write(mart, frame, request.output),
        lambda mart: within(marts.read(request.spark, mart, request.output), *request.history.hours),
    )
    set_shuffle_partitions(request.spark, request.history.rows("replicas"))
    roll_up(of_history(request.history), target, request.progress.step)


def of_store(request: Request[None], store: Store) -> None:
    """Replace the hours that have new rows, or all between `--start` and `--end`.

    Raises:
        StoreError: the store cannot be used.
    """
    with marks.working(store, JOB.name, *request.history.span) as work:
        if work.hours:
            set_shuffle_partitions(request.spark, work.rows)
            target = Target(
                lambda mart, frame: marks.replace(store, work, mart, frame, work.windows()),
                lambda mart: store.read(of_mart(mart)).where(work.windows()),
            )
            roll_up(of_tables(store, work.raw()), target, request.progress.step)
    request.progress.say(f"rollup: {work.count()} hours of {len(work.hours)} clusters, up to batch {work.done}")


JOB: Final = Job(
    "rollup",
    "minute and hour marts of replicas, topics, brokers and clusters",
    lambda _: None,
    lambda _: None,
    run,
)
