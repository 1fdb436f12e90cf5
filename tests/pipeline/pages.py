"""The pages of `/metrics` that a sidecar showed while it wrote a history."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry

from kafka_warden.catalogue import Sidecar, View
from kafka_warden.catalogue.metric import Build, Figures
from kafka_warden.exposition import Exposition
from kafka_warden.history.parquet.reader import read
from kafka_warden.history.poll import Poll
from kafka_warden.history.replay import replay
from kafka_warden.history.schema import TABLES


def pages(history: Path) -> Iterator[tuple[Poll, str]]:
    """Every poll of a history as the sidecar evaluated it, and its page."""
    exposition = Exposition(1_000_000, CollectorRegistry())
    for poll in _evaluated(history):
        seen = poll.snapshot
        figures: Figures = {"poll_interval_seconds": {(): poll.parameters.poll_interval}}
        sidecar = Sidecar(seen.status, Build("1", "", ""), seen.time, figures=figures)
        view = View(poll.derived, sidecar, np.ones(len(seen.topics), bool), poll.parameters)
        yield poll, exposition.render(sidecar, view).text.decode()


def _evaluated(history: Path) -> Iterator[Poll]:
    found = {table.name: read(history, table.name).to_pydict() for table in TABLES}
    rows: dict[tuple[str, int], Any] = defaultdict(
        lambda: {name: {column: [] for column in columns} for name, columns in found.items()}
    )
    for name, columns in found.items():
        for place, key in enumerate(zip(columns["run"], columns["sequence"], strict=True)):
            for column, values in columns.items():
                rows[key][name][column].append(values[place])
    # Run by run: the replay of a run has a memory.
    for again in replay(rows[key] for key in sorted(rows)):
        assert again.poll is not None, again.problem
        yield again.poll
