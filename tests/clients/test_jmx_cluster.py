"""JMX of a real Kafka: every bean of the list, and its cost."""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import jmxquery
import pytest

from bench.procfs import cpu_seconds, pss_bytes
from kafka_warden.clients.jmx.protocol import JmxTls, RawBeans
from kafka_warden.clients.jmx.session import JmxSession, JmxTarget
from kafka_warden.clock import monotonic
from kafka_warden.errors import AuthenticationError
from kafka_warden.model import ProcessBeans
from kafka_warden.settings.secrets import SecretFile
from kafka_warden.sources.bean_list import BEANS
from kafka_warden.sources.jmx import QUESTIONS, parse_beans
from sandbox import Cluster

pytestmark = pytest.mark.cluster

LAZY = {
    "leader_replication_byte_rate",
    "follower_replication_byte_rate",
    "remote_copy_byte_rate",
    "remote_fetch_byte_rate",
    "remote_copy_throttle_time_avg",
    "remote_copy_throttle_time_max",
    "remote_fetch_throttle_time_avg",
    "remote_fetch_throttle_time_max",
}
"""Beans that Kafka makes when there is something to measure."""
CPU_LIMIT = 0.025
"""Seconds of the child's CPU for one broker and poll."""


@pytest.fixture
def session() -> Iterator[JmxSession]:
    session = JmxSession(QUESTIONS)
    yield session
    session.close()


def targets(cluster: Cluster) -> Sequence[JmxTarget]:
    brokers = [_target(str(node), address, cluster) for node, address in cluster.jmx_brokers.items()]
    return [*brokers, _target("controller", cluster.jmx_controllers[cluster.controller_ids[0]], cluster)]


def read(session: JmxSession, asked: Sequence[JmxTarget], within: float = 30.0) -> dict[str, ProcessBeans]:
    found = {}
    for key, answer in session.ask(asked, monotonic() + within).items():
        if not isinstance(answer, RawBeans):
            raise answer
        found[key] = parse_beans(answer)
    return found


def test_every_process_reports_its_numbers(cluster: Cluster, session: JmxSession) -> None:
    found = read(session, targets(cluster))

    for kind, keys in {"broker": map(str, cluster.broker_ids), "controller": ["controller"]}.items():
        listed = {bean.name for bean in BEANS if bean.where == kind}
        for key in keys:
            assert listed - LAZY <= set(found[key].values) <= listed
    assert found["controller"].values["active_controller_count"] == 1
    assert found["controller"].values["fenced_broker_count"] == 0
    assert {found[str(node)].values["broker_state"] for node in cluster.broker_ids} == {3.0}


@pytest.mark.full_kafka
def test_a_poll_is_cheap(cluster: Cluster, session: JmxSession) -> None:
    asked = targets(cluster)[: len(cluster.broker_ids)]
    for _ in range(20):
        read(session, asked)
    assert session.pid is not None
    polls, before, started = 30, cpu_seconds(session.pid), monotonic()
    for _ in range(polls):
        read(session, asked)
    cpu = (cpu_seconds(session.pid) - before) / polls / len(asked)
    wall, pss = (monotonic() - started) / polls, pss_bytes([session.pid]) >> 20
    figures = f"{1000 * cpu:.1f} ms CPU a broker and poll, {1000 * wall:.1f} ms wall a poll, Pss {pss} MB"
    sys.stdout.write(f"JMX of {len(asked)} brokers: {figures}\n")
    assert cpu <= CPU_LIMIT


@pytest.mark.full_kafka
def test_another_jmx_client_reads_the_same(cluster: Cluster, session: JmxSession) -> None:
    attributes = [bean for bean in BEANS if bean.where == "broker" and bean.name not in LAZY]
    ours = read(session, targets(cluster)[:1])["1"].values
    connection = jmxquery.JMXConnection(f"service:jmx:rmi:///jndi/rmi://{cluster.jmx_brokers[1]}/jmxrmi")
    asked = [jmxquery.JMXQuery(f"{bean.object_name}/{bean.attribute}") for bean in attributes]
    theirs = {(found.mBeanName, found.attribute): found.value for found in connection.query(asked, timeout=60)}

    quiet = {"bytes_in_total", "isr_shrinks_total", "broker_state", "process_start_time"}
    assert len(theirs) == len(attributes)
    for bean in attributes:
        if bean.name in quiet:
            value = float(theirs[bean.object_name, bean.attribute]) * bean.factor
            assert ours[bean.name] == pytest.approx(value), bean.name


@pytest.mark.full_kafka
def test_brokers_with_tls_and_a_password(make_cluster: Callable[..., Cluster]) -> None:
    cluster = make_cluster(brokers=1, jmx_password=True, jmx_tls=True, jmx_client_certificate=True)
    tls = cluster.protection.jmx.tls
    assert tls
    session = JmxSession(QUESTIONS, tls=JmxTls(str(tls.ca_file), str(tls.client.certificate), str(tls.client.key)))
    try:
        asked = targets(cluster)
        found = read(session, asked)
        stranger = JmxTarget("stranger", asked[0].host, asked[0].port)
        refused = session.ask([stranger], monotonic() + 30)["stranger"]
    finally:
        session.close()
    assert found["1"].values["broker_state"] == 3
    assert found["controller"].values["active_controller_count"] == 1
    assert isinstance(refused, AuthenticationError)


def _target(key: str, address: str, cluster: Cluster) -> JmxTarget:
    host, _, port = address.rpartition(":")
    kind: Literal["broker", "controller"] = "controller" if key == "controller" else "broker"
    password = SecretFile(cluster.jmx_password_file) if cluster.jmx_password_file else None
    return JmxTarget(key, host, int(port), cluster.jmx_user, password, kind)
