"""Cordoned log directories (KIP-1066): shown, left out of plans, and what Kafka itself does with them."""

import json
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sandbox import Cluster, wait_for
from sandbox.errors import AdminError
from sandbox.settings import release
from tests.alerts.shell import paste, write_tools
from tests.cluster.sidecar import Sidecar, configuration
from tests.cluster.test_plan import MEGABYTE, command, creation

pytestmark = [pytest.mark.cluster, pytest.mark.full_kafka]

CORDON = "cordoned.log.dirs"
CORDONED = "log_dir_cordoned"
FILE = "cordoned.json"


@pytest.mark.parametrize("version", ["4.3.1", "4.4.0"])
def test_cordoned_log_directories(make_cluster: Callable[..., Cluster], tmp_path: Path, version: str) -> None:
    """One directory of broker 3, then both: where the plan refuses, Kafka does; what it prints is carried out."""
    cluster = make_cluster(version=version, log_dirs=2, tiered=False)
    write_tools(tmp_path, version)
    first, second = (str(path) for path in cluster.log_dirs(3))
    for topic in ("a", "b"):
        cluster.admin.create_topic(topic, assignment={0: [1, 2]})
        cluster.load.produce(topic, bytes=2 * MEGABYTE)
    cluster.admin.create_topic("kept", assignment={0: [1, 3]})
    cluster.admin.alter_broker_config(3, {CORDON: first})

    with Sidecar(configuration(cluster, poll={"log_dirs": "1s"}), tmp_path) as sidecar:
        page = sidecar.wait(lambda page: page.get(CORDONED, broker=3, log_dir=first) == 1)
        assert sum(page.all(CORDONED).values()) == 1
        refused = plan(cluster, tmp_path, "a", [1, 3], first, code=2)
        assert f"the log directory {first} of broker 3 is cordoned" in refused.stderr
        assert "InvalidReplicaAssignmentException" in reassign(tmp_path, cluster, "--execute", code=1)
        # The tool has started the move to any directory all the same.
        cluster.admin.wait_for_moves()
        cluster.admin.reassign({("a", 0): [1, 2]})
        for broker in cluster.broker_ids:
            wait_for(partial(_is_back, cluster, broker), what=f"broker {broker} knows that it is undone")

        begin = begin_of(plan(cluster, tmp_path, "a", [1, 3]))
        paste(tmp_path, begin)
        cluster.admin.wait_for_moves()
        assert [replica.log_dir for replica in cluster.admin.log_dirs(3) if replica.topic == "a"] == [second]

        cluster.admin.alter_broker_config(3, {CORDON: "*"})
        sidecar.wait(lambda page: sum(page.all(CORDONED, broker=3).values()) == 2)

    refused = plan(cluster, tmp_path, "b", [1, 3], code=2)
    assert "all log directories of broker 3 are cordoned" in refused.stderr
    too_many = json.loads(creation(cluster, tmp_path, 4, 3, code=1).stdout)
    assert "up: 2; Kafka leaves out cordoned ones: 3" in too_many["problems"][0]
    with pytest.raises(AdminError, match="replication factor"):
        cluster.admin.create_topic("new", 4, 3)
    cluster.admin.create_topic("new", 4, 2)
    assert {broker for state in cluster.admin.describe("new").values() for broker in state.replicas} == {1, 2}

    staying = json.loads(plan(cluster, tmp_path, "kept", [2, 3]).stdout)
    assert any(
        "kept-0: stays on a broker whose log directories are all cordoned" in each for each in staying["warnings"]
    )
    moves = [("b", [1, 3]), ("kept", [2, 3])]
    results = [accepted(cluster, topic, replicas) for topic, replicas in moves]
    print(f"{version}: a move to the cordoned broker and one of a partition that stays there are accepted: {results}")
    assert results == [release(version) < (4, 4)] * 2


def _is_back(cluster: Cluster, broker: int) -> bool:
    return cluster.admin.describe("a", broker)[0].replicas == (1, 2)


def plan(
    cluster: Cluster, folder: Path, topic: str, replicas: Sequence[int], last: str = "any", code: int = 0
) -> subprocess.CompletedProcess[str]:
    """Plan a move of partition 0; `last`: log directory of the last replica."""
    log_dirs = [*["any"] * (len(replicas) - 1), last]
    entry = {"topic": topic, "partition": 0, "replicas": list(replicas), "log_dirs": log_dirs}
    (folder / FILE).write_text(json.dumps({"version": 1, "partitions": [entry]}))
    return command(cluster, folder, "--reassignment", FILE, "--measure", "4s", "--output", "json", code=code)


def begin_of(planned: subprocess.CompletedProcess[str]) -> str:
    document: dict[str, Any] = json.loads(planned.stdout)
    (begin,) = (each["command"] for each in document["commands"] if each["purpose"] == "begin")
    return str(begin)


def reassign(folder: Path, cluster: Cluster, *arguments: str, code: int = 0) -> str:
    """Run Kafka's tool on the file of the last plan."""
    where = f"--bootstrap-server {cluster.bootstrap} --reassignment-json-file {FILE}"
    done = paste(folder, f"kafka-reassign-partitions.sh {where} {' '.join(arguments)}", code)
    return done.stdout + done.stderr


def accepted(cluster: Cluster, topic: str, replicas: Sequence[int]) -> bool:
    """Whether Kafka takes a move of partition 0; it ends before this returns."""
    try:
        cluster.admin.reassign({(topic, 0): replicas})
    except AdminError as refused:
        print(refused)
        return False
    wait_for(lambda: not cluster.admin.reassignments(), what="the move has ended")
    return True
