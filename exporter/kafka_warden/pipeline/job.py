"""A job and its arguments."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from pyspark.sql import SparkSession

from kafka_warden.config.options import flag_name, read_values
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.runs import Run
from kafka_warden.pipeline.store import Store
from kafka_warden.pipeline.timeline import ALL_TIME

O = TypeVar("O")  # noqa: E741  # options

Flags = Mapping[str, tuple[Callable[[Any], Any], str, str]]
"""Option to its reader, and to its value and text in `--help`."""


@dataclass(frozen=True, slots=True)
class Request(Generic[O]):
    """One run of a job."""

    store: Store
    options: O
    """A frozen dataclass of the job."""
    progress: Progress
    input: Path | str = ""
    """The landing zone, of `ingest` only."""
    span: tuple[float, float] = ALL_TIME
    """Start and end of the hours that are read, Unix seconds."""
    runs: list[Run] = field(default_factory=list)
    """Gets what the job did."""

    @property
    def spark(self) -> SparkSession:
        """The session."""
        return self.store.spark


@dataclass(frozen=True, slots=True)
class Job(Generic[O]):
    """One job."""

    name: str
    about: str
    """One line for `--help`."""
    add_flags: Callable[[ArgumentParser], None]
    """Adds the job's own flags."""
    read_flags: Callable[[Namespace], O]
    """Returns the options; raises `ConfigError` for unusable values."""
    run: Callable[[Request[Any]], int | None]
    """Runs the job; returns its exit code, None for 0."""
    preview: Callable[[Request[Any]], str] = lambda _: "nothing to preview: the job computes all from what is there"
    """Says what a run would do. It writes nothing."""


def of_flags(
    name: str,
    about: str,
    options: Callable[..., O],
    flags: Flags,
    run: Callable[[Request[Any]], int | None],
    required: Collection[str] = (),
) -> Job[O]:
    """Return a job with a flag for each of its options. `required`: those without which it does not run."""

    def add_flags(command: ArgumentParser) -> None:
        for option, (_, metavar, text) in flags.items():
            command.add_argument(flag_name(option), metavar=metavar, help=text, required=option in required)

    def read_flags(parsed: Namespace) -> O:
        given = read_values(vars(parsed), {option: read for option, (read, *_) in flags.items()})
        return options(**{option: value for option, value in given.items() if value is not None})

    return Job(name, about, add_flags, read_flags, run)
