"""What breaks costs its own numbers only: brokers stopped, killed, gone and back, and JMX that is not there."""

import http
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sandbox import Cluster, wait_for
from tests.cluster.page import Page
from tests.cluster.sidecar import INTERVAL, Sidecar, configuration
from tests.support.threads import repeating

pytestmark = [pytest.mark.cluster, pytest.mark.realtime]

OWN = ("offsets", "log_dirs", "configs", "jmx")
"""Sources that ask every broker about itself."""
SCRAPE_EVERY = 0.05
LAZY = ("client_request_", "leader_replication_throttled_", "follower_replication_throttled_", "remote_")
"""Beans that a broker has from their first use on."""


def test_a_stopped_broker_costs_its_own_numbers_only(cluster: Cluster, tmp_path: Path) -> None:
    """Under SIGSTOP every scrape answers, the others stay fresh, `up` and the reason say it; SIGCONT brings it back."""
    _some_topics(cluster)
    with Sidecar(configuration(cluster, poll={"log_dirs": "100ms"}), tmp_path) as sidecar:
        before = sidecar.whole_page()
        with _scraped_all_the_time(sidecar):
            cluster.pause(2)
            stopped = sidecar.wait(lambda page: 2 in page.silent("offsets"))
            assert stopped.errors("offsets", 2, before).keys() <= {"timeout", "connect_timeout", "fenced"}
            fenced = sidecar.wait(lambda page: page.one("broker_state", broker=2, state="fenced"))
            assert fenced.errors("offsets", 2, before).keys() >= {"timeout", "fenced"}
            for _ in range(3):
                page = sidecar.next_page()
                assert {broker for source in OWN for broker in page.silent(source)} == {2}
                _assert_fresh(page, brokers=(1, 3))
            assert page.errors("jmx", 2, before)["timeout"] >= 1
            assert page["under_replicated_partitions"] > 0
            assert not _lost_series(page, before, brokers=(1, 3))
            cluster.resume(2)
            cluster.wait_ready(2)
            # The broker that answers Metadata may learn later than another one that it is back.
            sidecar.wait(
                lambda page: not any(2 in page.silent(source) for source in ("offsets", "log_dirs", "configs"))
            )
            whole = sidecar.whole_page()
            assert not _lost_series(whole, before, brokers=cluster.broker_ids)
        cluster.pause(2)
        sidecar.wait(lambda page: 2 in page.silent("offsets"))
        code, seconds = sidecar.stop()
        print(f"SIGTERM while a broker hangs: exit code {code} after {seconds:.2f} s")
        assert code == 0
        assert seconds < 5


def test_a_killed_broker_is_refused_then_fenced_and_comes_back(cluster: Cluster, tmp_path: Path) -> None:
    """Its series go with it, those of the others stay, and after its return everything is as before."""
    _some_topics(cluster)
    with Sidecar(configuration(cluster, poll={"log_dirs": "100ms"}), tmp_path) as sidecar:
        before = sidecar.whole_page()
        cluster.kill(3)
        page = sidecar.wait(lambda page: page.one("broker_state", broker=3, state="fenced"))
        assert {"refused", "fenced"} >= page.errors("offsets", 3, before).keys() >= {"fenced"}
        assert page.errors("jmx", 3, before).keys() == {"refused"}
        _assert_fresh(page, brokers=(1, 2))
        page = sidecar.wait(lambda page: page.get("broker_bytes_in_total", broker=3) is None)
        assert not _lost_series(page, before, brokers=(1, 2))
        cluster.start(3)
        cluster.wait_ready(3)
        cluster.wait_in_sync()
        assert sidecar.whole_page()["under_replicated_partitions"] == 0
        sidecar.wait(lambda page: not _lost_series(page, before, brokers=cluster.broker_ids))


def test_a_cluster_that_is_down_at_the_start_and_later(cluster: Cluster, tmp_path: Path) -> None:
    """The page is up and says so, with no number of brokers; ready is 503 until the first good poll."""
    nodes = (*cluster.broker_ids, *cluster.controller_ids)
    for node in nodes:
        cluster.kill(node)
    with Sidecar(configuration(cluster), tmp_path, ready=False) as sidecar:
        page = _wait_for_page(sidecar, lambda page: page.errors("metadata"))
        assert page.up()["metadata", ""] is False
        assert page.up().keys() == page.down()
        assert page.errors("metadata").keys() == {"refused"}
        assert {
            name for name in page.names() if name.startswith(("broker", "cluster", "partition", "replica"))
        } == set()
        assert sidecar.get("/-/ready")[0] == http.HTTPStatus.SERVICE_UNAVAILABLE
        assert sidecar.get("/-/healthy")[0] == http.HTTPStatus.OK
        for node in nodes:
            cluster.start(node)
        for broker in cluster.broker_ids:
            cluster.wait_ready(broker)
        sidecar.wait_ready()
        sidecar.whole_page()
        for node in nodes:
            cluster.kill(node)
        page = _wait_for_page(sidecar, lambda page: not page.all("broker_replicas"))
        assert page.up()["metadata", ""] is False
        assert page.all("broker_sum_replica_lag_messages") == {}
        assert page.all("build_info") != {}


def _some_topics(cluster: Cluster) -> None:
    cluster.admin.create_topic("some", partitions=6, replication_factor=2)
    cluster.load.produce("some", records=50, partitions=range(6))


@contextmanager
def _scraped_all_the_time(sidecar: Sidecar) -> Iterator[None]:
    """Scrape twenty times a second; no scrape may fail."""
    sidecar.latencies.clear()
    with repeating(sidecar.scrape, SCRAPE_EVERY):
        yield
    cuts = statistics.quantiles(sidecar.latencies, n=100)
    print(
        f"{len(sidecar.latencies)} scrapes: median {1000 * cuts[49]:.1f} ms, p99 {1000 * cuts[98]:.1f} ms, "
        f"slowest {1000 * max(sidecar.latencies):.1f} ms"
    )


def _assert_fresh(page: Page, brokers: tuple[int, ...]) -> None:
    """Every source of these brokers was answered in this very poll."""
    for source in OWN:
        for broker in brokers:
            if source != "configs":
                assert page.one("source_last_success_timestamp_seconds", source=source, broker=broker) >= page.time


def _lost_series(page: Page, before: Page, brokers: tuple[int, ...]) -> set[object]:
    """Return the series that these brokers had and do not have now."""
    return {
        (name, labels)
        for name, labels in before.samples.keys() - page.samples.keys()
        if dict(labels).get("broker") in {str(broker) for broker in brokers} and not name.startswith(LAZY)
    }


def _wait_for_page(sidecar: Sidecar, predicate: object) -> Page:
    """The first page, of a new poll or not, that the predicate holds for."""
    assert callable(predicate)
    pages: list[Page] = []

    def found() -> bool:
        pages[:] = [sidecar.scrape()]
        return bool(predicate(pages[0]))

    wait_for(found, 60.0, "the page says so", interval=INTERVAL / 10)
    return pages[0]
