"""Beans of real brokers from real agents, against those over RMI at the same time."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from kafka_warden.clients.agents.session import AgentSession
from kafka_warden.clients.jmx.session import JmxSession, JmxTarget, RawBeans
from kafka_warden.clock import monotonic
from kafka_warden.model import ProcessBeans
from kafka_warden.sources.jmx import QUESTIONS, parse_beans
from sandbox import Cluster, wait_for
from sandbox.agents import attach_jmx_exporter, attach_jolokia
from sandbox.ports import Ports
from sandbox.properties import DEFAULT_QUOTA_WINDOW
from tests.cluster.mutating import RATE, create_topic

pytestmark = [pytest.mark.cluster, pytest.mark.full_kafka]

DOCUMENT = Path(__file__).parents[3] / "docs" / "agents.md"
STRIMZI = r"""
lowercaseOutputName: true
rules:
- pattern: kafka\.(\w+)<type=(\w+), name=(\w+)PerSec><>Count
  name: kafka_$1_$2_$3_total
  type: COUNTER
- pattern: kafka\.(\w+)<type=(\w+), name=(\w+)><>Value
  name: kafka_$1_$2_$3
  type: GAUGE
- pattern: kafka\.(\w+)<type=(\w+), name=(\w+), clientId=(\w+)><>Value
  name: kafka_$1_$2_$3
  type: GAUGE
  labels: {clientId: "$4"}
- pattern: kafka\.(\w+)<type=(\w+), name=(\w+)><>(\d+)thPercentile
  name: kafka_$1_$2_$3
  type: GAUGE
  labels: {quantile: "0.$4"}
"""
"""Rules that give beans the names which Strimzi's rules give them."""
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


def rules_to_add() -> str:
    """The rules of the document."""
    text = DOCUMENT.read_text(encoding="utf-8")
    found = re.search(r"^## Rules.*?^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.fixture(params=["plain", "strimzi", "jolokia"])
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
            strimzi = STRIMZI.replace("rules:\n", f"rules:\n{rules_to_add()}")
            rules.write_text(PLAIN if request.param == "plain" else strimzi, encoding="utf-8")
            addresses, path = attach_jmx_exporter(cluster, ports, rules), "/metrics"
        rmi = JmxSession(QUESTIONS)
        stack.callback(rmi.close)
        yield Agents(cluster, addresses, path, rmi)


class Agents:
    """Reads the same from the agents and over RMI."""

    def __init__(self, cluster: Cluster, addresses: Mapping[int, str], path: str, rmi: JmxSession) -> None:
        self.cluster = cluster
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
        """Read every process."""
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
        assert found[node].values.keys() == after[node].values.keys()
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
