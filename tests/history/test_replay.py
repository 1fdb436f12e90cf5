"""What a replay says of polls that are missing: nothing of it is silently wrong."""

from collections.abc import Mapping
from dataclasses import replace as altered

from kafka_warden.history.poll import Poll, Remembered
from kafka_warden.history.replay import Confidence, Replayed, replay
from tests.history.replay import Rows, differences, polls, rows, scene_polls

Kept = list[Mapping[str, Rows]]


def kept_polls() -> Kept:
    """Rows of the scene, poll by poll."""
    return [rows(poll) for poll in scene_polls()]


def confidences(found: list[Replayed]) -> list[str]:
    """How far each poll can be believed."""
    return [each.confidence for each in found]


def test_a_whole_run_is_exact() -> None:
    """Nothing is missing, and everything is what it was."""
    kept = kept_polls()
    found = list(replay(kept))
    assert confidences(found) == [Confidence.EXACT] * len(kept)
    assert [(each.run, each.sequence, each.problem) for each in found] == [("run", n, "") for n in range(len(kept))]
    for before, again in zip(kept, found, strict=True):
        assert again.poll is not None
        assert differences(before, rows(again.poll)) == []


def test_a_gap_is_told_until_the_next_start() -> None:
    """Polls behind a gap are judged with the memory before it; a process that starts anew is exact again."""
    kept = kept_polls()
    second = [rows(altered(poll, run="second")) for poll in scene_polls()]
    found = list(replay([*kept[:3], *kept[4:], *second]))
    assert confidences(found) == [Confidence.EXACT] * 3 + [Confidence.GAP] * (len(kept) - 4) + [Confidence.EXACT] * len(
        kept
    )
    assert all(each.poll is not None for each in found)


def test_a_run_without_its_beginning_is_unfounded() -> None:
    """Its first poll is judged as the first one of a process, and said to be."""
    found = list(replay(kept_polls()[2:]))
    assert confidences(found) == [Confidence.UNFOUNDED] * len(found)
    (first, *_) = found
    assert first.poll is not None
    assert first.poll.derived.clamped == 0


def test_a_poll_in_parts_is_not_judged() -> None:
    """Rows that are missing are named; the polls behind stand behind a gap."""
    kept = kept_polls()
    lost: Mapping[str, Rows] = {
        **kept[2],
        "replicas": {name: values[1:] for name, values in kept[2]["replicas"].items()},
    }
    found = list(replay([*kept[:2], lost, *kept[3:5]]))
    assert confidences(found) == [
        Confidence.EXACT,
        Confidence.EXACT,
        Confidence.INCOMPLETE,
        Confidence.GAP,
        Confidence.GAP,
    ]
    assert found[2].poll is None
    assert found[2].problem.startswith("replicas: ")


def test_a_poll_without_its_own_row_is_incomplete() -> None:
    """So is one of which only other tables are there."""
    kept = kept_polls()
    lost = {**kept[1], "polls": {name: [] for name in kept[1]["polls"]}}
    found = list(replay([kept[0], lost, kept[2]]))
    assert confidences(found) == [Confidence.EXACT, Confidence.INCOMPLETE, Confidence.GAP]
    assert "expected the one row" in found[1].problem


def test_a_start_that_is_incomplete_founds_nothing() -> None:
    """A state file that cannot be read is no beginning, and what was before it is none either."""
    (first, second, *_) = polls([poll.snapshot for poll in scene_polls()], run="other")
    damaged = altered(second, remembered=Remembered.RESTORED, restored={"format": 99})
    third = altered(second, sequence=2)
    found = list(replay([rows(first), rows(damaged), rows(third)]))
    assert confidences(found) == [Confidence.EXACT, Confidence.INCOMPLETE, Confidence.UNFOUNDED]
    assert "format" in found[1].problem


def test_no_rows_are_no_poll() -> None:
    """A poll in which nobody told about the cluster left none."""
    assert list(replay([{name: {column: [] for column in columns} for name, columns in kept_polls()[0].items()}])) == []


def test_runs_do_not_share_a_memory() -> None:
    """Each process is judged by itself, even where one ends at the number that the next one goes on with."""
    kept: Kept = kept_polls()
    other: list[Poll] = [altered(poll, run="other", sequence=poll.sequence) for poll in scene_polls()]
    found = list(replay([*kept[:4], *(rows(poll) for poll in other[4:])]))
    assert confidences(found) == [Confidence.EXACT] * 4 + [Confidence.UNFOUNDED] * (len(kept) - 4)
