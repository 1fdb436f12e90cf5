"""A generated history is what a sidecar would have written, and agrees with its truth."""

import math
import subprocess
import sys
from collections import Counter
from pathlib import Path
from statistics import median

import pytest

from fleet.schedule import MOVES
from kafka_warden.history.schema import TABLES
from tests.fleet.conftest import SETTINGS, Fleet


def test_polls_are_whole_and_begin_with_nothing(fleet: Fleet) -> None:
    counts = {table.name: Counter(row["sequence"] for row in fleet.rows(table.name)) for table in TABLES}
    seen = fleet.rows("polls")

    assert len(seen) == SETTINGS.polls
    assert [row["remembered"] for row in seen if row["sequence"] == 0] == ["nothing"] * 2
    assert len({row["run"] for row in seen}) == 2
    assert all(row["remembered"] == "kept" for row in seen if row["sequence"])
    assert {table for table, found in counts.items() if not found} == {"restored"}
    for name in ("replicas", "moves", "quotas"):
        assert sum(dict(row["rows"])[name] for row in seen) == sum(counts[name].values())


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    options = ["--days", "0.01", "--partitions", "6", "--sidecar-restarts", "1400", "--faults", "800"]
    for name, others in {"one": ["--workers", "1"], "two": ["--workers", "2"], "other": ["--seed", "6"]}.items():
        command = [sys.executable, "-m", "fleet", "--out", str(tmp_path / name), *options, *others]
        subprocess.run(command, check=True, capture_output=True)
    one, two, other = (
        {
            file.relative_to(tmp_path / name): file.read_bytes()
            for file in (tmp_path / name).rglob("*")
            if file.is_file()
        }
        for name in ("one", "two", "other")
    )

    assert len({file.name.split("-")[2] for file in one if file.suffix == ".parquet"}) == 3
    assert one == two
    assert set(one.values()).isdisjoint(content for content in other.values() if content)


def test_a_burst_is_many_messages_and_no_fault(fleet: Fleet) -> None:
    truth = fleet.written.truths[0]
    quiet = [each for each in truth.calm if each.kind == "burst" and not _disturbed(fleet, each.began, each.ended)]
    followers = [row for row in fleet.rows("replicas") if row["following"] and row["in_isr"]]

    assert quiet
    for burst in quiet:
        mine = [row for row in followers if row["topic"] == burst.topic and burst.began < row["time"] < burst.ended]
        assert max(row["lag_messages"] for row in mine) > 4000
        assert not any(row["late"] for row in mine)


def test_followers_that_are_held_up_fall_out(fleet: Fleet) -> None:
    longest = sorted(fleet.written.truths[0].faults, key=lambda fault: fault.ended - fault.began)
    faults = {fault.kind: fault for fault in longest}
    seen = fleet.rows("replicas")

    for kind, shows in (("stuck_follower", "stuck"), ("slow_follower", "slow"), ("broker_down", "offline")):
        fault = faults[kind]
        mine = [
            row
            for row in seen
            if row["broker"] == fault.broker
            and row["following"]
            and not row["adding"]
            and (fault.topic is None or (row["topic"], row["partition"]) == (fault.topic, fault.partition))
        ]
        during = [row for row in mine if fault.began + 300 < row["time"] < fault.ended]
        after = [row for row in mine if fault.ended + 600 < row["time"] < fault.ended + 700]
        assert during
        assert not any(row["in_isr"] for row in during)
        assert Counter(row["state"] for row in during).most_common(1)[0][0] == shows
        assert [r for r in after if not r["in_isr"]] == []


@pytest.mark.parametrize("kind", sorted(set(MOVES) - {"plain", "unthrottled"}))
def test_moves_end_as_the_truth_says(fleet: Fleet, kind: str) -> None:
    truth, seen = fleet.written.truths[0], fleet.rows("moves")
    moves = [move for move in truth.moves if kind in {move.cause, move.outcome}]

    assert moves
    for move in moves:
        mine = [
            row
            for row in seen
            if (row["topic"], row["partition"], row["broker"]) == (move.topic, move.partition, move.broker)
            and move.began - 1 < row["time"]
            and (move.ended is None or row["time"] < move.ended + 1)
        ]
        causes = {row["stuck"] for row in mine} - {None}
        assert kind in causes if move.cause else causes == set()
        assert (mine[-1]["remaining_bytes"] > 0.3 * move.bytes_at_start) == (move.outcome == "cancelled")


def test_moves_run_as_the_sidecar_predicts(fleet: Fleet) -> None:
    truth, seen, errors = fleet.written.truths[0], fleet.rows("moves"), []
    for move in truth.moves:
        key = (move.topic, move.partition, move.broker)
        early = [
            row
            for row in seen
            if (row["topic"], row["partition"], row["broker"]) == key
            and move.began + 150 < row["time"] < move.began + 250
        ]
        plain = move.cause is None and move.outcome == "completed" and math.isfinite(move.limit)
        if plain and early and early[0]["eta"] is not None and move.ended is not None:
            took = move.ended - early[0]["time"]
            errors.append(abs(early[0]["eta"] - took) / took)

    assert len(errors) >= 3
    assert median(errors) < 0.15


def _disturbed(fleet: Fleet, began: float, ended: float) -> bool:
    truth = fleet.written.truths[0]
    others = [*truth.faults, *(each for each in truth.calm if each.kind == "restart")]
    return any(each.began - 60 < ended and began < each.ended + 900 for each in others)
