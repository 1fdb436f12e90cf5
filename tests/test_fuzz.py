"""Fuzzing with fixed seeds: the first cases of each target of `make fuzz`, and what is called a finding."""

import contextlib
import random
from typing import Final

import pytest

from tests.support.fuzz import runner
from tests.support.fuzz.__main__ import TARGETS
from tests.support.fuzz.replies import Replies
from tests.support.fuzz.runner import Finding, findings
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


class Broken:
    """A target whose cases fail, or do not end."""

    name = "broken"

    def make(self, chance: random.Random) -> bytes:
        return chance.randbytes(1)

    def check(self, data: bytes) -> None:
        while data[0] % 2:
            pass
        raise ValueError("as it must")

    def close(self) -> None:
        """Nothing is open."""


def test_a_finding_has_what_is_needed_to_run_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "ABANDONED_AFTER", 0.05)
    found = list(findings(Broken(), range(20)))
    assert [each.seed for each in found] == list(range(20))
    ends = {0: "ValueError: as it must", 1: "AbandonedError: stopped after 0 s of CPU"}
    assert all(each.problem.rstrip().endswith(ends[each.data[0] % 2]) for each in found)
    assert {each.data[0] % 2 for each in found} == {0, 1}
    assert next(findings(Broken(), [7])).data == found[7].data
    assert "--seed 7 --cases 1" in str(found[7])
    assert found[7].data.hex() in str(found[7])


def test_a_case_that_takes_long_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "MOST_CPU", -1.0)
    with contextlib.closing(Replies()) as target:
        (found,) = findings(target, [0])
    assert isinstance(found, Finding)
    assert found.problem.startswith("it took 0.0")
