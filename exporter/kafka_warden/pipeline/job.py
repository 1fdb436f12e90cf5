"""What a job is, and what it is given."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pyspark.sql import SparkSession

from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.progress import Progress

O = TypeVar("O")  # noqa: E741  # options


@dataclass(frozen=True, slots=True)
class Request(Generic[O]):
    """One run of a job."""

    spark: SparkSession
    history: History
    input: Path | str
    """The folder of history; the truth of a generated fleet stands beside or above it."""
    output: Path | str
    """The folder of marts."""
    options: O
    """A frozen dataclass of the job."""
    progress: Progress


@dataclass(frozen=True, slots=True)
class Job(Generic[O]):
    """One job."""

    name: str
    about: str
    """One line for `--help`."""
    add_flags: Callable[[ArgumentParser], None]
    """Adds the job's own flags."""
    read_flags: Callable[[Namespace], O]
    """Makes the options; raises `ConfigError` for what cannot be used."""
    run: Callable[[Request[Any]], int | None]
    """Does it; the exit code, where that is another one than 0."""
