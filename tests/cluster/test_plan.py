"""`kafka-warden plan` on a real cluster: what it says comes true, and it changes nothing."""

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_warden.clients.kafka.requests import READ_ONLY
from sandbox import Cluster, wait_for
from sandbox.properties import DEFAULT_QUOTA_WINDOW
from tests.cluster.asked import asked_while
from tests.cluster.sidecar import ROOT, SLOW_MACHINE, _neutral, configuration
from tests.support.processes import run as run_program

pytestmark = pytest.mark.cluster

MEGABYTE = 1_000_000
REMOTE_LOG = "__remote_log_metadata"
PARTITIONS = 4
BATCH = 1 << 16
"""Bytes. A fetch response holds whole batches, and the plan cannot see how large they are."""

DEADLINE = 50.0
OPTIMISTIC = 1.2
"""How much longer than the plan says a move may take: the law's worst ETA at the start was a third off, of 33."""

Files = Mapping[tuple[str, int], Sequence[int]]


@pytest.mark.realtime
def test_a_move_ends_as_the_plan_says(make_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = make_cluster(tiered=False, broker_properties=DEFAULT_QUOTA_WINDOW)
    moves: dict[tuple[str, int], Sequence[int]] = {("planned", number): [2] for number in range(PARTITIONS)}
    cluster.admin.create_topic("planned", assignment={number: [1] for number in range(PARTITIONS)})
    cluster.load.produce(
        "planned", bytes=10 * MEGABYTE, partitions=range(PARTITIONS), record_size=10_000, batch_size=BATCH
    )
    with cluster.load.background("planned", MEGABYTE // 10, record_size=2000):
        back = tmp_path / "back.json"
        found = plan_of(
            cluster, tmp_path, moves, "--deadline", f"{DEADLINE:g}s", "--measure", "8s", "--rollback", str(back)
        )
        limit = throttle_of(found)
        began = time.monotonic()
        cluster.admin.reassign(moves, throttle=limit)
        cluster.admin.wait_for_moves()
        took = time.monotonic() - began

    predicted, produced = found["move"]["predicted_seconds"], found["measured"]["bytes_in_per_second"]
    print(f"throttle {limit}, predicted {predicted:.1f} s, took {took:.1f} s, produced {produced:.0f} B/s")
    assert found["verdict"] == "possible"
    assert limit == found["throttle"]["bytes_per_second"]
    assert found["move"]["bytes"] == pytest.approx(PARTITIONS * 10 * MEGABYTE, rel=0.1)
    assert produced == pytest.approx(MEGABYTE // 10, rel=0.4)
    assert predicted <= DEADLINE
    assert took <= OPTIMISTIC * predicted
    assert took <= DEADLINE
    assert [p["replicas"] for p in json.loads(back.read_text())["partitions"]] == [[1]] * PARTITIONS


def test_nothing_is_changed_and_brokers_see_only_requests_that_read(cluster: Cluster, tmp_path: Path) -> None:
    cluster.admin.create_topic("mine", assignment={0: [1, 2]})
    cluster.admin.create_topic("other", assignment={0: [1]})
    for topic in ("mine", "other"):
        cluster.load.produce(topic, bytes=3 * MEGABYTE)
    cluster.admin.reassign({("other", 0): [3]}, throttle=1)
    before = state(cluster)
    quiet = asked_while(cluster, lambda: time.sleep(5.0))

    outputs: list[str] = []
    asked = asked_while(
        cluster, lambda: outputs.append(run(cluster, tmp_path, {("mine", 0): [1, 3]}, "--measure", "4s").stdout)
    )

    print(f"by themselves: {sorted(quiet)}; with the plan: {sorted(asked - quiet)}")
    assert asked - quiet <= {key.name for key in READ_ONLY}
    assert state(cluster) == before
    assert outputs[0].startswith("POSSIBLE  1 partition in the file, 2 replicas to copy")
    assert "other-0: moves already, and is not in the file: it shares the throttle" in outputs[0]
    assert "--execute --additional --throttle" in outputs[0]
    assert "its throttle of 1 B/s is replaced" in outputs[0]


def test_a_creation_fits_or_not(cluster: Cluster, tmp_path: Path) -> None:
    wait_for(lambda: cluster.admin.describe(REMOTE_LOG), what="the brokers have made their own topic")
    cluster.admin.wait_for_topic(REMOTE_LOG, len(cluster.admin.describe(REMOTE_LOG)))
    cluster.admin.create_topic("there", assignment={0: [1, 2], 1: [1, 3]})
    now = json.loads(creation(cluster, tmp_path, 1, 1).stdout)
    counts = {broker["broker"]: broker["partitions_before"] for broker in now["brokers"]}
    limits = {"max_broker_partitions": max(counts.values()) + 2}

    fits = json.loads(creation(cluster, tmp_path, 2, 3, limits=limits).stdout)
    refused = creation(cluster, tmp_path, 30, 3, code=1, limits=limits)
    exists = creation(cluster, tmp_path, 2, 2, name="there", code=2)
    cluster.admin.create_topic("new", 2, 3)
    after = json.loads(creation(cluster, tmp_path, 1, 1, name="later").stdout)

    assert set(counts) == set(cluster.broker_ids)
    assert fits["verdict"] == "possible"
    assert {broker["broker"]: broker["partitions_after"] for broker in fits["brokers"]} == {
        broker["broker"]: broker["partitions_before"] for broker in after["brokers"]
    }
    assert json.loads(refused.stdout)["problems"][0].startswith("the brokers have room for")
    assert "there: has 2 partitions already" in exists.stderr


def plan_of(cluster: Cluster, folder: Path, moves: Files, *arguments: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run(cluster, folder, moves, *arguments, "--output", "json").stdout)
    return document


def throttle_of(document: Mapping[str, Any]) -> int:
    (begin,) = (command["command"] for command in document["commands"] if command["purpose"] == "begin")
    words = shlex.split(begin)
    return int(words[words.index("--throttle") + 1])


def creation(
    cluster: Cluster, folder: Path, partitions: int, factor: int, *, name: str = "new", code: int = 0, **sections: Any
) -> subprocess.CompletedProcess[str]:
    topic = ("--topic", name, "--partitions", str(partitions), "--replication-factor", str(factor))
    return command(cluster, folder, *topic, "--output", "json", code=code, **sections)


def run(
    cluster: Cluster, folder: Path, moves: Files, *arguments: str, code: int = 0, **sections: Any
) -> subprocess.CompletedProcess[str]:
    entries = [
        {"topic": topic, "partition": number, "replicas": list(replicas)} for (topic, number), replicas in moves.items()
    ]
    file = folder / "move.json"
    file.write_text(json.dumps({"version": 1, "partitions": entries}))
    return command(cluster, folder, "--reassignment", str(file), *arguments, code=code, **sections)


def command(
    cluster: Cluster, folder: Path, *arguments: str, code: int, **sections: Any
) -> subprocess.CompletedProcess[str]:
    """Run the command as its users do, and expect an exit code."""
    config = folder / "kafka-warden.yml"
    config.write_text(yaml.safe_dump(configuration(cluster, **sections)))
    program = (sys.executable, "-m", "kafka_warden.cli", "plan", "--config", config, *arguments)
    environment = {**_neutral(os.environ), "PYTHONPATH": str(ROOT / "exporter")}
    done = run_program(*program, cwd=folder, env=environment, timeout=SLOW_MACHINE)
    assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
    return done


def state(cluster: Cluster) -> object:
    """Topics with their replicas, what moves, and every dynamic configuration of brokers and topics."""
    admin = cluster.admin
    topics = admin.topics()
    return (
        {topic: admin.describe(topic) for topic in topics},
        admin.reassignments(),
        {topic: admin.topic_config(topic) for topic in topics},
        {broker: admin.broker_config(broker) for broker in cluster.broker_ids},
    )
