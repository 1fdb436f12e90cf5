"""The same scenes on each version of Kafka of docs/versions.md: what a version cannot give is absent, and no failure.

`VERSIONS_TABLE=write` in the environment writes which metrics each version showed; docs/versions.md is made of that.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from docs import versions
from docs.versions import COLUMNS, UPGRADES, ZOOKEEPER
from kafka_warden.catalogue import OF_SNAPSHOT
from sandbox import Cluster, wait_for
from sandbox.admin_moves import LOG_DIR_RATE
from sandbox.monitoring import ALERTS, Prometheus
from sandbox.monitoring_rules import shorten_files
from sandbox.settings import TIERED_SINCE, release
from tests.cluster.mutating import create_topic
from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar, configuration
from tests.cluster.watching import causes
from tests.support.topics import fill

pytestmark = [pytest.mark.cluster, pytest.mark.full_versions, pytest.mark.realtime]

WRITING: Final = os.environ.get("VERSIONS_TABLE") == "write"
FAMILIES: Final = {*(metric.name for metric in OF_SNAPSHOT), "broker_fenced_responding"}
"""Of the self-metrics, that one needs a version."""
MEGABYTE: Final = 1_000_000
KEPT: Final = {0: [2, 1], 1: [3, 2], 2: [1, 3]}
"""Replicas of a topic: broker N follows in partition N - 1."""
MOVED: Final = {"topic": "moved", "partition": 0, "broker": 3}
BATCH: Final = {"user": "", "client_id": "batch"}
RATE, WINDOW, THROTTLED = 0.1, 11, 89
"""Mutations a second; seconds; Kafka's error THROTTLING_QUOTA_EXCEEDED."""
SCALE, FLOOR = 1 / 90, 20.0
"""Of durations in the rules: 30 s and half an hour become 20 s and 40 s."""
BUSY_MACHINE: Final = {("KafkaWardenBlind", "beans")}
"""JMX is on each version, and has to answer within a poll of a second."""
WATCHED: Final = 60.0
"""Seconds in which no source brings an alert: by then each would have."""


class NotingSidecar(Sidecar):
    """Notes the metrics that any page had."""

    def __init__(self, config: Mapping[str, Any], folder: Path) -> None:
        super().__init__(config, folder)
        self.shown: set[str] = set()

    def scrape(self) -> Page:
        page = super().scrape()
        self.shown |= page.names() & FAMILIES
        return page


@dataclass(frozen=True)
class Stage:
    """A cluster, and the sidecar that watches it."""

    cluster: Cluster
    sidecar: Sidecar

    @property
    def zookeeper(self) -> bool:
        return self.cluster.settings.zookeeper

    @property
    def has_mutation_quotas(self) -> bool:
        """Whether it enforces them: in KRaft mode 3.9.1 does, and 3.3.2 does not."""
        return self.zookeeper or release(self.cluster.settings.version) >= (3, 9)

    @property
    def absent(self) -> dict[tuple[str, str], str]:
        known = {"quorum": not self.zookeeper, "fenced_brokers": release(self.cluster.settings.version) >= (4,)}
        return {(source, ""): "unsupported" for source, there in known.items() if not there}


