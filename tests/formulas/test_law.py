"""The correctness proof of the law of a throttled move: the 33 runs of the measurement, one row each.

Rules for rows: bytes are in MB (1e6), rates in MB/s, as the measurement printed them, so that a row can be read beside
it. `gross_seen` and `net_seen` are what the log files on disk did, least squares over 54 to 102 s. A changed row needs
a new measurement; a changed formula must keep every row.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from kafka_warden.formulas.law import DEFAULT_WINDOW, Verdict, Window, burst, ceiling, gross, may_lose, net, verdict
from kafka_warden.formulas.ops import ARRAYS, NUMBERS

MB = 1e6


@dataclass(frozen=True, slots=True)
class Run:
    """One measured run. Flows of one run are alike: each has this headroom and this burst."""

    name: str
    limits: str
    bytes_in: float
    headroom: float
    burst: float
    gross_seen: float
    net_seen: float
    flows: int = 1
    verdict: Verdict = Verdict.CONVERGES


LOSES = Verdict.DOES_NOT_CONVERGE
RUNS = (
    Run("a1", "L1=2 F2=2", 0.00, 2.00, 6.3, 2.13, 2.13),
    Run("a4", "L1=2 F2=2", 0.00, 2.00, 6.3, 2.10, 2.10),
    Run("a3", "L1=2 F2=2", 0.00, 2.00, 1.0, 1.71, 1.71),
    Run("b1", "L2=2 F3=2", 0.58, 2.00, 6.3, 2.08, 1.50),
    Run("b4", "L2=2 F3=2", 0.58, 2.00, 6.3, 2.09, 1.51),
    Run("v1", "L2=1 F3=1", 0.29, 1.00, 1.0, 0.87, 0.58),
    Run("hi1", "L1=6 F2=6", 0.00, 6.00, 1.0, 5.02, 5.02),
    Run("hi2", "L3=8 F1=8", 0.00, 8.00, 6.3, 7.57, 7.57),
    Run("n12", "L3=3 F1=3", 0.59, 3.00, 10.4, 2.81, 2.22),
    Run("d1", "L3=2 F1=2", 0.58, 1.42, 6.3, 1.70, 1.12),
    Run("d4", "L3=2 F1=2", 0.58, 1.42, 6.3, 1.69, 1.10),
    Run("c1", "L1=2 F2=2 F3=2", 0.58, 1.42, 6.3, 1.68, 1.10),
    Run("c2", "L2=2 F1=2 F3=2", 0.58, 1.42, 6.3, 1.71, 1.12),
    Run("c3", "L1=2 F3=2", 0.57, 1.43, 1.0, 1.45, 0.87),
    Run("e1", "L1=2 F2=2 F3=2", 0.58, 1.42, 6.3, 1.69, 1.10),
    Run("e3", "L2=1.3 F1=2 F3=2", 0.58, 0.72, 6.3, 1.12, 0.54),
    Run("e2", "L1=1.5 L2=1.5 F3=2 F1=1.2 F2=1.2", 0.58, 1.00, 3.1, 1.95, 1.37, flows=2),
    # Within the law's own error of zero: the law predicts a loss, and no alert fires.
    Run("f1", "L3=0.5 F1=0.5", 0.58, 0.50, 6.3, 0.56, -0.02, verdict=LOSES),
    Run("f2", "L3=0.7 F1=0.7", 0.58, 0.70, 6.3, 1.01, 0.43),
    Run("f3", "L3=1.1 F1=1.1", 0.58, 0.52, 6.3, 0.56, -0.03, verdict=LOSES),
    Run("f4", "L3=1.35 F1=1.35", 0.58, 0.77, 6.3, 1.14, 0.56),
    # In-sync copies eat the whole limit: rule 1, not one byte in 116 s.
    Run("f5", "L2=0.5 F1=0.5 F3=0.5", 0.58, -0.08, 6.3, 0.00, -0.58, verdict=Verdict.NEVER),
    # c + B / 11 s is below inbound: rule 2.
    Run("f6", "L2=0.45 F3=0.45", 0.57, 0.45, 1.0, 0.42, -0.16, verdict=Verdict.NEVER),
    Run("k1", "L3=0.2 F1=0.2", 0.00, 0.20, 6.3, 0.57, 0.57),
    Run("k2", "L3=0.2 F1=0.2", 0.29, -0.38, 6.3, 0.00, -0.29, verdict=Verdict.NEVER),
    # The limit is below inbound on both sides, and yet it catches up: "limit below inbound" is a false alarm.
    Run("k3", "L3=0.2 F1=0.2", 0.29, 0.20, 6.3, 0.57, 0.27),
    Run("g1", "L1=1 F2=4", 0.58, 1.00, 6.3, 1.07, 0.49),
    Run("g2", "L2=4 F3=1", 0.58, 1.00, 6.3, 1.11, 0.52),
    Run("h1", "L1=2 F2=2 F3=2", 0.58, 1.00, 3.1, 2.17, 1.58, flows=2),
    Run("h2", "L1=2 L2=2 F3=2", 0.58, 1.00, 3.1, 1.96, 1.37, flows=2),
    Run("m1", "L3=1.6 F1=1.2", 0.29, 0.91, 6.3, 1.04, 0.75),
    Run("a2", "L3=2 F1=2", 0.00, 1.42, 6.3, 1.56, 1.56),
    Run("b2", "L3=2 F1=2", 0.58, 1.42, 6.3, 1.56, 0.98),
)


def gross_of(run: Run) -> float:
    """The law's gross of all flows of a run, bytes per second."""
    return run.flows * gross(NUMBERS, run.headroom * MB, run.burst * MB)


