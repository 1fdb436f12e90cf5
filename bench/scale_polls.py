"""Whole polls of a cluster of scripted brokers, which are another process: CPU, wall time and memory of the sidecar."""

import time
from collections.abc import Iterator

from bench.procfs import pss_bytes
from bench.report import Row, median
from bench.worker import Worker
from tests.support.scripted import ScriptedCluster

BROKERS = 50
FACTOR = 3
PARTITIONS_A_TOPIC = 50
RATE = 10.0
"""Messages per second of each partition: every offset advances between two polls."""

WARM_UP = 2
DEADLINE = 900.0
"""Seconds: the brokers encode new replies in Python, and a busy machine makes that slow."""

PAUSE = 0.5
LEADERS = 0.01
WALL_SECONDS, CPU_SECONDS, CHURN_CPU_SECONDS = 1.5, 1.0, 1.5
MEMORY = 450e6


def measure(partitions: int, polls: int) -> Iterator[Row]:
    """Poll a steady cluster, then one in which each poll finds other leaders, a new topic, and one that is gone."""
    with ScriptedCluster(range(1, BROKERS + 1)) as brokers:
        topics = partitions // PARTITIONS_A_TOPIC
        brokers.do(
            "spread", topics=topics, partitions=PARTITIONS_A_TOPIC, replicas=FACTOR, rate=RATE, end=1000, lag={"1": 5}
        )
        argument = {"bootstrap": brokers.bootstrap, "everything": False, "deadline": DEADLINE}
        # The brokers encode new replies in Python, which takes 20 s of a core and would slow down whom they answer.
        # So another sidecar asks the same before, and they keep what they answered.
        with Worker("bench.poll_worker", argument) as before, Worker("bench.poll_worker", argument) as sidecar:
            before.step()
            first = sidecar.step()
            yield Row("first poll: cpu", first["cpu"], "s", note=f"wall {first['wall']:.1f} s")
            for name, limit in (("steady", CPU_SECONDS), ("churn", CHURN_CPU_SECONDS)):
                samples = []
                for number in range(WARM_UP + polls):
                    if name == "churn":
                        brokers.do("churn", number=number, leaders=LEADERS)
                    before.step()
                    time.sleep(PAUSE)
                    samples.append(sidecar.step())
                cpu, wall = ([sample[unit] for sample in samples[WARM_UP:]] for unit in ("cpu", "wall"))
                yield Row(
                    f"poll, {name}: cpu", median(cpu), "s", limit, f"median of {polls}; greatest {max(cpu):.2f} s"
                )
                yield Row(f"poll, {name}: wall", median(wall), "s", WALL_SECONDS, f"greatest {max(wall):.2f} s")
                yield Row(f"poll, {name}: Pss", pss_bytes([sidecar.pid]) / 1e6, "MB", MEMORY / 1e6)
