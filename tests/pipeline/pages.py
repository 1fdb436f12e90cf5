"""The pages of `/metrics` that a sidecar showed while it wrote a history."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from prometheus_client import CollectorRegistry

from kafka_warden.catalogue import ExporterState, View
from kafka_warden.catalogue.metric import Build, Figures
from kafka_warden.exposition import Exposition
from kafka_warden.history.parquet.reader import polls
from kafka_warden.history.poll import Poll
from kafka_warden.history.replay import replay


def pages(history: Path) -> Iterator[tuple[Poll, str]]:
    """Every poll of a history as the sidecar evaluated it, and its page."""
    exposition = Exposition(1_000_000, CollectorRegistry())
    for again in replay(polls(history)):
        poll = again.poll
        assert poll is not None, again.problem
        seen = poll.snapshot
        figures: Figures = {"poll_interval_seconds": {(): poll.parameters.poll_interval}}
        sidecar = ExporterState(seen, Build("1", "", ""), seen.time, figures=figures)
        view = View(poll.derived, sidecar, np.ones(len(seen.topics), bool), poll.parameters)
        yield poll, exposition.render(sidecar, view).text.decode()