@pytest.mark.parametrize(("version", "mode"), COLUMNS, ids=map("-".join, COLUMNS))
def test_core_scenes(version: str, mode: str, make_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    tiered = release(version) >= TIERED_SINCE
    cluster = make_cluster(version=version, zookeeper=mode == ZOOKEEPER, tiered=tiered, log_dirs=2)
    cluster.admin.create_topic("kept", assignment=KEPT)
    fill(cluster, "moved", [1], 25 * MEGABYTE)
    fill(cluster, "between", [2], 12 * MEGABYTE)
    cluster.admin.set_client_quota(client_id="batch", values={"controller_mutation_rate": RATE})
    rules = shorten_files(sorted(ALERTS.glob("*.rules.yml")), tmp_path / "rules", SCALE, FLOOR)
    with NotingSidecar(configuration(cluster, poll={"log_dirs": "100ms"}), tmp_path) as sidecar:
        stage, began, labels = Stage(cluster, sidecar), time.time(), {"cluster": "versions"}
        with Prometheus(tmp_path / "prometheus", [sidecar.address], rules, target_labels=labels) as prometheus:
            _at_rest(stage)
            _moves(stage)
            _mutation_quota(stage)
            if tiered:
                _tiered_storage(stage)
            assert _errors(sidecar.whole_page()) == {}
            wait_for(lambda: time.time() - began > WATCHED, 2 * WATCHED, "alerts had their time")
            lines = prometheus.query_range('ALERTS{alertstate="firing"}', began, time.time(), 2.0)
            fired = {(line.labels["alertname"], line.labels.get("data", "")) for line in lines}
            print(f"fired: {sorted(fired)}")
            assert {each for each in fired if each[0].startswith("KafkaWarden")} <= BUSY_MACHINE
        _death(stage)
        errors = _errors(sidecar.whole_page())
        for _ in range(5):
            page = sidecar.next_page()
            assert _errors(page) == errors
        assert page.not_available() == stage.absent
    assert sidecar.log.count("source is not available") == len(stage.absent)
    assert "Traceback" not in sidecar.log
    if WRITING:
        versions.write((version, mode), sidecar.shown)
    recorded = {metric for metric, columns in versions.read().items() if f"{version} {mode}" in columns}
    assert sidecar.shown == recorded, "VERSIONS_TABLE=write make full-versions writes what was seen, then make docs"


@pytest.mark.parametrize(("old", "new"), UPGRADES, ids=map("-".join, UPGRADES))
def test_an_upgrade_broker_by_broker(old: str, new: str, make_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    """Brokers of two versions: all answer, the newer ones know who is fenced, and lag stays exact; then all are new."""
    cluster = make_cluster(version=old)
    cluster.admin.create_topic("kept", assignment=KEPT)
    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        assert sidecar.whole_page().not_available() == Stage(cluster, sidecar).absent
        cluster.upgrade(1, new)
        cluster.wait_in_sync()
        sidecar.wait(lambda page: not page.down() and not page.not_available(), what="the new broker is asked")
        cluster.kill(3)
        cluster.load.produce("kept", records=77, partitions=[2])
        page = sidecar.wait(lambda page: page.get("broker_state", broker=3, state="fenced") == 1)
        assert page.one("replica_lag_messages", topic="kept", partition=2, broker=3) == 77
        for node in (3, 2, 101):
            cluster.upgrade(node, new)
            cluster.wait_in_sync()
        page = sidecar.wait(lambda page: not page.down() and not page.all("replica_lag_messages", topic="kept"))
        assert page.brokers("broker_sum_replica_lag_messages") == {1: 0, 2: 0, 3: 0}
        errors = _errors(page)
        assert [_errors(sidecar.next_page()) for _ in range(5)] == [errors] * 5
        (info, _), *_ = page.rows("cluster_info")
        assert info["kafka_version"] == ".".join(new.split(".")[:2])
    assert "Traceback" not in sidecar.log


def _at_rest(stage: Stage) -> None:
    page = stage.sidecar.whole_page()
    assert page.not_available() == stage.absent
    assert page.brokers("broker_sum_replica_lag_messages") == {1: 0, 2: 0, 3: 0}
    assert page.brokers("broker_bytes_in_total").keys() == {1, 2, 3}
    assert page.by("log_dir", "log_dir_online", broker=1) == {str(path): 1 for path in stage.cluster.log_dirs(1)}
    assert _controller(page) == stage.cluster.active_controller()
    assert page["controller_reachable"] == 1
    assert page["reassigning_partitions"] == 0
    (info, _), *_ = page.rows("cluster_info")
    assert info["kafka_version"] == ".".join(stage.cluster.settings.version.split(".")[:2])


def _moves(stage: Stage) -> None:
    """A throttled move and one between directories: rates, then a throttle of 0, which is the cause, then the end."""
    cluster, sidecar = stage.cluster, stage.sidecar
    (replica,) = (log for log in cluster.admin.log_dirs(2) if log.topic == "between")
    (other,) = {str(path) for path in cluster.log_dirs(2)} - {replica.log_dir}
    cluster.admin.alter_broker_config(2, {LOG_DIR_RATE: MEGABYTE // 4})
    cluster.admin.move_log_dir(2, ("between", 0), other)
    cluster.admin.reassign({("moved", 0): [3]}, throttle=MEGABYTE)
    pages = sidecar.pages_until(
        lambda page: (
            page.get("reassignment_bytes_per_second", **MOVED)
            and page.get("reassignment_eta_seconds", **MOVED)
            and page.get("log_dir_move_eta_seconds", topic="between", partition=0, broker=2)
        )
    )
    page = pages[-1]
    assert page["reassigning_partitions"] == 1
    assert page.one("replication_throttle_bytes_per_second", broker=3, side="follower") == MEGABYTE
    assert page.one("leader_replication_throttled_bytes_per_second", broker=1) > MEGABYTE / 2
    assert page.one("follower_replication_throttled_bytes_per_second", broker=3) > MEGABYTE / 2

    for broker in (1, 3):
        cluster.admin.set_throttle_rate(broker, 0)
    pages += sidecar.pages_until(
        lambda page: causes(page) and page.all("replication_throttle_problem_seconds", problem="blocked")
    )
    assert causes(pages[-1]) == {("moved", 0, 3): "throttle_blocked"}
    for broker in (1, 3):
        cluster.admin.set_throttle_rate(broker, 100 * MEGABYTE)
    cluster.admin.alter_broker_config(2, {LOG_DIR_RATE: None})
    pages += sidecar.pages_until(
        lambda page: page.get("reassigning_partitions") == 0 and not page.all("log_dir_move_bytes_remaining")
    )
    # without an answer about log directories it is an estimate
    found = [page.get("reassignment_bytes_remaining", **MOVED) for page in pages if not page.down()]
    remaining = [left for left in found if left is not None]
    assert remaining == sorted(remaining, reverse=True)
    assert remaining[0] > remaining[-1]
    cluster.admin.clear_throttle(["moved"])
    assert not sidecar.next_page().all("reassignment_bytes_remaining")


def _mutation_quota(stage: Stage) -> None:
    """A client that spent more than it had is refused: its tokens, by the bean of the active controller."""
    controller = stage.cluster.active_controller()
    address = stage.cluster.broker_addresses[controller] if stage.zookeeper else None
    assert create_topic(stage.cluster, "batch", "small", 5, address=address).error_code == 0
    more = create_topic(stage.cluster, "batch", "more", 1, address=address).error_code
    if not stage.has_mutation_quotas:
        assert more == 0
        assert not stage.sidecar.whole_page().all("controller_mutation_tokens")
        return
    assert more == THROTTLED
    page = stage.sidecar.wait(lambda page: (page.get("controller_mutation_tokens", **BATCH) or 0) < 0)
    assert page.one("controller_mutation_tokens", **BATCH) >= RATE * WINDOW - 5
    assert page.one("controller_mutation_quota_per_second", **BATCH) == RATE
    assert page.all("unclean_leader_elections_total").keys() == {(str(controller),)}


def _tiered_storage(stage: Stage) -> None:
    """Segments are copied and read again, and nothing is overdue."""
    stage.cluster.admin.create_tiered_topic("cold", replication_factor=2)
    stage.cluster.load.produce("cold", bytes=6 * MEGABYTE)
    stage.sidecar.wait(lambda page: sum(page.brokers("remote_copy_bytes_total").values()) > 2 * MEGABYTE)
    stage.sidecar.wait(lambda page: page.get("topic_remote_copy_overdue_bytes", topic="cold") == 0)
    assert stage.cluster.load.consume("cold") == 6000
    stage.sidecar.wait(lambda page: page.all("remote_fetch_bytes_per_second"))


def _death(stage: Stage) -> None:
    """A broker dies, in ZooKeeper mode the active controller: what its follower lacks is exact until it is back."""
    cluster, sidecar = stage.cluster, stage.sidecar
    dead = cluster.active_controller() if stage.zookeeper else 3
    follower = {"topic": "kept", "partition": dead - 1, "broker": dead}
    cluster.kill(dead)
    cluster.load.produce("kept", records=77, partitions=[dead - 1])
    sidecar.wait(lambda page: page.fenced(dead) and _controller(page) not in (None, dead))
    for page, _ in zip(sidecar.pages(), range(3), strict=False):
        assert page.one("replica_lag_messages", **follower) == 77
        assert page.one("replica_out_of_sync_seconds", **follower) > 0
        assert page["controller_reachable"] == 1
        assert page.not_available() == stage.absent
    cluster.start(dead)
    cluster.wait_ready(dead)
    cluster.wait_in_sync()
    names = ("replica_lag_messages", "replica_out_of_sync_seconds")
    sidecar.wait(lambda page: not page.down() and not any(page.all(name, topic="kept") for name in names))


def _controller(page: Page) -> int | None:
    return next((int(node) for (node,) in page.all("controller_info")), None)


def _errors(page: Page) -> dict[tuple[str, str, str], float]:
    """Failures by source, broker and reason, without time-outs: those are of a busy machine."""
    rows = [(each["source"], each["broker"], each["reason"], count) for each, count in page.rows("source_errors_total")]
    return {(source, broker, reason): count for source, broker, reason, count in rows if count and reason != "timeout"}
