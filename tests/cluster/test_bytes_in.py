"""PartitionBytesInRate against the brokers' own BytesInPerSec, which counts every byte that producers send."""

import itertools
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox import Cluster, wait_for
from sandbox.admin_topics import EARLIEST_LOCAL
from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar, configuration

pytestmark = [pytest.mark.cluster, pytest.mark.realtime]

WITHIN = 0.05
SPAN = 20.0
"""Seconds over which rates are compared: what lies between the two readings of one poll is small beside it."""
POLLS = 8
CADENCES = ("60s", "4s", "100ms")
"""How often log dirs are asked."""
MEBIBYTE = 1 << 20
FULL = 32 * MEBIBYTE
"""Size at which retention deletes: 56 s of the load. If a busy machine is a second late with one of the two readings of
a poll, that is less than 2 %. With logs of fourteen seconds rates were up to 7 % off."""
RETENTION = {"segment.bytes": MEBIBYTE, "retention.bytes": FULL}


@dataclass(frozen=True)
class Stream:
    """A steady load: bytes a second in all, over partitions, in records of one size."""

    topic: str
    partitions: tuple[int, ...]
    rate: float
    record_size: int


STREAMS = (
    Stream("sizes", (0, 1, 2), 120e3, 300),
    Stream("sizes", (3, 4, 5), 450e3, 3000),
    Stream("sizes", (6, 7), 400e3, 20_000),
    Stream("deleted", (0, 1, 2), 1.8e6, 2000),
)
BATCH = 6
"""Records in each batch of `deleted`: a log that is filled at once must have as many bytes for each record."""


@contextmanager
def producing(cluster: Cluster) -> Iterator[None]:
    """Fill the logs that have a retention, and produce all the streams at once; yield when each log loses segments."""
    cluster.admin.create_topic("sizes", assignment={p: [1 + p % 3] for p in range(8)})
    cluster.admin.create_topic("deleted", assignment={p: [1 + p, 1 + (p + 1) % 3] for p in range(3)}, config=RETENTION)
    filled = STREAMS[-1]
    cluster.load.produce(
        filled.topic, None, FULL, filled.record_size, filled.partitions, batch_num_messages=BATCH, acks=1
    )
    with ExitStack() as stack:
        for stream in STREAMS:
            load = cluster.load.background(stream.topic, stream.rate, stream.record_size, stream.partitions)
            stack.enter_context(load)
        wait_for(lambda: min(_starts(cluster).values()) > 0, what="retention deletes from every partition")
        yield


def test_the_rates_of_a_brokers_partitions_add_up_to_its_own_count(cluster: Cluster, tmp_path: Path) -> None:
    with producing(cluster), ExitStack() as stack:
        sidecars = {
            every: stack.enter_context(Sidecar(configuration(cluster, poll={"log_dirs": every}), tmp_path / every))
            for every in CADENCES
        }
        for sidecar in sidecars.values():
            sidecar.wait(lambda page: not page.down() and len(_rates(page)) >= 11)
        before = _starts(cluster)
        with ThreadPoolExecutor(len(sidecars)) as readers:
            cadences = dict(zip(sidecars, readers.map(_pages, sidecars.values()), strict=True))
        deleted = {partition: start - before[partition] for partition, start in _starts(cluster).items()}

    print(f"records deleted meanwhile: {deleted}")
    assert min(deleted.values()) > 0
    leaders = _leaders(cluster)
    for every, pages in cadences.items():
        for broker in cluster.broker_ids:
            ours, theirs = _by_partition(pages, leaders, broker), _by_broker(pages, broker)
            print(f"log dirs {every}, broker {broker}: {ours:.0f} B/s, the bean {theirs:.0f}: {ours / theirs - 1:+.2%}")
            assert ours == pytest.approx(theirs, rel=WITHIN)


def test_a_topic_made_meanwhile_has_its_rate_at_once(cluster: Cluster, tmp_path: Path) -> None:
    rate = 200e3
    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        sidecar.whole_page()
        cluster.admin.create_topic("fresh", assignment={0: [1]})
        with cluster.load.background("fresh", rate, record_size=2000):
            pages = [sidecar.whole_page() for _ in range(POLLS)]

    counts = [page.one("broker_bytes_in_total", broker=1) for page in pages]
    seconds = _answered(pages[-1], "jmx", 1) - _answered(pages[2], "jmx", 1)
    seen = [page.get("partition_bytes_in_per_second", topic="fresh", partition=0) or 0.0 for page in pages[3:]]
    print(f"the bean {(counts[-1] - counts[2]) / seconds:.0f} B/s, the pages {[round(value) for value in seen]}")
    assert sum(seen) / len(seen) == pytest.approx((counts[-1] - counts[2]) / seconds, rel=3 * WITHIN)


def _pages(sidecar: Sidecar) -> list[Page]:
    """Every poll's page of the span: a rate holds for one poll only, so a poll that is left out is a guess."""
    until = time.monotonic() + SPAN
    return [page for page in sidecar.pages_until(lambda _: time.monotonic() > until) if not page.down()]


def _by_partition(pages: list[Page], leaders: dict[tuple[str, str], int], broker: int) -> float:
    """Mean bytes a second over the pages: each page's rate holds since the broker's previous answer."""
    total = 0.0
    for before, page in itertools.pairwise(pages):
        rate = sum(value for key, value in _rates(page).items() if leaders[key] == broker)
        total += rate * (_answered(page, "offsets", broker) - _answered(before, "offsets", broker))
    return total / (_answered(pages[-1], "offsets", broker) - _answered(pages[0], "offsets", broker))


def _by_broker(pages: list[Page], broker: int) -> float:
    first, last = pages[0], pages[-1]
    grown = last.one("broker_bytes_in_total", broker=broker) - first.one("broker_bytes_in_total", broker=broker)
    return grown / (_answered(last, "jmx", broker) - _answered(first, "jmx", broker))


def _answered(page: Page, source: str, broker: int) -> float:
    return page.one("source_last_success_timestamp_seconds", source=source, broker=broker)


def _rates(page: Page) -> dict[tuple[str, str], float]:
    return {(labels["topic"], labels["partition"]): rate for labels, rate in page.rows("partition_bytes_in_per_second")}


def _starts(cluster: Cluster) -> dict[int, int]:
    return cluster.admin.offsets("deleted", EARLIEST_LOCAL)


def _leaders(cluster: Cluster) -> dict[tuple[str, str], int]:
    topics = cluster.admin.topics(internal=True)
    return {(topic, str(p)): state.leader for topic in topics for p, state in cluster.admin.describe(topic).items()}
