"""Where nothing happens no problem is reported, and the load has a daily and a weekly cycle."""

from itertools import pairwise

import numpy as np

from fleet.settings import HOUR, Settings
from fleet.simulation import Simulation
from kafka_warden.derive import Memory, derive
from kafka_warden.model import UNKNOWN, Snapshot

QUIET = Settings(seed=2, partitions=30, days=0.1, faults=0, bursts=0, restarts=0, moves=0)


def test_a_healthy_cluster_is_judged_healthy() -> None:
    memory: Memory | None = None
    simulation = Simulation(QUIET, 0)
    for sight in simulation.sights():
        memory, derived = derive(sight.snapshot, memory, simulation.world.plan.parameters)

        assert not derived.replicas.times.late.any()
        assert sight.snapshot.replicas.in_isr.all()
        assert derived.lag.messages.max() < 4000
        assert derived.moves == ()
        assert not derived.cluster.under_replicated.any()


def test_logs_only_grow_and_replicas_lie_apart() -> None:
    seen = [sight.snapshot for sight in Simulation(QUIET, 0).sights()]
    racks = {broker.id: broker.rack for broker in seen[0].brokers.values()}

    for before, after in pairwise(seen):
        assert (after.replicas.end >= before.replicas.end).all()
        assert (after.partitions.start >= before.partitions.start).all()
    for partition in range(len(seen[0].partitions)):
        hosts = seen[0].replicas.broker[seen[0].replicas.partition == partition].tolist()
        assert len({racks[host] for host in hosts}) == len(set(hosts)) == 3
    assert (seen[-1].replicas.size != UNKNOWN).all()


def test_days_and_weekends_are_in_what_is_produced() -> None:
    settings = Settings(seed=2, partitions=30, days=7, interval=HOUR, faults=0, bursts=0, restarts=0, moves=0)
    seen = [sight.snapshot for sight in Simulation(settings, 0).sights()]
    produced = np.array([_produced(after) - _produced(before) for before, after in pairwise(seen)])
    hours = np.arange(len(produced))
    noon, night = (np.isin(hours % 24, each) for each in ((12, 13, 14, 15), (0, 1, 2, 3)))
    weekend = hours >= 5 * 24

    assert produced[noon & ~weekend].mean() > 1.5 * produced[night & ~weekend].mean()
    assert produced[weekend].mean() < 0.75 * produced[~weekend].mean()
    share = np.sort([topic.bytes_in for topic in Simulation(settings, 0).world.topics])[::-1]
    assert share[0] > 3 * np.median(share)


def _produced(snapshot: Snapshot) -> float:
    return sum(beans.values["bytes_in_total"] for beans in snapshot.broker_beans.values())
