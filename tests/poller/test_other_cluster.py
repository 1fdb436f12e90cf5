"""An address of the cluster that leads to a broker of another one: named, and never used."""

import json
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from kafka_warden.cycle import Cycle
from kafka_warden.model import Parameters
from kafka_warden.state import BOOTSTRAP, StateFile
from tests import scene
from tests.poller.polling import INTERVAL, Polling, polling
from tests.support.scripted import ScriptedCluster, VirtualClock

OWN, OTHER = "scripted-cluster-00001", "another-cluster-00002"


def move(brokers: ScriptedCluster, broker: int | None) -> None:
    """Let the address of one broker, or of all, lead to another cluster, which has no topics."""
    brokers.rule(broker, "Metadata", changes={"cluster_id": OTHER, "topics": []})
    brokers.rule(broker, "DescribeCluster", changes={"cluster_id": OTHER})


def test_an_outage_stays_one_when_an_address_reaches_another_cluster(polled: Polling) -> None:
    """It is unreachable, brokers and topics stay known, and they are asked in every poll."""
    for broker in (2, 3):
        polled.brokers.do("refuse", broker=broker)
    move(polled.brokers, 1)
    before = polled.poller.poll()
    assert before is not None
    for _ in range(3):
        stale = polled.poll_any()
        assert stale is not None
        assert (stale.clock, stale.cluster_id, stale.topics) == (before.clock, OWN, ("a",))
        assert polled.poller.reach.cluster is False
    assert polled.down()["metadata"] == "other_cluster"
    for broker in (2, 3):
        polled.brokers.do("accept", broker=broker)
    assert polled.poll(61.0).clock > before.clock
    assert polled.poller.reach.cluster
    assert polled.down() == {}


def test_the_message_names_both_clusters_and_what_to_do(polled: Polling) -> None:
    """Once, however often it is asked, also where other brokers fail after it."""
    for broker in (2, 3):
        polled.brokers.rule(broker, hang=True)
    move(polled.brokers, 1)
    with capture_logs() as logs:
        for _ in range(3):
            polled.poll_any()
    message = (
        f"127.0.0.1:{polled.brokers.ports[1]} belongs to the cluster '{OTHER}', which is not used: this sidecar watches"
        f" '{OWN}'; correct bootstrap.servers, or remove the state file and restart to watch the other one"
    )
    assert [entry["error"] for entry in logs if entry.get("source") == "metadata"] == [message]


def test_a_broker_of_another_cluster_costs_nothing_beside_one_of_this(polled: Polling) -> None:
    """The next one is asked in the same poll."""
    move(polled.brokers, 1)
    assert polled.poll().topics == ("a",)
    assert polled.down() == {}


def test_fenced_brokers_of_another_cluster_are_not_those_of_this(brokers: ScriptedCluster, clock: VirtualClock) -> None:
    """The addresses of the configuration may lead to both from the start."""
    brokers.topic("a", [[1, 2]])
    brokers.rule(1, "DescribeCluster", hang=True)
    brokers.rule(2, "DescribeCluster", changes={"cluster_id": OTHER, "brokers": []})
    brokers.brokers({"id": 3, "fenced": True})
    with polling(brokers, clock) as polled:
        assert polled.poll().brokers[3].fenced


@pytest.fixture
def state(brokers: ScriptedCluster, clock: VirtualClock, tmp_path: Path) -> Path:
    """What a sidecar of this cluster has saved. The cluster has moved since, and all its addresses are another's."""
    brokers.topic("a", [[1, 2]])
    path = tmp_path / "state"
    with polling(brokers, clock) as polled:
        made = cycle(polled, path)
        made.once()
        made.save()
    move(brokers, None)
    return path


def cycle(polled: Polling, path: Path) -> Cycle:
    """A cycle with a state file."""
    parameters = Parameters(poll_interval=INTERVAL)
    return Cycle(polled.poller, parameters, lambda _: True, scene.sidecar().build, StateFile(path), clock=polled.clock)


def test_a_restart_watches_the_same_cluster(brokers: ScriptedCluster, clock: VirtualClock, state: Path) -> None:
    """The state file has its id. It stays as it is, and without it the other cluster is the one to watch."""
    before = state.read_bytes()
    with polling(brokers, clock) as polled:
        made = cycle(polled, state)
        made.once()
        made.save()
        assert not made.holder.ready
        assert polled.down()["metadata"] == "other_cluster"
    assert state.read_bytes() == before
    state.unlink()
    with polling(brokers, clock) as polled:
        made = cycle(polled, state)
        made.once()
        assert made.holder.ready


@pytest.mark.parametrize(
    "change", [{BOOTSTRAP: ["127.0.0.1:1"]}, {BOOTSTRAP: [{}]}, {BOOTSTRAP: None}, {"cluster_id": 7}]
)
def test_other_addresses_may_lead_to_another_cluster(
    brokers: ScriptedCluster, clock: VirtualClock, state: Path, change: dict[str, Any]
) -> None:
    """A user who configures them wants to watch it; the state of the cluster before is not used."""
    state.write_text(json.dumps({**json.loads(state.read_text()), **change}))
    with polling(brokers, clock) as polled, capture_logs() as logs:
        made = cycle(polled, state)
        made.once()
        assert made.holder.ready
    assert [entry["event"] for entry in logs if entry["log_level"] == "warning"] == [
        "the state file is not used; all ages start at 0"
    ]
