"""The job `rollup`: minutes and hours of replicas, topics, brokers and clusters."""

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark.errors import StreamingQueryException

from kafka_warden.config import values
from kafka_warden.config.flags import read_values
from kafka_warden.errors import ConfigError, JobError
from kafka_warden.pipeline import marks, marts
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.rollup.rollup import Target, roll_up
from kafka_warden.pipeline.rollup.samples import of_history, of_tables
from kafka_warden.pipeline.rollup.stream import kafka_preflight, rows, topic
from kafka_warden.pipeline.rollup.stream.run import Streaming, stream
from kafka_warden.pipeline.rollup.stream.topic import Topic
from kafka_warden.pipeline.rollup.windows import within
from kafka_warden.pipeline.session import set_shuffle_partitions
from kafka_warden.pipeline.store import Store, of_mart

LATE: Final = "24h"
"""The files of an idle sidecar arrive an hour late, those of a disconnected one after it is back."""
EVERY: Final = "1m"
CHECKPOINT: Final = "_rollup-stream"
"""Folder below the output; Spark and Arrow ignore it."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user chose."""

    streaming: Streaming | None = None
    """None: one run over the whole history."""
    topic: Topic | None = None
    """None: a stream of files."""


def _add_flags(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--stream", action="store_true", help="continue with new files; a topic is always a stream")
    add("--until-done", action="store_true", help="of a stream: end when all existing input is read")
    add("--every", metavar="DURATION", help=f"of a stream: interval of batches (default: {EVERY})")
    add("--late", metavar="DURATION", help=f"of a stream: how long an hour stays open (default: {LATE})")
    add("--checkpoint", metavar="FOLDER", help=f"of a stream (default: {CHECKPOINT} in the output)")
    add("--accept-loss", action="store_true", help="of a topic: count messages that were deleted unread, and continue")
    add("--kafka-properties", type=Path, metavar="FILE", help="of a topic: client properties, as for Java clients")


def _read_flags(parsed: Namespace) -> Options:
    is_topic = topic.is_topic(parsed.input or "")
    for flag, given in (("--kafka-properties", parsed.kafka_properties), ("--accept-loss", parsed.accept_loss)):
        if given and not is_topic:
            raise ConfigError(f"{flag}: only valid with --input kafka://HOST:PORT,.../TOPIC")
    if parsed.store and (parsed.stream or is_topic):
        raise ConfigError("--stream, or a topic: not valid with --store; run ingest and rollup by a timer")
    if not (parsed.stream or is_topic):
        for name in ("until_done", "every", "late", "checkpoint"):
            if getattr(parsed, name):
                raise ConfigError(f"--{name.replace('_', '-')}: only valid with --stream, or with a topic")
        return Options()
    if parsed.start > 0 or parsed.end != float("inf"):
        raise ConfigError("--start, --end: not valid with a stream, which reads all that arrives; leave them out")
    given = {"late": parsed.late or LATE, "every": parsed.every or EVERY}
    seconds = read_values(given, dict.fromkeys(given, values.duration))
    streaming = Streaming(
        checkpoint=parsed.checkpoint or f"{parsed.output.rstrip('/')}/{CHECKPOINT}",
        delay=seconds["late"],
        every=seconds["every"],
        until_done=parsed.until_done,
    )
    if not is_topic:
        return Options(streaming)
    return Options(streaming, Topic.at(parsed.input, parsed.kafka_properties, accept_loss=parsed.accept_loss))


def run(request: Request[Options]) -> None:
    """Roll up the whole history, or a stream.

    Raises:
        KafkaWardenError: the topic cannot be read, or a batch failed.
    """
    options = request.options
    if request.store is not None:
        of_store(request, request.store)
    elif options.streaming is None:
        batch(request)
    elif options.topic is None:
        files = rows.of_files(request.spark, request.input)
        stream(request.spark, files, request.output, options.streaming, request.progress)
    else:
        _of_topic(request, options.topic, options.streaming)


def _of_topic(request: Request[Options], read: Topic, streaming: Streaming) -> None:
    beginnings = kafka_preflight.beginnings(request.spark, read)
    messages = topic.of_topic(request.spark, read)
    try:
        stream(request.spark, messages, request.output, streaming, request.progress, beginnings)
    except (StreamingQueryException, JobError) as failure:
        raise kafka_preflight.named(read, str(failure)) or failure from failure


def batch(request: Request[Options]) -> None:
    """Replace the marts, or of a part of history only its hours."""
    write = marts.write if request.history.whole else marts.write_parts
    target = Target(
        lambda mart, frame: write(mart, frame, request.output),
        lambda mart: within(marts.read(request.spark, mart, request.output), *request.history.hours),
    )
    set_shuffle_partitions(request.spark, request.history.rows("replicas"))
    roll_up(of_history(request.history), target, request.progress.step)


def of_store(request: Request[Options], store: Store) -> None:
    """Replace the hours that have new rows, or all between `--start` and `--end`.

    Raises:
        StoreError: the store cannot be used.
    """
    with marks.working(store, JOB.name, *request.history.span) as work:
        if work.hours:
            set_shuffle_partitions(request.spark, work.rows)
            target = Target(
                lambda mart, frame: marks.replace(work, mart, frame, work.windows()),
                lambda mart: store.read(of_mart(mart)).where(work.windows()),
            )
            roll_up(of_tables(store, work.raw()), target, request.progress.step)
    request.progress.say(f"rollup: {work.count()} hours of {len(work.hours)} clusters, up to batch {work.done}")


JOB: Final = Job(
    "rollup",
    "minute and hour marts of replicas, topics, brokers and clusters",
    _add_flags,
    _read_flags,
    run,
)
