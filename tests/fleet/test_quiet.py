"""Where nothing happens no problem is reported, and the load has a daily and a weekly cycle."""

from fleet.settings import Settings
from fleet.simulation import Simulation
from kafka_warden.derive import Memory, derive

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
