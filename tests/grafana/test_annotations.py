"""The marks, by Prometheus itself: of moves one at the start and one at the end, of sidecars one for each restart."""

from pathlib import Path
from typing import Any, Final

import pytest

from grafana.kit.annotations import ENDED, STARTED, restarted
from grafana.kit.queries import ONE_CLUSTER
from tests.support.dashboards import fill
from tests.support.rules import check_results

MOVING: Final = "kafka_warden_reassigning_partitions"


def marked(expr: str, minute: int, partitions: int | None) -> dict[str, Any]:
    """A case: at this minute Grafana makes a mark, or with None it makes none."""
    samples = [] if partitions is None else [{"labels": "{}", "value": partitions}]
    return {"expr": f"({fill(expr, {})}) > 0", "eval_time": f"{minute}m", "exp_samples": samples}


def only(expr: str, minutes: int, marks: dict[int, int]) -> list[dict[str, Any]]:
    """Cases: at these minutes, with so many partitions, and at no other."""
    return [marked(expr, minute, marks.get(minute)) for minute in range(1, minutes)]


@pytest.mark.parametrize(
    ("values", "started", "ended"),
    [
        pytest.param("0 0 0 5 5 2 2 0 0 0 0", {3: 5}, {8: 2}, id="a plan that ends in parts"),
        pytest.param("0 0 _ _ 5 5 5 0 0 0 0", {}, {8: 5}, id="a sidecar that comes back amid a move"),
        pytest.param("5 5 5 _ _ _ _ _ 0 0 0", {}, {}, id="a sidecar that missed the end"),
        pytest.param("0 0 0 0 0 0 0 0 0 0 0", {}, {}, id="nothing moves"),
    ],
)
def test_moves_are_marked_once(values: str, started: dict[int, int], ended: dict[int, int], tmp_path: Path) -> None:
    minutes = len(values.split())
    series = {f'{MOVING}{{instance="{instance}"}}': values for instance in "ab"}
    check_results(series, only(STARTED, minutes, started) + only(ENDED, minutes, ended), tmp_path)


def test_restarts_are_marked_once(tmp_path: Path) -> None:
    series = {
        'process_start_time_seconds{instance="a"}': "1 1 1 _ _ 300 300 300 300 300 300",
        'process_start_time_seconds{instance="b"}': "_ _ _ _ _ _ _ _ 500 500 500",
        'process_start_time_seconds{instance="broker"}': "1 1 400 400 400 400 600 600 600 600 600",
        **{f'kafka_warden_build_info{{instance="{instance}"}}': "1 1 1 1 1 1 1 1 1 1 1" for instance in "ab"},
    }
    check_results(series, only(restarted(ONE_CLUSTER), 11, {5: 300, 8: 500}), tmp_path)
