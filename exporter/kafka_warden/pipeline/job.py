"""A job and its arguments."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pyspark.sql import SparkSession

from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.store import Store

O = TypeVar("O")  # noqa: E741  # options


@dataclass(frozen=True, slots=True)
class Request(Generic[O]):
    """One run of a job."""

    spark: SparkSession
    history: History
    input: Path | str
    """The folder of history; of `ingest`, the landing zone. Without one, the store."""
    output: Path | str
    """The folder of marts, and of the report. Without one, the store."""
    options: O
    """A frozen dataclass of the job."""
    progress: Progress
    store: Store | None = None
    """The tables to use instead of these folders."""


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
    places: Sequence[frozenset[str]] = (frozenset({"store"}), frozenset({"input", "output"}))
    """The flags of which the job requires all of one set. With `store`, it uses the tables of a store."""
