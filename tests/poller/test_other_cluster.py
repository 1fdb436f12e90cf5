"""An address of the cluster that leads to a broker of another one: named, and never used."""

import json
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from kafka_warden.state import BOOTSTRAP
from tests.poller.polling import CONNECTED, INTERVAL, Polling, polling
from tests.support.scripted import ScriptedCluster, VirtualClock

OWN, OTHER = "scripted-cluster-00001", "another-cluster-00002"


def move(brokers: ScriptedCluster, broker: int | None) -> None:
    """Let the address of one broker, or of all, lead to another cluster, which has no topics."""
    brokers.rule(broker, "Metadata", changes={"cluster_id": OTHER, "topics": []})
    brokers.rule(broker, "DescribeCluster", changes={"cluster_id": OTHER})


def test_an_outage_stays_one_when_an_address_reaches_another_cluster(polled: Polling) -> None:
    polled.brokers.each("refuse", 2, 3)
    move(polled.brokers, 1)
    polled.poller.poll()
    for _ in range(3):
        assert polled.poll_any() is None
        assert polled.last.cluster_reachable is False
    assert polled.down()["metadata"] == "other_cluster"
    polled.brokers.each("accept", 2, 3)
    found = polled.poll(61.0)
    assert (found.cluster_id, found.topics) == (OWN, ("a",))
    assert polled.last.cluster_reachable
    assert polled.down() == {}


def test_the_message_names_both_clusters_and_what_to_do(polled: Polling) -> None:
    for broker in (2, 3):
        polled.brokers.rule(broker, hang=True)
    move(polled.brokers, 1)
    with capture_logs() as logs:
        for _ in range(3):
            polled.poll_any()
    message = (
        f"127.0.0.1:{polled.brokers.ports[1]} leads to the cluster '{OTHER}', which is not used: this exporter watches"
        f" '{OWN}'; correct DNS, NAT, bootstrap.servers or advertised.listeners, or remove the state file and restart"
        " to watch the other one"
    )
    assert [entry["error"] for entry in logs if entry.get("source") == "metadata"] == [message]


def test_a_broker_of_another_cluster_costs_nothing_beside_one_of_this(polled: Polling) -> None:
    move(polled.brokers, 1)
    assert polled.poll().topics == ("a",)
    assert polled.down() == {}


@pytest.fixture
def moved(polled: Polling) -> Polling:
    """The address of broker 2 leads to the broker 2 of another cluster from now on: its connection is lost."""
    polled.poll()
    move(polled.brokers, 2)
    polled.brokers.do("disconnect", broker=2)
    return polled


def test_the_own_address_of_a_broker_that_leads_to_another_cluster(moved: Polling) -> None:
    """Nothing that is answered there counts, from the first poll on; the message names broker, address and clusters."""
    with capture_logs() as logs:
        polls = [moved.poll(after) for after in (INTERVAL, 61.0)]
    for snapshot in polls:
        ends = {broker: snapshot.replicas.end[snapshot.replicas.broker == broker] for broker in (1, 2, 3)}
        assert set(snapshot.offsets_at) == {1, 3}
        assert (ends[2] < 0).all()
        assert (ends[1] >= 0).all()
    assert moved.down() == dict.fromkeys(("offsets2", "log_dirs2", "configs2"), "other_cluster")
    where = f"127.0.0.1:{moved.brokers.ports[2]}, the address of broker 2, leads to the cluster '{OTHER}', which is not"
    (message,) = {entry["error"] for entry in logs if entry["broker"] == "2"}
    assert message.startswith(f"{where} used: this exporter watches '{OWN}'; ")
    asked = {each["request"] for each in moved.brokers.seen() if each["broker"] == 2}
    assert asked == {CONNECTED, "ApiVersions", "Metadata"}

    moved.brokers.do("clear")
    assert set(moved.poll().offsets_at) == {1, 2, 3}
    assert moved.down() == {}


def test_a_poll_costs_no_more_while_connections_stay(polled: Polling) -> None:
    polled.poll()
    before = polled.brokers.do("received")["Metadata"]
    for _ in range(3):
        polled.poll()
    assert polled.brokers.do("received")["Metadata"] == before + 3
    polled.brokers.do("disconnect", broker=3)
    polled.poll()
    assert polled.brokers.do("received")["Metadata"] == before + 5


@pytest.mark.parametrize("how", ["no id", "Kafka 0.10"])
def test_a_broker_that_does_not_know_the_id_of_its_cluster_is_not_refused(polled: Polling, how: str) -> None:
    if how == "no id":
        polled.brokers.rule(None, "Metadata", changes={"cluster_id": None})
        polled.brokers.each("disconnect")
    else:
        polled.limit({"Metadata": (0, 1)})
    assert set(polled.poll().offsets_at) == {1, 2, 3}
    assert polled.down() == {}


def test_fenced_brokers_of_another_cluster_are_not_those_of_this(brokers: ScriptedCluster, clock: VirtualClock) -> None:
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
        made = polled.cycle(path)
        made.once()
        made.save()
    move(brokers, None)
    return path


def test_a_restart_watches_the_same_cluster(brokers: ScriptedCluster, clock: VirtualClock, state: Path) -> None:
    """The state file has its id. It stays as it is, and without it the other cluster is the one to watch."""
    before = state.read_bytes()
    with polling(brokers, clock) as polled:
        made = polled.cycle(state)
        made.once()
        made.save()
        assert not made.holder.ready
        assert polled.down()["metadata"] == "other_cluster"
    assert state.read_bytes() == before
    state.unlink()
    with polling(brokers, clock) as polled:
        made = polled.cycle(state)
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
        made = polled.cycle(state)
        made.once()
        assert made.holder.ready
    assert [entry["event"] for entry in logs if entry["log_level"] == "warning"] == [
        "the state file is not used; all ages start at 0"
    ]
