"""The 33 runs of the measurement of throttled moves, one row each: test_law.py compares the law with them.

Rules for rows: bytes are in MB (1e6), rates in MB/s, as the measurement printed them, so that a row can be read beside
it. `gross_seen` and `net_seen` are what the log files on disk did, least squares over 54 to 102 s. A changed row needs
a new measurement; a changed formula must keep every row. docs/pictures/law.svg shows them.
"""

from dataclasses import dataclass


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
    never_ends: bool = False


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
    Run("f1", "L3=0.5 F1=0.5", 0.58, 0.50, 6.3, 0.56, -0.02),
    Run("f2", "L3=0.7 F1=0.7", 0.58, 0.70, 6.3, 1.01, 0.43),
    Run("f3", "L3=1.1 F1=1.1", 0.58, 0.52, 6.3, 0.56, -0.03),
    Run("f4", "L3=1.35 F1=1.35", 0.58, 0.77, 6.3, 1.14, 0.56),
    # In-sync copies eat the whole limit: rule 1, not one byte in 116 s.
    Run("f5", "L2=0.5 F1=0.5 F3=0.5", 0.58, -0.08, 6.3, 0.00, -0.58, never_ends=True),
    # c + B / 11 s is below inbound: rule 2.
    Run("f6", "L2=0.45 F3=0.45", 0.57, 0.45, 1.0, 0.42, -0.16, never_ends=True),
    Run("k1", "L3=0.2 F1=0.2", 0.00, 0.20, 6.3, 0.57, 0.57),
    Run("k2", "L3=0.2 F1=0.2", 0.29, -0.38, 6.3, 0.00, -0.29, never_ends=True),
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
