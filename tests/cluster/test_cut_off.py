"""A broker that is cut off from its controllers, with a producer running: the others know better, and are believed."""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from kafka_warden.clients.kafka.properties import translate
from kafka_warden.model import Snapshot
from kafka_warden.poller import Poller, PollerSettings
from sandbox import Cluster, wait_for
from tests.cluster.forwarder import Forwarder
from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar, configuration

pytestmark = [pytest.mark.cluster, pytest.mark.full_kafka, pytest.mark.timeout(600)]

CUT_OFF, CONTROLLER, PARTITIONS = 1, 101, 9
WITHIN = 15.0
"""Seconds after the other brokers know that it is fenced."""


@contextmanager
def behind(cluster: Cluster, forwarder: Forwarder) -> Iterator[None]:
    """Have a broker reach the controller through the forwarder."""
    file = cluster.root / str(CUT_OFF) / "server.properties"
    cluster.stop(CUT_OFF)
    text = re.sub(
        r"(?m)^controller.quorum.voters=.*",
        f"controller.quorum.voters={CONTROLLER}@{forwarder.address}",
        file.read_text(),
    )
    file.write_text(text)
    cluster.start(CUT_OFF)
    cluster.wait_ready(CUT_OFF)
    cluster.wait_in_sync()
    cluster.admin.elect_preferred()
    yield


class Watching(threading.Thread):
    """A poller that has broker 1 as its lead, once a second."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(name="watching", daemon=True)
        self.poller = Poller(
            PollerSettings(interval=1.0, deadline=0.9), translate({"bootstrap.servers": cluster.bootstrap}), None
        )
        self.under_replicated = 0
        """Partitions that lack the broker in the ISR, as the last poll has it."""
        self.stopped = threading.Event()

    def run(self) -> None:
        while not self.stopped.wait(0.5):
            snapshot = self.poller.poll()
            if isinstance(snapshot, Snapshot):
                replicas = snapshot.replicas
                self.under_replicated = int((~replicas.in_isr[replicas.broker == CUT_OFF]).sum())
        self.poller.close()


@pytest.mark.parametrize("version", ["3.9.1", "4.1.1", "4.4.0"])
def test_the_page_has_the_truth_of_the_others(
    version: str, make_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = make_cluster(version=version, tiered=False, profile="default")
    with ExitStack() as stack:
        forwarder = stack.enter_context(Forwarder(cluster.controller_addresses[CONTROLLER]))
        stack.enter_context(behind(cluster, forwarder))
        cluster.admin.create_topic("orders", partitions=PARTITIONS, replication_factor=3)
        producing = cluster.load.background("orders", 200_000.0, partitions=range(PARTITIONS), acks=1)
        stack.enter_context(producing)
        slow = Sidecar(configuration(cluster, poll={"interval": "10s", "deadline": "5s"}), tmp_path / "slow")
        fast = Sidecar(configuration(cluster), tmp_path / "fast")
        instances = [stack.enter_context(each) for each in (slow, fast)]
        watching = Watching(cluster)
        watching.start()
        stack.callback(watching.stopped.set)
        wait_for(lambda: watching.poller._state.lead == CUT_OFF, 60, "the poller asks the broker first")

        forwarder.open.clear()
        stack.callback(forwarder.open.set)
        wait_for(lambda: _missing(cluster, CUT_OFF + 1) == PARTITIONS, 60, "the other brokers know", interval=0.1)
        known = time.monotonic()
        wait_for(lambda: watching.under_replicated == PARTITIONS, WITHIN, "the poller has it", interval=0.1)
        took = [time.monotonic() - known]
        for instance in reversed(instances):
            wait_for(lambda instance=instance: _right(instance.scrape()), WITHIN, "the page has it", interval=0.1)  # type: ignore[misc]
            took.append(time.monotonic() - known)
        print(f"{version}: seconds until poller, 1 s and 10 s have it: {[round(each, 1) for each in took]}")
        assert max(took) <= WITHIN
        assert _missing(cluster, CUT_OFF) == 0
        for instance in instances:
            (problem,) = [each for each in _problems(instance) if each["kind"] in ("broker_fenced", "broker_gone")]
            assert problem["sentence"].startswith(f"Broker {CUT_OFF} is ")
            assert _right(instance.scrape())
        forwarder.open.set()
        for instance in instances:
            instance.wait(lambda page: page["under_replicated_partitions"] == 0 and not page.fenced(CUT_OFF))


def _missing(cluster: Cluster, node: int) -> int:
    """Partitions that lack the broker in the ISR, as a node has it."""
    return sum(CUT_OFF not in state.isr for state in cluster.admin.describe("orders", node=node).values())


def _problems(sidecar: Sidecar) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = json.loads(sidecar.get("/api/v1/problems")[1])["data"]
    return rows


def _right(page: Page) -> bool:
    return page.get("under_replicated_partitions") == PARTITIONS and page.fenced(CUT_OFF)
