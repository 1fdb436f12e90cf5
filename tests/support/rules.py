"""Recording and alerting rules of `alerts/`, as Prometheus reads them."""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from kafka_warden.catalogue import CATALOGUE, PREFIX
from kafka_warden.derive import throttle_problems, tiered
from kafka_warden.derive.replica_state import ReplicaState
from kafka_warden.derive.stuck import Cause
from kafka_warden.errors import REASONS
from kafka_warden.model import BrokerState, Origin, Side, Source
from sandbox.monitoring import ALERTS, JOB
from sandbox.monitoring_tools import tools
from tests.support.processes import checked

FILES: Final = sorted(ALERTS.glob("*.rules.yml"))
SERVED: Final = {metric.name: set(metric.labels) for metric in CATALOGUE}
TARGET_LABELS: Final = {"cluster", "job", "instance"}
"""Labels that Prometheus sets."""
VALUES: Final[Mapping[str, AbstractSet[str]]] = {
    "side": set(Side),
    "problem": {*throttle_problems.Problem, *tiered.Problem},
    "state": {*ReplicaState, *BrokerState},
    "cause": set(Cause),
    "source": set(Source),
    "reason": set(REASONS),
    "origin": set(Origin),
    "job": {JOB},
}
"""Labels with a closed set of values."""
METRIC: Final = re.compile(rf"(?<![:\w]){PREFIX}(\w+)(?:\{{([^}}]*)\}})?")
"""A metric without its prefix, and what is between the braces."""
MATCHER: Final = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
LABEL_LIST: Final = re.compile(r"\b(by|on|without|ignoring|group_left|group_right)\s*\(([^)]*)\)")


@cache
def rules_in(*texts: str) -> list[dict[str, Any]]:
    """Every rule of these texts; the callers share them, and change none."""
    return [rule for text in texts for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]


def alerting_rules(*files: Path) -> list[dict[str, Any]]:
    """Every alerting rule of these files, of all by default."""
    return [rule for rule in rules_in(*(file.read_text() for file in files or FILES)) if "alert" in rule]


def check_results(series: Mapping[str, str], cases: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Fail unless Prometheus finds these results in these series, one sample a minute; the folder gets the file."""
    inputs = [{"series": name, "values": values} for name, values in series.items()]
    test = {"interval": "1m", "input_series": inputs, "promql_expr_test": list(cases)}
    file = folder / "queries.test.yml"
    file.write_text(yaml.safe_dump({"evaluation_interval": "1m", "tests": [test]}, sort_keys=False))
    checked(tools().promtool, "test", "rules", file)


def check_queries(queries: Sequence[str], folder: Path) -> None:
    """Fail unless Prometheus can parse each of these queries; a file with them is written to the folder."""
    rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(queries)]
    file = folder / "queries.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    checked(tools().promtool, "check", "rules", file)
