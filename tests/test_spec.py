"""The specification, docs/spec/: its examples run, and its tables have the names of the code."""

import doctest
import importlib
import io
import math
import pkgutil
import re
from enum import StrEnum
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from kafka_warden import formulas
from kafka_warden.formulas import replica_state, stuck, throttle_problems, tiered_problems
from kafka_warden.formulas.ops import NUMBERS

ROOT: Final = Path(__file__).parents[1]
SPEC: Final = ROOT / "docs" / "spec"
MODULES: Final = {
    found.name: importlib.import_module(f"{formulas.__name__}.{found.name}")
    for found in pkgutil.iter_modules(formulas.__path__)
}


@pytest.mark.parametrize("page", sorted(SPEC.glob("*.md")), ids=lambda page: page.stem)
def test_examples(page: Path) -> None:
    """Every example of a page has the result that stands below it."""
    examples = "\n".join(re.findall(r"^```pycon\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE))
    names = {**MODULES, "np": np, "inf": math.inf, "NUMBERS": NUMBERS}
    test = doctest.DocTestParser().get_doctest(examples, names, page.name, str(page), 0)
    report = io.StringIO()
    assert test.examples
    assert doctest.DocTestRunner(verbose=False).run(test, out=report.write).failed == 0, report.getvalue()


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("replicas", replica_state.ReplicaState),
        ("throttles", throttle_problems.Problem),
        ("moves", stuck.Cause),
        ("tiered", tiered_problems.Problem),
    ],
)
def test_tables_have_all_names(page: str, names: type[StrEnum]) -> None:
    """States, problems and causes have one row each, in the order in which the code takes them."""
    rows = re.findall(r"^\| `(\w+)` \|", (SPEC / f"{page}.md").read_text(), re.MULTILINE)
    assert rows == [str(name) for name in names]
