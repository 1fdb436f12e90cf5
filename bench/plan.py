"""Moves of many partitions under a throttle, watched on the disks of the brokers.

KIP-73's test plan, and what else the law of docs/spec/throttle-law.md is measured on.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import numpy as np

from kafka_warden.derive import law
from kafka_warden.derive.law import fair_shares
from sandbox import Cluster, ClusterSettings, wait_for

TOPIC = "moved"
MEGABYTE = 1e6
RECORD = 1000
SAMPLE_SECONDS = 1.0
WINDOW = law.DEFAULT_WINDOW
DONE = 0.9
FETCH = 1 << 20
RESPONSE = 10 << 20
BATCH = 1 << 16
"""Bytes. A response has whole batches: with the 0.65 MB batches of a full queue it had 9.0 MB, not 10.5."""

PERIOD, BURST = 20.0, 5.0
"""Seconds of a bursty producer: every 20 s it produces for 5."""

_starting = threading.Lock()


@dataclass(frozen=True)
class Shape:
    """What moves where. Broker ids; the first replica of an assignment leads."""

    name: str
    brokers: int
    moves: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    """Groups of partitions of equal size: replicas before, replicas after."""
    limit: float
    """Bytes per second, on all sides."""
    bytes_a_partition: int
    partitions: int = 100
    fetchers: int = 1
    """`num.replica.fetchers` of every broker."""
    bursty: bool = False
    """Produce everything in a fourth of every 20 s, and nothing in between."""

    @property
    def numbers(self) -> range:
        """The partitions."""
        return range(self.partitions)

    def assignment(self) -> dict[int, tuple[int, ...]]:
        """Where every partition is at first."""
        return {number: self.group(number)[0] for number in self.numbers}

    def targets(self) -> dict[tuple[str, int], list[int]]:
        """Where every partition goes."""
        return {(TOPIC, number): list(self.group(number)[1]) for number in self.numbers}

    def added(self, number: int) -> int:
        """The broker that a partition is copied to."""
        before, after = self.group(number)
        return next(broker for broker in after if broker not in before)

    def group(self, number: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Replicas of a partition before and after."""
        return self.moves[number % len(self.moves)]


@dataclass
class Watched:
    """The measurements of a move. Bytes, and seconds since its start."""

    shape: Shape
    bytes_in: float
    """Measured, of all partitions together, bytes per second."""
    times: list[float] = field(default_factory=list)
    copied: list[float] = field(default_factory=list)
    took: float = 0.0

    def __str__(self) -> str:
        gross, by_law, by_kip = self.gross, self.by_law, self.by_kip
        return (
            f"{self.shape.name}, in {self.bytes_in / MEGABYTE:.2f} MB/s, {self.took:.0f} s: "
            f"gross {gross / MEGABYTE:.2f} MB/s, law {by_law / MEGABYTE:.2f} ({gross / by_law - 1:+.1%}), "
            f"KIP-73 {by_kip / MEGABYTE:.2f} ({gross / by_kip - 1:+.1%})"
        )

    @property
    def gross(self) -> float:
        """Slope from one quota window after the start on, least squares."""
        later = [index for index, then in enumerate(self.times) if then >= WINDOW.seconds]
        times, copied = np.array(self.times)[later], np.array(self.copied)[later]
        return float(np.polyfit(times, copied, 1)[0])

    @property
    def by_law(self) -> float:
        """The gross rate by docs/spec/throttle-law.md#the-law."""
        return sum(law.gross(share, self._burst, WINDOW) for share in self._shares())

    @property
    def by_kip(self) -> float:
        """KIP-73's "quota - inbound" is a net rate; as a gross one it is the quota of the side that binds."""
        shares = self._shares(floor=False)
        return float(sum(shares))

    @property
    def _burst(self) -> float:
        lagging = self.shape.partitions / len(self._flows())
        return law.burst(lagging, FETCH, RESPONSE)

    def _flows(self) -> list[tuple[int, int]]:
        """(leader, target) of every fetcher that copies."""
        pairs = {(self.shape.group(number)[0][0], self.shape.added(number)) for number in self.shape.numbers}
        return sorted(pairs) * self.shape.fetchers

    def _shares(self, *, floor: bool = True) -> list[float]:
        leaders, targets = (np.array(side, dtype=np.int32) for side in zip(*self._flows(), strict=True))
        headroom = dict.fromkeys(range(1, self.shape.brokers + 1), self.shape.limit)
        left = dict(headroom)
        if floor:
            # The tool's leader list names every replica that was there before: its in-sync followers count.
            for number in self.shape.numbers:
                before = self.shape.group(number)[0]
                left[before[0]] -= self.bytes_in / self.shape.partitions * (len(before) - 1)
        shares: list[float] = fair_shares(leaders, targets, left, headroom).tolist()
        return shares


