"""The job `rollup`: minutes and hours of replicas, topics, brokers and clusters."""

from typing import Final

from kafka_warden.pipeline import marks
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.rollup.rollup import roll_up
from kafka_warden.pipeline.session import set_shuffle_partitions


def run(request: Request[None]) -> None:
    """Replace the hours that have new rows, or all between `--start` and `--end`.

    Raises:
        StoreError: the store cannot be used.
    """
    with marks.working(request.store, JOB.name, *request.span) as work:
        if work.hours:
            set_shuffle_partitions(request.spark, work.rows)
            roll_up(request.store, work, request.progress.step)
    request.progress.say(f"rollup: {work.count()} hours of {len(work.hours)} clusters, up to batch {work.done}")


JOB: Final[Job[None]] = Job(
    "rollup",
    "minute and hour marts of replicas, topics, brokers and clusters",
    lambda _: None,
    lambda _: None,
    run,
)
