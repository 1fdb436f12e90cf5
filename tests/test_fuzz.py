"""Fuzzing with fixed seeds: the first cases of each target of `make fuzz`, and what is called a finding."""

import contextlib
import random
from typing import Final

import pytest

from tests.support.fuzz.__main__ import TARGETS
from tests.support.fuzz.replies import Replies
from tests.support.fuzz.runner import findings
from tests.support.scripted.kinds import KINDS

CASES: Final = {"replies": 6000, "polls": 30, "config": 300, "web-config": 300, "web": 100, "history": 20}

pytestmark = pytest.mark.usefixtures("logging_as_before")


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_is_found(name: str) -> None:
    with contextlib.closing(TARGETS[name]()) as target:
        assert [str(finding) for finding in findings(target, range(CASES[name]))] == []


def test_replies_are_of_every_kind_and_version() -> None:
    """A part of them are answers, or nothing behind the decoders would be fuzzed."""
    with contextlib.closing(Replies()) as target:
        cases = [target.make(random.Random(seed)) for seed in range(CASES["replies"])]
        for case in cases[:500]:
            target.check(case)
    expected = {(key, version) for key, kind in KINDS.items() for version in range(kind[2].max_version + 1)}
    assert {(case[0], case[1]) for case in cases} == expected
    assert 0.2 < target.refused / target.asked < 0.8
