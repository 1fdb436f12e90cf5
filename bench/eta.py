"""`python -m bench.eta`: compares the ETA of real moves with the time that they then took; leaves nothing out."""

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread

from bench.cluster import Target
from bench.sidecar import Sidecar, running_sidecar, shown
from sandbox import Cluster, ClusterSettings, wait_for
from sandbox.load import BackgroundProducer

TOPIC = "moved"
RECORD = 1000
BATCH = 1 << 16
"""Bytes. Batches of usual clients, smaller than those of librdkafka: a fetch response has whole batches."""

INTERVAL = 5.0
LOOK = 0.2
LONGEST = 1800.0
SHARES = (0.2, 0.5, 0.8)
"""When the ETA is read, as a share of the duration of the move."""

WITHIN = 0.10
TWO_WINDOWS = 22.0
MEGABYTE = 1e6
TOGETHER = 3
"""Moves at once, each on its own cluster: with more, the machine limits the speed, not the throttle."""

_ETA = re.compile(r"^kafka_warden_reassignment_total_eta_seconds (\S+)$", re.MULTILINE)
_starting = Lock()


@dataclass(frozen=True)
class Case:
    """One move. The first replica of an assignment leads; bytes and bytes per second."""

    name: str
    brokers: int
    groups: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    """Replicas before and after, for every n-th partition."""
    partitions: int
    partition_bytes: int
    limit: int
    rate: float = 0.0
    changed: tuple[float, int] | None = None
    """(Seconds after the start, new limit)."""

    def before(self) -> dict[int, tuple[int, ...]]:
        """Where every partition is."""
        return {number: self.groups[number % len(self.groups)][0] for number in range(self.partitions)}

    def after(self) -> dict[tuple[str, int], Sequence[int]]:
        """Where every partition goes."""
        return {(TOPIC, number): self.groups[number % len(self.groups)][1] for number in range(self.partitions)}


TWO_TO_ONE = (((1, 2), (1, 3)), ((2, 1), (2, 3)))
CASES = (
    Case("one partition, one to another", 2, (((1,), (2,)),), 1, 280_000_000, 1_000_000),
    Case("100 partitions, one to another", 2, (((1,), (2,)),), 100, 7_800_000, 2_900_000),
    Case(
        "100 partitions, two to one, producing",
        3,
        (((1, 2), (1, 3)), ((2, 1), (2, 3))),
        100,
        12_000_000,
        5_000_000,
        4e5,
    ),
    Case("12 partitions, one to two, producing", 3, (((1,), (2,)), ((1,), (3,))), 12, 60_000_000, 3_000_000, 5e5),
    Case("40 partitions, limit raised midway", 2, (((1,), (2,)),), 40, 16_000_000, 1_500_000, 1e5, (120.0, 4_000_000)),
)


@dataclass
class Seen:
    """The ETAs of one move. Seconds since its start."""

    case: Case
    took: float = 0.0
    read: list[tuple[float, float]] = field(default_factory=list)
    """(Moment of the poll, ETA)."""

    def errors(self) -> Iterator[tuple[str, float, float, float]]:
        """Yield (when, ETA, real time left, relative error) at every moment that counts."""
        changed = self.case.changed
        for share in SHARES:
            yield self._error(f"{share:.0%}", share * self.took)
        if changed is not None:
            yield self._error("two windows after the change", changed[0] + TWO_WINDOWS)

    def _error(self, when: str, moment: float) -> tuple[str, float, float, float]:
        changed = self.case.changed
        if changed is not None and moment < changed[0]:
            # Values before the change belong to the old throttle, so they have no error.
            return f"{when} (before the change)", self._eta(moment)[1], float("nan"), float("nan")
        at, eta = self._eta(moment)
        taken = self.took - at
        return when, eta, taken, abs(eta - taken) / taken

    def _eta(self, moment: float) -> tuple[float, float]:
        return next((pair for pair in self.read if pair[0] >= moment), self.read[-1])


