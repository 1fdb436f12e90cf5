"""`python -m bench.hostile`: a sidecar beside a broker that answers badly, and one that answers well.

The brokers are scripted, in a process of their own; the sidecar is the program that users start. For each way to answer
badly it reports the greatest memory of the sidecar over that beside good brokers, how often the good broker was not
answered for, and how long the sidecar takes to end on SIGTERM.
"""

import argparse
import re
import sys
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.cluster import Target
from bench.sidecar import Sidecar, running_sidecar
from tests.support.scripted import ScriptedCluster

GOOD, BAD = 1, 2
HOW: Final[Mapping[str, tuple[Mapping[str, Any], ...]]] = {
    "length prefix only": ({"request": "ApiVersions", "raw": (512 << 10).to_bytes(4, "big")},),
    "large length prefix": ({"request": "ApiVersions", "raw": (256 << 20).to_bytes(4, "big")},),
    "1 MB of 0xFF before login": ({"request": "ApiVersions", "raw": b"\xff", "repeat": 1_000_000},),
    "0xFF in a frame before login": ({"request": "ApiVersions", "body": b"\xff", "repeat": 500_000},),
    "length prefix only, after login": ({"request": "ListOffsets", "raw": (256 << 20).to_bytes(4, "big")},),
    "mutated replies": ({"mutate": 1}, {"request": "ApiVersions"}),
    "mutated replies before login": ({"mutate": 1},),
}
"""What the bad broker does: rules of `tests/support/scripted/rules.py`, the last one first."""

POLLS: Final = 200
WARM_UP: Final = 20
"""Polls beside good brokers, after which the memory is taken that later memory is compared with."""
INTERVAL: Final = 1.0
MOST_MEGABYTES, MOST_SECONDS = 50.0, 5.0

_ERRORS: Final = re.compile(r'^kafka_warden_source_errors_total{source="(\w+)",broker="(\d*)".*} (\S+)$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one way to answer badly. Megabytes over the memory beside good brokers; seconds until the end."""

    how: str
    polls: int
    megabytes: float
    failures: float
    """Questions to the good broker, or for the metadata, that were not answered."""
    errors: float
    """Questions to the bad broker that were not answered."""
    seconds: float

    @property
    def good(self) -> bool:
        """Whether all is as docs/reliability.md says."""
        return self.megabytes <= MOST_MEGABYTES and not self.failures and self.seconds <= MOST_SECONDS

    def __str__(self) -> str:
        """One line."""
        return (
            f"{self.how}: {self.polls} polls, {self.megabytes:+.1f} MB, {self.failures:.0f} failures of the good broker"
            f" and {self.errors:.0f} of the bad one, SIGTERM {self.seconds:.2f} s:"
            f" {'reached' if self.good else 'missed'}"
        )


def measure(how: str, polls: int = POLLS, interval: float = INTERVAL) -> Outcome:
    """Run one sidecar: some polls beside good brokers, then `polls` beside the bad one."""
    with ScriptedCluster((GOOD, BAD)) as brokers:
        brokers.topic("a", [[GOOD, BAD], [BAD, GOOD]] * 50, rate=10.0, end=100)
        target = Target(brokers.bootstrap, {}, {}, {}, 100)
        with running_sidecar(target, interval, jmx=False, log_dirs=interval) as sidecar:
            sidecar.wait_polls(min(WARM_UP, polls))
            before = _megabytes(sidecar.pid, "VmRSS")
            for rule in HOW[how]:
                brokers.rule(BAD, **rule)
            brokers.do("disconnect", broker=BAD)
            sidecar.wait_polls(polls)
            page = _page(sidecar)
            grown = _megabytes(sidecar.pid, "VmHWM") - before
            began = time.monotonic()
            sidecar.end()
            return Outcome(how, polls, grown, _failed(GOOD, page), _failed(BAD, page), time.monotonic() - began)


def _page(sidecar: Sidecar) -> str:
    with urllib.request.urlopen(sidecar.url) as reply:  # noqa: S310  # ours
        return str(reply.read().decode())


def _failed(broker: int, page: str) -> float:
    """Sum the errors of a broker; those of the metadata are counted for the good one."""
    return sum(
        float(value)
        for source, name, value in _ERRORS.findall(page)
        if name == str(broker) or (source == "metadata" and broker == GOOD)
    )


def _megabytes(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(f"{name}:"))


def main() -> int:
    """Measure all of them; the exit code shows whether all is as it must be."""
    parser = argparse.ArgumentParser(prog="python -m bench.hostile", description=__doc__)
    parser.add_argument("--polls", type=int, default=POLLS)
    parser.add_argument("--interval", type=float, default=INTERVAL, help="seconds between two polls")
    given, outcomes = parser.parse_args(), []
    for how in HOW:
        outcomes.append(measure(how, given.polls, given.interval))
        print(outcomes[-1], flush=True)
    return 0 if all(outcome.good for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
