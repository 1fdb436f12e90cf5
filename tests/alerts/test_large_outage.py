"""One of 12 brokers, with 2,500 of 30,000 replicas, is dead for 30 minutes: a few short notifications, not thousands.

/metrics is that of the product: derived and rendered from generated snapshots that advance with real time. A real
Prometheus scrapes them and a real Alertmanager notifies a webhook. Durations are a tenth of the real ones.
"""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from kafka_warden.catalogue import Build, ExporterState, Figures, View
from kafka_warden.derive import Memory, derive
from kafka_warden.exposition import Exposition
from kafka_warden.model import UNKNOWN, Broker, Parameters, Snapshot, Source, SourceStatus, TopicConfig
from sandbox.monitoring import ALERTS, Alertmanager, Prometheus
from sandbox.monitoring_rules import shorten_files
from tests.alerts.notified import Notification, Webhook
from tests.building import Partition, Topics, snapshot
from tests.support.serving import Server

pytestmark = [pytest.mark.full_alerts, pytest.mark.timeout(1200)]

SCALE, FLOOR = 0.1, 10.0
INTERVAL: Final = 5.0
"""Seconds between two polls, and between two scrapes."""
BROKERS, VICTIM = 12, 7
TOPICS, PARTITIONS = 98, 100
ALONE, STRICT = "single", "strict"
"""A topic without copies, and one that needs all three to accept writes; 100 partitions each."""
RECORDS_A_SECOND, BEHIND, RECORD = 100, 1_000_000, 100
FIGURES: Final[Figures] = {
    # A busy machine needs seconds for one: it counts for three of these, as in a sidecar whose polls take longer.
    "poll_interval_seconds": {(): 4 * INTERVAL},
}
MOST: Final = 3
MOST_BYTES: Final = 4000


class Phase(Enum):
    """What the victim is, for how many real seconds."""

    HEALTHY = 200.0
    DEAD = 1800.0
    CATCHING_UP = 900.0
    RECOVERED = 300.0


class GeneratedSidecar:
    """The /metrics of a sidecar."""

    def __init__(self) -> None:
        self.page = b""
        self._memory: Memory | None = None
        self._parameters = Parameters(poll_interval=INTERVAL)
        self._exposition = Exposition(self._parameters.series_budget)
        self._cluster = {phase: _cluster(phase) for phase in Phase}
        self._errors = Counter[str]()
        self._began = time.monotonic()

    def poll(self, phase: Phase, progress: float) -> None:
        """Show what a poll finds now; `progress` is the part of the phase that is over."""
        seen = self._advanced(self._cluster[phase], phase, progress)
        self._memory, derived = derive(seen, self._memory, self._parameters)
        fenced = {VICTIM: False} if phase is Phase.DEAD else {}
        polled = replace(seen, cluster_reachable=True, controller_reachable=True, fenced_responding=fenced)
        sidecar = ExporterState(polled, Build("0", "0", "3"), seen.time, figures=FIGURES)
        view = View(derived, sidecar, np.ones(len(seen.topics), dtype=bool), self._parameters)
        self.page = self._exposition.render(sidecar, view).text

    def _advanced(self, base: Snapshot, phase: Phase, progress: float) -> Snapshot:
        clock, rows = time.monotonic(), base.replicas
        written = round((clock - self._began) * RECORDS_A_SECOND)
        missing = round(BEHIND * (1 - progress)) if phase is Phase.CATCHING_UP else 0
        end = rows.end + written - np.where(rows.broker == VICTIM, missing, 0)
        end[rows.end == UNKNOWN] = UNKNOWN
        size = np.where(end == UNKNOWN, rows.size, end * RECORD)
        return replace(
            base,
            time=time.time(),
            clock=clock,
            replicas=replace(rows, end=end, size=size, sized_at=np.full(len(end), clock)),
            offsets_at=dict.fromkeys(base.offsets_at, clock),
            status=self._status(phase),
        )

    def _status(self, phase: Phase) -> Mapping[tuple[Source, str], SourceStatus]:
        """The victim refuses connections in the first poll; later it is fenced and not asked."""
        dead, now = phase is Phase.DEAD, time.time()
        if dead:
            self._errors["fenced" if self._errors else "refused"] += 1
        answered = SourceStatus(up=True, duration=0.01, last_success=now, errors={})
        victim = replace(answered, up=not dead, errors=dict(self._errors))
        of_cluster = dict.fromkeys(((source, "") for source in (Source.METADATA, Source.REASSIGNMENTS)), answered)
        of_brokers = {
            (source, str(number)): victim if number == VICTIM else answered
            for source in (Source.OFFSETS, Source.LOG_DIRS, Source.CONFIGS, Source.JMX)
            for number in range(1, BROKERS + 1)
        }
        return {**of_cluster, **of_brokers}