def main() -> int:
    """Run all moves and print the table; the exit code shows whether every ETA was good enough."""
    parser = argparse.ArgumentParser(prog="python -m bench.eta", description=__doc__)
    parser.add_argument("--only", type=int, action="append", choices=range(len(CASES)), help="may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every ETA that was read to this file")
    options = parser.parse_args()
    cases = [CASES[number] for number in options.only or range(len(CASES))]
    with ThreadPoolExecutor(TOGETHER) as pool:
        seen = list(pool.map(run, cases))
    print("\n".join(_table(seen)))
    if options.json:
        options.json.write_text(json.dumps({s.case.name: {"took": s.took, "read": s.read} for s in seen}) + "\n")
    return 0 if all(not error > WITHIN for s in seen for *_, error in s.errors()) else 1


def run(case: Case) -> Seen:
    """Run one move on its own cluster, and read the ETA until it ends."""
    with ExitStack() as stack:
        with _starting:
            settings = ClusterSettings(brokers=case.brokers, profile="default", jmx=False, tiered=False)
            cluster = stack.enter_context(Cluster(settings))
            _fill(cluster, case)
        stack.enter_context(_producing(cluster, case))
        target = Target.of(cluster, case.partitions)
        sidecar = stack.enter_context(running_sidecar(target, INTERVAL, jmx=False))
        time.sleep(4 * INTERVAL)  # until the rate of what is produced is known, as on every cluster that runs for long
        return _watch(cluster, case, sidecar)


def _fill(cluster: Cluster, case: Case) -> None:
    cluster.admin.create_topic(TOPIC, assignment=case.before())
    numbers = range(case.partitions)
    cluster.load.produce(TOPIC, bytes=case.partition_bytes, record_size=RECORD, partitions=numbers, batch_size=BATCH)
    wait_for(lambda: not cluster.admin.out_of_sync(), 120, "every replica is in sync before the move")


@contextmanager
def _producing(cluster: Cluster, case: Case) -> Iterator[BackgroundProducer | None]:
    if not case.rate:
        yield None
        return
    with cluster.load.background(TOPIC, rate=case.rate, partitions=range(case.partitions)) as load:
        yield load


def _watch(cluster: Cluster, case: Case, sidecar: Sidecar) -> Seen:
    seen = Seen(case)
    started, start = time.monotonic(), time.time()
    cluster.admin.reassign(case.after(), throttle=case.limit)
    changer = Thread(target=_change, args=(cluster, case, started), daemon=True)
    changer.start()
    last = 0.0
    while time.monotonic() - started < LONGEST and cluster.admin.reassignments():
        shown, eta = _read(sidecar)
        if eta is not None and shown > max(last, start):
            last = shown
            seen.read.append((shown - start, eta))
            _say(f"{case.name}: {shown - start:.0f} s: ETA {eta:.0f} s")
        time.sleep(LOOK)
    seen.took = time.monotonic() - started
    _say(f"{case.name}: took {seen.took:.0f} s")
    changer.join()
    return seen


def _change(cluster: Cluster, case: Case, started: float) -> None:
    if case.changed is None:
        return
    after, limit = case.changed
    time.sleep(max(0.0, started + after - time.monotonic()))
    for broker in cluster.broker_ids:
        cluster.admin.set_throttle_rate(broker, limit)


def _read(sidecar: Sidecar) -> tuple[float, float | None]:
    """Return the start time of the poll in `/metrics`, and its ETA of all moves."""
    page = sidecar.read()
    found = _ETA.search(page)
    return shown(page) or 0.0, float(found[1]) if found else None


def _table(seen: Sequence[Seen]) -> Iterator[str]:
    yield "| Move | Took | When | ETA | Then took | Error | |"
    yield "|---|---|---|---|---|---|---|"
    for one in seen:
        for when, eta, taken, error in one.errors():
            verdict = "" if error != error else "reached" if error <= WITHIN else "missed"  # noqa: PLR0124  # NaN
            against = f"{taken:.0f} s | {error:.1%}" if verdict else " | "
            yield f"| {one.case.name} | {one.took:.0f} s | {when} | {eta:.0f} s | {against} | {verdict} |"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
