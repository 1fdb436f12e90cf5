"""Beans as the tests read them: where there is no password with jmxquery, which is a second opinion."""

import math
import time
from dataclasses import dataclass

from jmxquery import JMXConnection, JMXQuery

from kafka_warden.clients.jmx.protocol import BeanQueries, BeanQuery, RawBeans
from kafka_warden.clients.jmx.session import JmxSession, JmxTarget
from kafka_warden.clock import monotonic
from kafka_warden.settings.secrets import SecretFile
from sandbox import Cluster

TIMEOUT = 60
LOGINS = "kafka.server:type=socket-server-metrics,listener=CLIENT,*"


@dataclass(frozen=True)
class Reading:
    """Values by `bean/attribute`, and between which two Unix times they were read."""

    values: dict[str, float]
    after: float
    before: float


def read_beans(address: str, *names: str) -> Reading:
    """Read attributes of one process, each named `bean/attribute`; patterns are fine, and NaN is left out.

    Args:
        address: host:port of a JMX port without a password.
        names: as `kafka.server:type=Request,client-id=*/throttle-time`.
    """
    connection = JMXConnection(f"service:jmx:rmi:///jndi/rmi://{address}/jmxrmi")
    after = time.time()
    found = connection.query([JMXQuery(name) for name in names], timeout=TIMEOUT)
    numbers = [bean for bean in found if isinstance(bean.value, int | float) and not math.isnan(bean.value)]
    values = {f"{bean.mBeanName}/{bean.attribute}": float(bean.value) for bean in numbers}
    return Reading(values, after, time.time())


def read_secured(cluster: Cluster, pattern: str, attribute: str) -> dict[str, float]:
    """One attribute of all beans that match a pattern, by broker and bean, by the reader of the sidecar.

    jmxquery would show the password to `ps`.
    """
    question = BeanQueries(beans=(), patterns=(BeanQuery(pattern, (attribute,)),))
    session = JmxSession({"broker": question})
    password = SecretFile(cluster.jmx_password_file) if cluster.jmx_password_file is not None else None
    targets = []
    for broker, address in cluster.jmx_brokers.items():
        host, port = address.rsplit(":", 1)
        targets.append(JmxTarget(f"{broker}", host, int(port), cluster.jmx_user, password))
    try:
        answers = session.ask(targets, monotonic() + TIMEOUT)
    finally:
        session.close()
    found = {}
    for key, answer in answers.items():
        assert isinstance(answer, RawBeans), answer
        for row in answer.rows[pattern]:
            found[f"{key} {row.name}"] = float(row.values[attribute])
    return found


def logins(cluster: Cluster, kind: str) -> float:
    """How many the brokers have seen: successful-authentication, failed-authentication, successful-reauthentication."""
    found = read_secured(cluster, LOGINS, f"{kind}-total")
    assert found
    return sum(found.values())