def test_the_table_has_all_33_runs() -> None:
    """No run of the measurement is left out."""
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
    assert run.gross_seen * MB <= run.flows * ceiling(NUMBERS, headroom, size) + noise


def test_errors_over_all_runs_are_those_of_the_measurement() -> None:
    """Mean absolute error 4.5 % of gross and 0.08 MB/s of net, largest 0.5 MB/s, up to the rounding of the table."""
    net_errors = [abs(net(gross_of(run), run.bytes_in * MB) / MB - run.net_seen) for run in RUNS]
    gross_errors = [abs(gross_of(run) / MB / run.gross_seen - 1) for run in RUNS if run.gross_seen]
    assert np.mean(gross_errors) < 0.055
    assert np.mean(net_errors) < 0.09
    assert max(net_errors) < 0.51


def test_arrays_say_what_numbers_say() -> None:
    """The one formula gives the same for numbers and for numpy arrays."""
    headrooms, bursts = np.array([(run.headroom * MB, run.burst * MB) for run in RUNS]).T
    expected = [gross(NUMBERS, run.headroom * MB, run.burst * MB) for run in RUNS]
    np.testing.assert_allclose(gross(ARRAYS, headrooms, bursts), expected, rtol=1e-12)


def test_never_example() -> None:
    """Limit 2.5 with two in-sync followers of 1 MB/s listed leaves c 0.5; c + B / 11 = 0.59 <= 1 is never."""
    headroom = 2.5 * MB - 2 * 1 * MB
    assert ceiling(NUMBERS, headroom, 1 * MB) == pytest.approx(0.5909 * MB, rel=1e-3)
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
    assert burst(NUMBERS, partitions, fetch, response) == expected


def test_without_a_limit_the_law_knows_no_rate() -> None:
    """An unset limit gives an infinite rate, which is not used; only a measured slope counts then."""
    assert gross(NUMBERS, math.inf, 6 * MB) == math.inf
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
    """Each rule decides alone what it knows, and leaves the rest to the next."""
    given_headroom = None if headroom is None else headroom * MB
    given_in = None if bytes_in is None else bytes_in * MB
    assert verdict(given_headroom, 6.3 * MB, given_in, slope, seconds) is expected, why


def test_a_flow_without_lagging_partitions_has_converged() -> None:
    """Once nothing lags there is no burst, no rate and nothing that could never end."""
    assert gross(NUMBERS, 1 * MB, 0) == 0
    assert verdict(1 * MB, 0, 0.0) is Verdict.CONVERGES


def test_throttle_is_not_blamed_where_the_law_sees_a_clear_gain() -> None:
    """A flow that stands still though the law gives it a clear gain is held up by something else."""
    assert not may_lose(2 * MB, 6.3 * MB, 0.58 * MB)
    assert may_lose(0.5 * MB, 6.3 * MB, 0.58 * MB)
    assert may_lose(0.5 * MB, 6.3 * MB, 0.52 * MB), "a gain of 5 % is within the law's error"


def test_nothing_left_is_nothing_copied() -> None:
    """A headroom of exactly 0 is that of a limit which in-sync traffic uses up: no burst passes."""
    assert gross(NUMBERS, 0.0, 6.3 * MB) == 0
    assert ceiling(NUMBERS, 0.0, 6.3 * MB) == 0
    assert verdict(0.0, 6.3 * MB, 0.0) is Verdict.NEVER


def test_no_gain_does_not_converge() -> None:
    """A flow that copies exactly what producers add stays where it is."""
    assert gross(NUMBERS, 1.0, 11.5) == 1.0
    assert verdict(1.0, 11.5, 1.0) is Verdict.DOES_NOT_CONVERGE


def test_window_constants() -> None:
    """The default window of 11 x 1 s gives the 10 s, 11.5 s and 12 s of the measurement."""
    assert (DEFAULT_WINDOW.usable, DEFAULT_WINDOW.period, DEFAULT_WINDOW.settling) == (10, 11.5, 12)
    assert Window(21, 2.0).seconds == 42
