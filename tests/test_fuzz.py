"""Fuzzing with seeds: the first cases of each target here, the next ones in `make fuzz`."""

import contextlib
import os
import random
from typing import Any, Final

import pytest

from tests.support.fuzz.files import config_file, web_config_file
from tests.support.fuzz.history import History
from tests.support.fuzz.http import Web
from tests.support.fuzz.polls import Polls
from tests.support.fuzz.replies import Replies
from tests.support.fuzz.runner import findings
from tests.support.scripted.kinds import KINDS

TARGETS: Final[dict[str, tuple[Any, int]]] = {
    "replies": (Replies, 6000),
    "polls": (Polls, 30),
    "config": (config_file, 300),
    "web-config": (web_config_file, 300),
    "web": (Web, 100),
    "history": (History, 20),
}
"""Name to what makes the target, and the number of cases."""
FIRST: Final = int(os.environ.get("FUZZ_SEED", "0"))

pytestmark = pytest.mark.usefixtures("logging_as_before")


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_is_found(name: str) -> None:
    make, cases = TARGETS[name]
    with contextlib.closing(make()) as target:
        found = "\n".join(findings(target, range(FIRST, FIRST + cases)))
    assert not found, found


def test_replies_are_of_every_kind_and_version() -> None:
    """A part of them are answers, or nothing behind the decoders would be fuzzed."""
    make, number = TARGETS["replies"]
    with contextlib.closing(make()) as target:
        cases = [target.make(random.Random(seed)) for seed in range(number)]
        for case in cases[:500]:
            target.check(case)
    expected = {(key, version) for key, kind in KINDS.items() for version in range(kind[2].max_version + 1)}
    assert {(case[0], case[1]) for case in cases} == expected
    assert 0.2 < target.refused / target.asked < 0.8
