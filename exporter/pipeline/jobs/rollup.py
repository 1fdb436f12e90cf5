"""The job `rollup`: minutes and hours of replicas, topics, brokers and clusters."""

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from exporter.config import values
from exporter.errors import ConfigError
from exporter.pipeline import marts
from exporter.pipeline.job import Job, Request
from exporter.pipeline.rollup.rollup import Target, roll_up
from exporter.pipeline.rollup.samples import of_history
from exporter.pipeline.rollup.stream import rows, topic
from exporter.pipeline.rollup.stream.run import Streaming, stream
from exporter.pipeline.session import spread

LATE: Final = "24h"
"""Files of an idle sidecar come an hour late, those of one that is cut off when it is back."""
EVERY: Final = "1m"
CHECKPOINT: Final = "_rollup-stream"
"""Folder below the output; Spark and Arrow pass over it."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user chose."""

    streaming: Streaming | None = None
    """`None`: all that is there, once."""
    properties: Path | None = None
    """Kafka client properties, in the form of Java's clients."""


def add_flags(parser: ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument("--stream", action="store_true", help="go on with what arrives; a topic always is a stream")
    parser.add_argument("--until-done", action="store_true", help="of a stream: end when all that is there is taken")
    parser.add_argument("--every", default=EVERY, metavar="DURATION", help=f"of a stream: a batch (default: {EVERY})")
    parser.add_argument("--late", default=LATE, metavar="DURATION", help=f"an hour stays open for (default: {LATE})")
    parser.add_argument("--checkpoint", metavar="FOLDER", help=f"of a stream (default: {CHECKPOINT} in the output)")
    parser.add_argument(
        "--kafka-properties", type=Path, metavar="FILE", help="of a topic: client properties, as Java's"
    )


def read_flags(parsed: Namespace) -> Options:
    """Read the flags.

    Raises:
        ConfigError: a value that cannot be used.
    """
    is_topic = topic.is_topic(parsed.input)
    if parsed.kafka_properties is not None and not is_topic:
        raise ConfigError("--kafka-properties: only goes with --input kafka://HOST:PORT,.../TOPIC")
    if not (parsed.stream or is_topic):
        return Options()
    if parsed.start > 0 or parsed.end != float("inf"):
        raise ConfigError("--start: does not go with a stream, which takes what arrives; leave out --start and --end")
    streaming = Streaming(
        checkpoint=parsed.checkpoint or f"{parsed.output.rstrip('/')}/{CHECKPOINT}",
        delay=_duration("--late", parsed.late),
        every=_duration("--every", parsed.every),
        until_done=parsed.until_done,
    )
    return Options(streaming, parsed.kafka_properties)


def run(request: Request[Options]) -> None:
    """Roll up what is there, or what arrives."""
    options = request.options
    if options.streaming is None:
        batch(request)
        return
    source = (
        topic.of_topic(request.spark, str(request.input), options.properties)
        if topic.is_topic(str(request.input))
        else rows.of_files(request.spark, request.input)
    )
    stream(request.spark, source, request.output, options.streaming, request.progress)


def batch(request: Request[Options]) -> None:
    """Write the marts: all of them anew, or, of a part of history, the hours that are in it."""
    write = marts.write if request.history.whole else marts.write_parts
    target = Target(
        lambda mart, frame: write(mart, frame, request.output),
        lambda mart: marts.read(request.spark, mart, request.output),
    )
    spread(request.spark, request.history.rows("replicas"))
    roll_up(of_history(request.history), target, request.progress.step)


def _duration(flag: str, text: str) -> float:
    try:
        return values.duration(text)
    except ValueError as failure:
        raise ConfigError(f"{flag}: {failure}") from None


JOB: Final = Job(
    "rollup", "minute and hour marts of replicas, topics, brokers and clusters", add_flags, read_flags, run
)
