"""A listener that only some brokers have yet: Metadata over it hides the others, and who leads their partitions."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox import Cluster
from sandbox.ports import LOOPBACK, Ports
from sandbox.properties import CLIENT_LISTENER, CONTROLLER_LISTENER, render
from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar, configuration

pytestmark = [pytest.mark.cluster, pytest.mark.full_versions]

NEW = "NEW"
LED = {0: [1, 2, 3], 1: [3, 1, 2], 2: [2, 3, 1], 3: [3, 2, 1]}


@pytest.fixture
def ports() -> Iterator[Ports]:
    reserved = Ports()
    yield reserved
    reserved.close()


@pytest.mark.parametrize("version", ["3.9.1", "4.1.1"])
def test_a_listener_is_rolled_out(
    version: str, make_cluster: Callable[..., Cluster], ports: Ports, tmp_path: Path
) -> None:
    cluster = make_cluster(version=version, tiered=False)
    cluster.admin.create_topic("orders", assignment=LED)
    bootstrap = ",".join(_add_listener(cluster, node, ports.reserve()) for node in (1, 2))
    cluster.wait_in_sync()
    cluster.admin.elect_preferred()
    with Sidecar(configuration(cluster, kafka={"bootstrap.servers": bootstrap}), tmp_path) as sidecar:
        page = sidecar.whole_page()
        assert {number: each.leader for number, each in cluster.admin.describe("orders").items()} == {
            number: replicas[0] for number, replicas in LED.items()
        }
        print({name: page[name] for name in ("offline_partitions", "unknown_leader_partitions")}, _states(page))
        assert (page["offline_partitions"], page["unknown_leader_partitions"]) == (0, 2)
        assert _states(page) == {"1": "active", "2": "active", "3": "no_listener"}
        assert page.brokers("broker_leaders") == {1: 1, 2: 1}
        assert (("offsets", "3") in page.up(), page.down()) == (False, set())
        cluster.load.produce("orders", records=10, partitions=range(4))

        _add_listener(cluster, 3, ports.reserve())
        cluster.wait_in_sync()
        cluster.admin.elect_preferred()
        page = sidecar.wait(lambda page: page.brokers("broker_sum_replica_lag_messages") == {1: 0, 2: 0, 3: 0})
        assert (page["offline_partitions"], page["unknown_leader_partitions"]) == (0, 0)
        assert (_states(page)["3"], page.down()) == ("active", set())


def _add_listener(cluster: Cluster, node: int, port: int) -> str:
    """Restart a broker with another listener, and return the address: the last value of a property holds."""
    address = f"{LOOPBACK}:{port}"
    listeners = {CLIENT_LISTENER: cluster.broker_addresses[node], NEW: address}
    names = (CONTROLLER_LISTENER, *listeners)
    added = {
        "listeners": ",".join(f"{name}://{where}" for name, where in listeners.items()),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in names),
    }
    with (cluster.root / str(node) / "server.properties").open("a", encoding="utf-8") as file:
        file.write(render(added))
    cluster.restart(node)
    return address


def _states(page: Page) -> dict[str, str]:
    return {broker: state for (broker, state), held in page.all("broker_state").items() if held}
