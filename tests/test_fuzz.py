"""Fuzzing with fixed seeds: some thousand cases of each target of `make fuzz`, and what it calls a finding."""

import contextlib
import random
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from kafka_warden.clients.kafka import link
from kafka_warden.clients.kafka.connection import Connection
from kafka_warden.sources import quorum
from tests.support.fuzz.__main__ import TARGETS
from tests.support.fuzz.replies import Replies
from tests.support.fuzz.runner import findings
from tests.support.scripted.kinds import KINDS

CASES: Final = {"replies": 6000, "polls": 30, "config": 300, "web-config": 300, "web": 100, "history": 20}
"""Seconds of CPU all together."""


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_is_found(name: str) -> None:
    """In the first cases of each target."""
    with contextlib.closing(TARGETS[name]()) as target:
        assert [str(finding) for finding in findings(target, range(CASES[name]))] == []


def test_replies_are_of_every_kind_and_version() -> None:
    """And as many are answers as are errors, or nothing behind the decoders would be fuzzed."""
    with contextlib.closing(Replies()) as target:
        cases = [target.make(random.Random(seed)) for seed in range(CASES["replies"])]
        for case in cases[:1000]:
            target.check(case)
    expected = {(key, version) for key, kind in KINDS.items() for version in range(kind[2].max_version + 1)}
    assert {(case[0], case[1]) for case in cases} >= expected
    assert 300 < target.refused < 1000


class Broken:
    """A target of whose cases every second one fails in a way of its own."""

    name = "broken"

    def make(self, chance: random.Random) -> bytes:
        """Any bytes."""
        return chance.randbytes(2)

    def check(self, data: bytes) -> None:
        """Fail, or take long."""
        if data[0] % 2:
            raise ValueError(data.hex())
        if data[0] % 4 == 0:
            sum(range(10**8))

    def close(self) -> None:
        """Nothing."""
