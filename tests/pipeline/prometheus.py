"""Prometheus as the judge: promtool runs the rendered rules over samples."""

from pathlib import Path

import yaml

from kafka_warden.pipeline.promql import Grid
from kafka_warden.pipeline.trials import texts
from tests.support.promtool import Check, block, failures, samples, selector, write

Samples = list[tuple[str, dict[str, str], list[float | None]]]
"""Name and labels of each series, and its value at each evaluation."""


def by_prometheus(found: Samples, grid: Grid, folder: Path) -> set[tuple[int, frozenset[tuple[str, str]]]]:
    """Evaluations, and labels of the series of ALERTS then, as promtool runs the rules."""
    groups = [group for text in texts() for group in yaml.safe_load(text)["groups"]]
    for rule in (rule for group in groups for rule in group["rules"]):
        rule.pop("annotations", None)
        rule["labels"] = {name: text for name, text in rule.get("labels", {}).items() if "{{" not in text}
    (folder / "state.rules.yml").write_text(yaml.safe_dump({"groups": groups}))
    series = [(selector(name, each), values) for name, each, values in found]
    checks = [Check(at, "ALERTS", None) for at in grid.times]
    test = block("all", round(grid.step), series, checks)
    printed = failures(write(folder / "test.yml", [test], round(grid.step), [folder / "state.rules.yml"]))
    return {(round(at / grid.step), labels) for at, labels in samples(printed)}
