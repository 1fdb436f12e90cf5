"""The correctness proof of the law of a throttled move, by the 33 runs of the measurement in law_runs.py."""

import math

import numpy as np
import pytest

from kafka_warden.derive.law import DEFAULT_WINDOW, Verdict, Window, burst, ceiling, gross, may_lose, net, verdict
from tests.derive.formulas.law_runs import RUNS, Run

MB = 1e6


def gross_of(run: Run) -> float:
    """The law's gross of all flows of a run, bytes per second."""
    return run.flows * gross(run.headroom * MB, run.burst * MB)


def test_the_table_has_all_33_runs() -> None:
    assert len({run.name for run in RUNS}) == 33


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_run(run: Run) -> None:
    """Gross is within 13 % of what the disks saw, and 0 where nothing moved; net has its sign; and the ceiling held.

    Only f5, k2 and f6 are named "never"; f1 and f3 lose by less than the law's error; all others converge.
    """
    headroom, size, bytes_in = (value * MB for value in (run.headroom, run.burst, run.bytes_in))
    noise = run.flows * size / 50  # of bursts, in a fit over 100 s

    assert gross_of(run) == pytest.approx(run.gross_seen * MB, rel=0.13, abs=0)
    assert math.copysign(1, net(gross_of(run), bytes_in)) == math.copysign(1, run.net_seen)
    assert verdict(headroom, size, bytes_in / run.flows) is run.verdict
    assert run.gross_seen * MB <= run.flows * ceiling(headroom, size) + noise


def test_errors_over_all_runs_are_those_of_the_measurement() -> None:
    """Mean absolute error 4.5 % of gross and 0.08 MB/s of net, largest 0.5 MB/s, up to the rounding of the table."""
    net_errors = [abs(net(gross_of(run), run.bytes_in * MB) / MB - run.net_seen) for run in RUNS]
    gross_errors = [abs(gross_of(run) / MB / run.gross_seen - 1) for run in RUNS if run.gross_seen]
    assert np.mean(gross_errors) < 0.055
    assert np.mean(net_errors) < 0.09
    assert max(net_errors) < 0.51


def test_never_example() -> None:
    """Limit 2.5 with two in-sync followers of 1 MB/s listed leaves c 0.5; c + B / 11 = 0.59 <= 1 is never."""
    headroom = 2.5 * MB - 2 * 1 * MB
    assert ceiling(headroom, 1 * MB) == pytest.approx(0.5909 * MB, rel=1e-3)
    assert verdict(headroom, 1 * MB, 1 * MB) is Verdict.NEVER


@pytest.mark.parametrize(
    ("partitions", "fetch", "response", "expected"),
    [
        (6, 1 << 20, 10 << 20, 6 << 20),
        (12, 1 << 20, 10 << 20, 10 << 20),
        (1, 1 << 20, 10 << 20, 1 << 20),
        (0, 1 << 20, 10 << 20, 0),
    ],
)
def test_burst(partitions: int, fetch: int, response: int, expected: int) -> None:
    """B is the fetch size of each lagging partition, capped by the whole response; none lags, none passes."""
    assert burst(partitions, fetch, response) == expected


def test_without_a_limit_the_law_knows_no_rate() -> None:
    """An unset limit gives an infinite rate, which is not used; only a measured slope counts then."""
    assert gross(math.inf, 6 * MB) == math.inf
    assert verdict(math.inf, 6 * MB, 1 * MB) is Verdict.UNKNOWN
    assert verdict(math.inf, 6 * MB, 1 * MB, slope=-1.0, slope_seconds=36) is Verdict.NEVER
    assert verdict(math.inf, 6 * MB, 1 * MB, slope=1.0, slope_seconds=36) is Verdict.CONVERGES
    assert not may_lose(math.inf, 6 * MB, 1 * MB)


@pytest.mark.parametrize(
    ("why", "headroom", "bytes_in", "slope", "seconds", "expected"),
    [
        ("nothing known", None, None, None, 0, Verdict.UNKNOWN),
        ("nothing left decides though inbound is unknown", 0.0, None, None, 0, Verdict.NEVER),
        ("inbound unknown: the slope decides", 1.0, None, -0.1, 36, Verdict.NEVER),
        ("a slope over less than 36 s is not believed", 1.0, None, -0.1, 35.9, Verdict.UNKNOWN),
        ("f1 with a slope that does not rise", 0.5, 0.58, 0.0, 36, Verdict.NEVER),
        ("f1 with a slope that does rise", 0.5, 0.58, 0.01, 36, Verdict.CONVERGES),
        ("law's net 17 % below gross, yet under the ceiling", 0.5, 0.66, None, 0, Verdict.NEVER),
        ("k3 with a slope that does not rise", 0.2, 0.29, -0.01, 36, Verdict.NEVER),
        ("rule 2 is certain", 0.45, 1.5, 0.1, 36, Verdict.NEVER),
    ],
)
def test_verdict_rules(
    why: str, headroom: float | None, bytes_in: float | None, slope: float | None, seconds: float, expected: Verdict
) -> None:
    given_headroom = None if headroom is None else headroom * MB
    given_in = None if bytes_in is None else bytes_in * MB
    assert verdict(given_headroom, 6.3 * MB, given_in, slope, seconds) is expected, why


def test_a_flow_without_lagging_partitions_has_converged() -> None:
    assert gross(1 * MB, 0) == 0
    assert verdict(1 * MB, 0, 0.0) is Verdict.CONVERGES


def test_throttle_is_not_blamed_where_the_law_sees_a_clear_gain() -> None:
    """A flow that stands still though the law gives it a clear gain is held up by something else."""
    assert not may_lose(2 * MB, 6.3 * MB, 0.58 * MB)
    assert may_lose(0.5 * MB, 6.3 * MB, 0.58 * MB)
    assert may_lose(0.5 * MB, 6.3 * MB, 0.52 * MB), "a gain of 5 % is within the law's error"


def test_nothing_left_is_nothing_copied() -> None:
    """A headroom of exactly 0 is that of a limit which in-sync traffic uses up: no burst passes."""
    assert gross(0.0, 6.3 * MB) == 0
    assert ceiling(0.0, 6.3 * MB) == 0
    assert verdict(0.0, 6.3 * MB, 0.0) is Verdict.NEVER


def test_no_gain_does_not_converge() -> None:
    assert gross(1.0, 11.5) == 1.0
    assert verdict(1.0, 11.5, 1.0) is Verdict.DOES_NOT_CONVERGE


def test_window_constants() -> None:
    """The default window of 11 x 1 s gives the 10 s, 11.5 s and 12 s of the measurement."""
    assert (DEFAULT_WINDOW.usable, DEFAULT_WINDOW.period, DEFAULT_WINDOW.settling) == (10, 11.5, 12)
    assert Window(21, 2.0).seconds == 42
