"""Unit tests of rules that a test writes for `promtool test rules`."""

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import yaml

from kafka_warden.rules.thresholds import seconds
from sandbox.monitoring_tools import tools
from tests.support.processes import run
from tests.support.rules import FILES

Series = tuple[str, Sequence[float | None]]
"""A selector, and one value for each scrape: None where the series is missing."""
FIRST: Final = "state.rules.yml"
"""The other files read what its groups record."""
SECONDS: Final = 280


@dataclass(frozen=True)
class Check:
    """What a query must return at a time.

    Attributes:
        seconds: Time since the start of the test.
        query: PromQL whose result has one sample without labels, or none.
        expected: Its value; None for no sample.
    """

    seconds: float
    query: str
    expected: float | None


def selector(name: str, labels: Mapping[str, str]) -> str:
    """Return the selector of one series; an empty label is no label."""
    return name + "{" + ", ".join(f'{label}="{value}"' for label, value in labels.items() if value) + "}"


def encoded(values: Sequence[float | None]) -> str:
    """Return values in promtool's notation; where a series ends, Prometheus stores a stale marker."""
    parts: list[str] = []
    for value, run_of_values in groupby(values):
        length = len(list(run_of_values))
        if value is not None:
            parts.append(f"{'Inf' if value == math.inf else format(value, '.15g')}+0x{length - 1}")
            continue
        if parts:
            parts.append("stale")
            length -= 1
        parts += [f"_x{length}"] if length else []
    return " ".join(parts)


def block(name: str, step: int, series: Sequence[Series], checks: Sequence[Check]) -> dict[str, Any]:
    """Return one test with series that are scraped every `step` seconds."""
    return {
        "name": name,
        "interval": f"{step}s",
        "input_series": [{"series": each, "values": encoded(values)} for each, values in series],
        "promql_expr_test": [
            {
                "expr": check.query,
                "eval_time": f"{check.seconds:.0f}s",
                "exp_samples": [] if check.expected is None else [{"labels": "{}", "value": check.expected}],
            }
            for check in checks
        ],
    }


def write(file: Path, blocks: Sequence[Mapping[str, Any]], evaluation: int, rules: Sequence[Path] = FILES) -> Path:
    """Write tests of the rules, which are evaluated every `evaluation` seconds; groups of `FIRST` come first."""
    ordered = sorted(rules, key=lambda each: each.name != FIRST)
    groups = [group["name"] for each in ordered for group in yaml.safe_load(each.read_text())["groups"]]
    document = {
        "rule_files": [str(each) for each in ordered],
        "evaluation_interval": f"{evaluation}s",
        "group_eval_order": groups,
        "tests": list(blocks),
    }
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def failures(*files: Path, timeout: float = SECONDS) -> str:
    """Run the tests of files, and return what promtool prints of those that fail; nothing if all pass."""
    # Go would collect the garbage of so small a heap all the time.
    done = run(tools().promtool, "test", "rules", *files, env=os.environ | {"GOGC": "400"}, timeout=timeout)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def samples(printed: str) -> Iterator[tuple[float, frozenset[tuple[str, str]]]]:
    """Return time and labels of the samples that queries returned which must return none."""
    for at, got in re.findall(r"time: (\S+),\s+exp: nil\s+got: (.*)", printed):
        for labels in re.findall(r"\{([^}]*)\}", got):
            yield seconds(at), frozenset(re.findall(r'(\w+)="([^"]*)"', labels)) - {("__name__", "ALERTS")}
