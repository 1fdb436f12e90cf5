"""A replay with missing polls reports its confidence in each result."""

import re
from collections.abc import Mapping
from dataclasses import replace as altered

import pytest

from kafka_warden.history.poll import Poll, Remembered
from kafka_warden.history.replay import Confidence, Replayed, replay
from tests.history.replay import Rows, polls, rows, scene_polls

Kept = list[Mapping[str, Rows]]


def kept_polls() -> Kept:
    return [rows(poll) for poll in scene_polls()]


def confidences(found: list[Replayed]) -> list[str]:
    return [each.confidence for each in found]


def test_a_whole_run_is_exact() -> None:
    kept = kept_polls()
    found = list(replay(kept))
    assert confidences(found) == [Confidence.EXACT] * len(kept)
    assert [(each.run, each.sequence, each.problem) for each in found] == [("run", n, "") for n in range(len(kept))]


def test_a_gap_is_reported_until_the_next_start() -> None:
    kept = kept_polls()
    second = [rows(altered(poll, run="second")) for poll in scene_polls()]
    found = list(replay([*kept[:3], *kept[4:], *second]))
    assert confidences(found) == [Confidence.EXACT] * 3 + [Confidence.GAP] * (len(kept) - 4) + [Confidence.EXACT] * len(
        kept
    )
    assert all(each.poll is not None for each in found)


def test_a_run_without_its_first_poll_is_unfounded() -> None:
    found = list(replay(kept_polls()[2:]))
    assert confidences(found) == [Confidence.UNFOUNDED] * len(found)
    (first, *_) = found
    assert first.poll is not None
    assert first.poll.derived.clamped == 0


@pytest.mark.parametrize(("table", "problem"), [("replicas", r"replicas: \d+ rows"), ("polls", "expected the one row")])
def test_a_poll_with_missing_rows_is_not_evaluated(table: str, problem: str) -> None:
    kept = kept_polls()
    lost = {**kept[2], table: {name: values[1:] for name, values in kept[2][table].items()}}
    found = list(replay([*kept[:2], lost, *kept[3:5]]))
    assert confidences(found) == [*[Confidence.EXACT] * 2, Confidence.INCOMPLETE, *[Confidence.GAP] * 2]
    assert found[2].poll is None
    assert re.search(problem, found[2].problem)


def test_polls_after_an_incomplete_start_are_unfounded() -> None:
    (first, second, *_) = polls([poll.snapshot for poll in scene_polls()], run="other")
    damaged = altered(second, remembered=Remembered.RESTORED, restored={"format": 99})
    third = altered(second, sequence=2)
    found = list(replay([rows(first), rows(damaged), rows(third)]))
    assert confidences(found) == [Confidence.EXACT, Confidence.INCOMPLETE, Confidence.UNFOUNDED]
    assert "format" in found[1].problem


def test_a_poll_without_rows_is_skipped() -> None:
    assert list(replay([{name: {column: [] for column in columns} for name, columns in kept_polls()[0].items()}])) == []


def test_runs_do_not_share_a_memory() -> None:
    kept: Kept = kept_polls()
    other: list[Poll] = [altered(poll, run="other", sequence=poll.sequence) for poll in scene_polls()]
    found = list(replay([*kept[:4], *(rows(poll) for poll in other[4:])]))
    assert confidences(found) == [Confidence.EXACT] * 4 + [Confidence.UNFOUNDED] * (len(kept) - 4)
