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
POLL = {"interval": "3s", "deadline": "2700ms"}
"""Three sidecars, three brokers and a load: with a poll a second two cores do not keep up, and the load is no longer
steady."""
SPAN = 36.0
"""Seconds over which rates are compared: what lies between the two readings of one poll is small beside it."""
POLLS = 8
CADENCES = ("60s", "8s", "100ms")
"""How often log dirs are asked: not again, in every third poll, in every poll."""
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
            every: stack.enter_context(
                Sidecar(configuration(cluster, poll={**POLL, "log_dirs": every}), tmp_path / every)
            )
            for every in CADENCES
        }
        for sidecar in sidecars.values():
            sidecar.wait(lambda page: len(_rates(page)) >= 11)
        before = _starts(cluster)
        with ThreadPoolExecutor(len(sidecars)) as readers:
            cadences = dict(zip(sidecars, readers.map(_pages, sidecars.values()), strict=True))
        deleted = {partition: start - before[partition] for partition, start in _starts(cluster).items()}

    print(f"records deleted meanwhile: {deleted}")
    assert min(deleted.values()) > 0
    leaders = _leaders(cluster)
    for every, pages in cadences.items():
        for broker in cluster.broker_ids:
            ours, theirs = _compared(pages, leaders, broker)
            print(f"log dirs {every}, broker {broker}: {ours:.0f} B/s, the bean {theirs:.0f}: {ours / theirs - 1:+.2%}")
            assert ours == pytest.approx(theirs, rel=WITHIN)


def test_a_topic_made_meanwhile_has_its_rate_at_once(cluster: Cluster, tmp_path: Path) -> None:
    rate = 200e3
    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        sidecar.whole_page()
        cluster.admin.create_topic("fresh", assignment={0: [1]})
        with cluster.load.background("fresh", rate, record_size=2000):
            pages = list(itertools.islice(sidecar.pages(), POLLS))

    ours, theirs = _compared(pages[2:], _leaders(cluster), broker=1)
    print(f"the page {ours:.0f} B/s, the bean {theirs:.0f}")
    assert ours == pytest.approx(theirs, rel=3 * WITHIN)


def _pages(sidecar: Sidecar) -> list[Page]:
    """Every poll's page of the span."""
    until = time.monotonic() + SPAN
    return sidecar.pages_until(lambda _: time.monotonic() > until)


def _compared(pages: list[Page], leaders: dict[tuple[str, str], int], broker: int) -> tuple[float, float]:
    """Mean bytes a second of a broker's partitions, and of its bean, over the polls that both answered first and last.

    Each page's rate holds since the broker's previous answer; a poll that it did not answer belongs to the next one.
    """
    pages = [page for page in pages if ("offsets", str(broker)) not in page.down()]
    both = [at for at, page in enumerate(pages) if ("jmx", str(broker)) not in page.down()]
    first, last = pages[both[0]], pages[both[-1]]
    ours = 0.0
    for before, page in itertools.pairwise(pages[both[0] : both[-1] + 1]):
        rate = sum(value for key, value in _rates(page).items() if leaders[key] == broker)
        ours += rate * (_answered(page, "offsets", broker) - _answered(before, "offsets", broker))
    theirs = last.one("broker_bytes_in_total", broker=broker) - first.one("broker_bytes_in_total", broker=broker)
    return (
        ours / (_answered(last, "offsets", broker) - _answered(first, "offsets", broker)),
        theirs / (_answered(last, "jmx", broker) - _answered(first, "jmx", broker)),
    )


def _answered(page: Page, source: str, broker: int) -> float:
    return page.one("source_last_success_timestamp_seconds", source=source, broker=broker)


def _rates(page: Page) -> dict[tuple[str, str], float]:
    return {(labels["topic"], labels["partition"]): rate for labels, rate in page.rows("partition_bytes_in_per_second")}


def _starts(cluster: Cluster) -> dict[int, int]:
    return cluster.admin.offsets("deleted", EARLIEST_LOCAL)


def _leaders(cluster: Cluster) -> dict[tuple[str, str], int]:
    topics = cluster.admin.topics(internal=True)
    return {(topic, str(p)): state.leader for topic in topics for p, state in cluster.admin.describe(topic).items()}