def _cluster(phase: Phase) -> Snapshot:
    brokers = {
        number: Broker(number, f"kafka-{number}.example", 9092, fenced=phase is Phase.DEAD and number == VICTIM)
        for number in range(1, BROKERS + 1)
    }
    topics = _topics(phase)
    configs = {name: TopicConfig(min_insync_replicas={ALONE: 1, STRICT: 3}.get(name, 2)) for name in topics}
    answering = {number: 0.0 for number, broker in brokers.items() if not broker.fenced}
    return snapshot(topics, brokers=brokers, topic_configs=configs, offsets_at=answering, controller=101)


def _topics(phase: Phase) -> Topics:
    usual = {f"topic-{number:02d}": _partitions(phase, number, 3) for number in range(TOPICS)}
    return {**usual, ALONE: _partitions(phase, 0, 1), STRICT: _partitions(phase, 0, 3)}


def _partitions(phase: Phase, first: int, copies: int) -> list[Partition]:
    return [
        _partition(phase, tuple((first + number + place) % BROKERS + 1 for place in range(copies)))
        for number in range(PARTITIONS)
    ]


def _partition(phase: Phase, replicas: tuple[int, ...]) -> Partition:
    size = 2 * BEHIND
    if phase is Phase.HEALTHY or VICTIM not in replicas:
        return Partition(replicas=replicas, end=size)
    others = [broker for broker in replicas if broker != VICTIM]
    gone = (VICTIM,) if phase is Phase.DEAD else ()
    out = (VICTIM,) if phase in {Phase.DEAD, Phase.CATCHING_UP} and others else gone
    leader = others[0] if others else UNKNOWN if gone else VICTIM
    return Partition(replicas=replicas, leader=leader, epoch=1, out=out, offline=gone, silent=gone, end=size)


def _notifications(folder: Path) -> list[Notification]:
    """Everything that was sent until all is over."""
    sidecar = GeneratedSidecar()
    rules = shorten_files(sorted(ALERTS.glob("*.rules.yml")), folder / "rules", SCALE, FLOOR)
    with Webhook() as webhook, Server(lambda _: sidecar.page) as page:
        config = webhook.config(folder / "alertmanager.yml", SCALE, FLOOR)
        with (
            Alertmanager(folder / "alertmanager", config) as alertmanager,
            Prometheus(
                folder / "prometheus",
                [page.address],
                rules,
                alertmanager.address,
                scrape_interval=INTERVAL,
                target_labels={"cluster": "generated"},
            ),
        ):
            for phase in Phase:
                began, seconds = time.monotonic(), phase.value * SCALE
                while (past := time.monotonic() - began) < seconds:
                    sidecar.poll(phase, past / seconds)
                    time.sleep(max(0.0, began + past + INTERVAL - time.monotonic()))
        return webhook.received


def test_a_dead_broker_of_a_large_cluster_is_a_few_short_notifications(tmp_path: Path) -> None:
    """One on partitions without a leader, one on refused writes: these name the broker; nothing while it catches up."""
    received = _notifications(tmp_path)
    seen = [(each.receiver, each.name, len(each.labels), each.size) for each in received]
    print(*seen, sep="\n")
    assert {each.name for each in received} == {"KafkaPartitionOffline", "KafkaPartitionUnderMinIsr"}, seen
    for each in received:
        assert f"Broker {VICTIM} is fenced" in each.annotations[0]["description"]
    assert len(received) <= MOST, seen
    assert max(each.size for each in received) <= MOST_BYTES, seen
