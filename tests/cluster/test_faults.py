"""What breaks costs its own numbers only: a broker that is stopped. `tests/faults` has all other faults."""

from pathlib import Path

import pytest

from sandbox import Cluster
from tests.cluster.page import OWN, Page
from tests.cluster.sidecar import Sidecar, configuration
from tests.support.threads import repeating

pytestmark = [pytest.mark.cluster, pytest.mark.realtime]

SCRAPE_EVERY = 0.05
LAZY = ("client_request_", "leader_replication_throttled_", "follower_replication_throttled_", "remote_")
"""Beans that a broker has from their first use on."""


def test_a_stopped_broker_costs_its_own_numbers_only(cluster: Cluster, tmp_path: Path) -> None:
    """Under SIGSTOP every scrape answers, the others stay fresh, `up` and the reason say it; SIGCONT brings it back."""
    cluster.admin.create_topic("some", partitions=6, replication_factor=2)
    cluster.load.produce("some", records=50, partitions=range(6))
    with Sidecar(configuration(cluster, poll={"log_dirs": "100ms"}), tmp_path) as sidecar:
        before = sidecar.whole_page()
        with repeating(sidecar.scrape, SCRAPE_EVERY):
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
            assert not page.lost(before, (1, 3), LAZY)
            cluster.resume(2)
            cluster.wait_ready(2)
            # The broker that answers Metadata may learn later than another one that it is back.
            sidecar.wait(
                lambda page: not any(2 in page.silent(source) for source in ("offsets", "log_dirs", "configs"))
            )
            whole = sidecar.whole_page()
            assert not whole.lost(before, cluster.broker_ids, LAZY)


def _assert_fresh(page: Page, brokers: tuple[int, ...]) -> None:
    """Every source of these brokers was answered in this very poll."""
    for source in OWN:
        for broker in brokers:
            if source != "configs":
                assert page.one("source_last_success_timestamp_seconds", source=source, broker=broker) >= page.time
