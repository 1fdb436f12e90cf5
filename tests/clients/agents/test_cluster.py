"""Beans of real brokers from real agents, against those over RMI at the same time."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from kafka_warden.clients.agents.session import AgentSession
from kafka_warden.clients.jmx.protocol import RawBeans
from kafka_warden.clients.jmx.session import JmxSession, JmxTarget
from kafka_warden.clock import monotonic
from kafka_warden.model import ProcessBeans
from kafka_warden.sources.jmx import QUESTIONS, parse_beans
from sandbox import Cluster, wait_for
from sandbox.agents import attach_jmx_exporter, attach_jolokia
from sandbox.ports import Ports
from sandbox.properties import DEFAULT_QUOTA_WINDOW
from tests.cluster.mutating import RATE, create_topic

pytestmark = [pytest.mark.cluster, pytest.mark.full_kafka]

DOCUMENT = Path(__file__).parents[3] / "docs" / "how-to" / "agents.md"
QUOTAS = r"""
- pattern: kafka\.server<type=(\w+), user=(.+), client-id=(.+)><>([a-z-]+)
  name: kafka_server_quota_$4
  labels: {resource: "$1", user: "$2", clientId: "$3"}
- pattern: kafka\.server<type=(\w+), client-id=(.+)><>([a-z-]+)
  name: kafka_server_quota_$3
  labels: {resource: "$1", clientId: "$2"}
"""
"""With those, rules that give beans the names which jmx_exporter's example for Kafka 2.0 gives them."""
PLAIN = "rules: [{pattern: '.*'}]\n"
THROTTLE = 100_000
FETCHED = 10_000
"""Bytes of a fetch: with Kafka's megabyte the rate would jump."""
SMOOTH = {**DEFAULT_QUOTA_WINDOW, "replica.fetch.max.bytes": FETCHED, "replica.fetch.response.max.bytes": FETCHED}
STEP = 0.3 * THROTTLE
"""By which a rate may differ between two readings: a sample of its window is a tenth, and a busy machine is slow."""
CLIENT = 'a "mutator": 50 %, of *'
"""Kafka and JMX quote and encode what is in it."""
WITHIN = 60.0


def documented() -> tuple[str, str]:
    """The rules of the document: those to add to others, and those that give beans the names of Strimzi's rules."""
    text = DOCUMENT.read_text(encoding="utf-8")
    added, others = re.findall(r"^```yaml\n(- pattern.*?)^```", text, re.DOTALL | re.MULTILINE)
    return added, others


ADDED, STRIMZI = documented()
LOWER = "lowercaseOutputName: true\nrules:\n"
RULES = {"plain": PLAIN, "strimzi": LOWER + ADDED + STRIMZI, "quotas": LOWER + QUOTAS + STRIMZI}
LEFT_OUT = {"quotas": {"leader_replication_byte_rate", "follower_replication_byte_rate"}}
"""Beans for which rules have no name."""


@pytest.fixture(params=["plain", "strimzi", "quotas", "jolokia"])
def agents(request: pytest.FixtureRequest, tmp_path: Path, make_cluster: Callable[..., Cluster]) -> Iterator["Agents"]:
    """A cluster whose nodes have an agent."""
    cluster = make_cluster(brokers=2, broker_properties=SMOOTH)
    with ExitStack() as stack:
        ports = Ports()
        stack.callback(ports.close)
        if request.param == "jolokia":
            addresses, path = attach_jolokia(cluster, ports), "/jolokia"
        else:
            rules = tmp_path / "rules.yml"
            rules.write_text(RULES[request.param], encoding="utf-8")
            addresses, path = attach_jmx_exporter(cluster, ports, rules), "/metrics"
        rmi = JmxSession(QUESTIONS)
        stack.callback(rmi.close)
        yield Agents(cluster, addresses, path, rmi, LEFT_OUT.get(request.param, set()))


class Agents:
    """Reads the same from the agents and over RMI."""

    def __init__(
        self, cluster: Cluster, addresses: Mapping[int, str], path: str, rmi: JmxSession, left_out: set[str]
    ) -> None:
        self.cluster, self.left_out = cluster, left_out
        self._path, self._rmi = path, rmi
        self._http = [self._target(node, address) for node, address in addresses.items()]
        self._jmx = [
            self._target(node, address) for node, address in {**cluster.jmx_brokers, **cluster.jmx_controllers}.items()
        ]

    def _target(self, node: int, address: str) -> JmxTarget:
        host, port = address.rsplit(":", 1)
        kind = "controller" if node in self.cluster.controller_ids else "broker"
        return JmxTarget(str(node), host, int(port), kind=kind)  # type: ignore[arg-type]  # one of both

    def over_http(self) -> Mapping[str, ProcessBeans]:
        """Read every agent now: with a session of its own, since a session asks once a minute."""
        return self._read(AgentSession(QUESTIONS, self._path), self._http)

    def over_rmi(self) -> Mapping[str, ProcessBeans]:
        return self._read(self._rmi, self._jmx)

    @staticmethod
    def _read(session: AgentSession | JmxSession, targets: list[JmxTarget]) -> Mapping[str, ProcessBeans]:
        answers = session.ask(targets, monotonic() + WITHIN)
        assert all(isinstance(answer, RawBeans) for answer in answers.values()), answers
        return {key: parse_beans(answer) for key, answer in answers.items() if isinstance(answer, RawBeans)}


def test_agents_say_what_jmx_says(agents: Agents) -> None:
    """Every bean that a process has, throttled rates and mutation tokens among them: between two readings over RMI."""
    cluster = agents.cluster
    cluster.admin.set_client_quota(client_id=CLIENT, values={"controller_mutation_rate": RATE})
    cluster.admin.create_topic("moved", assignment={0: [1]})
    cluster.load.produce("moved", records=20_000, record_size=1000)
    cluster.admin.reassign({("moved", 0): [2]}, throttle=THROTTLE)

    def mutated() -> bool:
        assert create_topic(cluster, CLIENT, f"topic{monotonic()}", 1).error_code == 0
        return bool(agents.over_rmi()["101"].mutations)

    wait_for(mutated, WITHIN, "the quota is in force at the controller")
    wait_for(
        lambda: abs(agents.over_rmi()["2"].values.get("follower_replication_byte_rate", 0.0) - THROTTLE) < STEP,
        WITHIN,
        "the first burst is over",
    )
    create_topic(cluster, CLIENT, "many", 60)
    before, found, after = agents.over_rmi(), agents.over_http(), agents.over_rmi()
    for node in ("1", "2", "101"):
        assert found[node].values.keys() == after[node].values.keys() - agents.left_out
        for name, value in found[node].values.items():
            low, high = sorted((before[node].values.get(name, value), after[node].values[name]))
            step = STEP if name.endswith("byte_rate") else 1.0
            assert low - step <= value <= high + step, (node, name)
    for node in ("1", "2", "101"):
        assert len(found[node].requests) == len(after[node].requests)
    earlier, tokens, later = (
        {(each.user, each.client_id): each.values["tokens"] for each in read["101"].mutations}
        for read in (before, found, after)
    )
    assert earlier.keys() == tokens.keys() == later.keys() >= {(None, CLIENT)}
    for client, number in tokens.items():
        assert earlier[client] - RATE <= number <= later[client] + RATE
    cluster.admin.cancel()
