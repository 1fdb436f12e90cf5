"""What a run of the demo leaves, made without Kafka: Prometheus' data out of the golden page."""

import re
import time
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry

from kafka_warden.exposition import Exposition
from sandbox.demo_folder import Outcome, Run
from sandbox.monitoring import ALERTS
from sandbox.monitoring_rules import shorten_files
from sandbox.monitoring_tools import tools
from tests import scene
from tests.support.processes import checked

AGE: Final = 40 * 86400
"""Seconds; more than the 15 days for which Prometheus keeps data by default."""
SECONDS: Final = 60
STEP: Final = 2


def prometheus_of_a_run(directory: Path) -> Run:
    """Make the directory of a Prometheus that saw the golden page for a minute, 40 days ago."""
    began = int(time.time()) - AGE
    page = directory / "page.txt"
    directory.mkdir()
    view = scene.view()
    golden = (
        Exposition(scene.PARAMETERS.series_budget, CollectorRegistry()).render(view.exporter, view).openmetrics.decode()
    )
    page.write_text(_over_time(golden, range(began, began + SECONDS + 1, STEP)))
    checked(tools().promtool, "tsdb", "create-blocks-from", "openmetrics", page, directory / "data")
    page.unlink()
    shorten_files(sorted(ALERTS.glob("*.rules.yml")), directory / "rules", 1 / 30, 10.0)
    return Run(began, began + SECONDS, began + SECONDS / 2, Outcome.COMPLETE, "demo", STEP)


def _over_time(page: str, times: range) -> str:
    """The page with every sample at each of these times, and with the label that Prometheus gives its targets."""
    lines = []
    for line in page.splitlines():
        if line.startswith("#"):
            lines += [line]
        else:
            found = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
            assert found
            name, labels, value = found.groups("")
            series = f'{name}{{{labels}{"," if labels else ""}cluster="demo",instance="warden:1",job="kafka-warden"}}'
            lines += [f"{series} {value} {at}" for at in times]
    return "\n".join(lines) + "\n"