def run(shape: Shape, rate: float) -> Watched:
    """Run the move on its own cluster, and watch it until most of it is copied."""
    with ExitStack() as stack:
        with _starting:
            cluster = stack.enter_context(
                Cluster(_settings(shape)),
            )
            _fill(cluster, shape)
        acked = stack.enter_context(_inbound(cluster, shape, rate))
        return _watch(cluster, shape, rate, acked)


def _settings(shape: Shape) -> ClusterSettings:
    fetchers = {"num.replica.fetchers": shape.fetchers}
    return ClusterSettings(
        brokers=shape.brokers, profile="default", jmx=False, tiered=False, broker_properties=fetchers
    )


def run_together(shape: Shape, rates: tuple[float, ...]) -> list[Watched]:
    """Run the same move with several produce rates at once, each on its own cluster."""
    with ThreadPoolExecutor(len(rates)) as pool:
        return list(pool.map(lambda rate: run(shape, rate), rates))


def _fill(cluster: Cluster, shape: Shape) -> None:
    cluster.admin.create_topic(TOPIC, assignment=shape.assignment())
    size = shape.bytes_a_partition
    cluster.load.produce(TOPIC, bytes=size, record_size=RECORD, partitions=shape.numbers, batch_size=BATCH)
    wait_for(lambda: not cluster.admin.out_of_sync(), 120, "every replica is in sync before the move")


@contextmanager
def _inbound(cluster: Cluster, shape: Shape, rate: float) -> Iterator[Callable[[], int]]:
    """Produce at a rate; yield a function that returns the acknowledged bytes."""
    if not rate:
        yield lambda: 0
        return
    with _bursts(cluster, shape, rate) if shape.bursty else _steady(cluster, shape, rate) as acked:
        yield acked


@contextmanager
def _steady(cluster: Cluster, shape: Shape, rate: float) -> Iterator[Callable[[], int]]:
    with cluster.load.background(TOPIC, rate=rate, record_size=RECORD, partitions=shape.numbers) as load:
        yield lambda: load.acked_bytes


@contextmanager
def _bursts(cluster: Cluster, shape: Shape, rate: float) -> Iterator[Callable[[], int]]:
    """Produce for a fourth of the time at four times the rate."""
    done, acked = threading.Event(), [0]

    def produce() -> None:
        while not done.is_set():
            with _steady(cluster, shape, rate * PERIOD / BURST) as of_burst:
                done.wait(BURST)
            acked[0] += of_burst()
            done.wait(PERIOD - BURST)

    thread = threading.Thread(target=produce, daemon=True)
    thread.start()
    yield lambda: acked[0]
    done.set()
    thread.join()


def _watch(cluster: Cluster, shape: Shape, rate: float, acked: Callable[[], int]) -> Watched:
    produced = acked()
    started = time.monotonic()
    cluster.admin.reassign(shape.targets(), throttle=int(shape.limit))
    seen = Watched(shape, bytes_in=0.0)
    total = shape.bytes_a_partition * float(shape.partitions)
    deadline = started + 600
    while (now := time.monotonic()) < deadline:
        copied = float(sum(_log_bytes(cluster, shape.added(number), number) for number in shape.numbers))
        if copied >= DONE * (total + rate * (now - started)):
            break
        seen.times.append(now - started)
        seen.copied.append(copied)
        seen.bytes_in = (acked() - produced) / (time.monotonic() - started)
        time.sleep(SAMPLE_SECONDS)
    seen.took = time.monotonic() - started
    return seen


def _log_bytes(cluster: Cluster, broker: int, number: int) -> int:
    """Bytes of a replica's log on the disk; a file that is deleted meanwhile counts 0."""
    found = 0
    for directory in cluster.log_dirs(broker):
        for segment in (directory / f"{TOPIC}-{number}").glob("*.log"):
            try:
                found += segment.stat().st_size
            except FileNotFoundError:
                continue
    return found
