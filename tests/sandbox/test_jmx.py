"""JMX with a password and over TLS, read by the JDK's own client."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from sandbox import Cluster
from sandbox.__main__ import describe
from sandbox.sidecar import sidecar_config

pytestmark = [pytest.mark.cluster, pytest.mark.full_kafka]

READER = """
import sys, jpype
address, user, password, tls = sys.argv[1], sys.argv[2], sys.stdin.read(), sys.argv[3] == "tls"
jpype.startJVM(*sys.argv[4:], convertStrings=True)
env = jpype.java.util.HashMap()
env.put("jmx.remote.credentials", jpype.JArray(jpype.JString)([user, password]))
if tls:
    env.put("com.sun.jndi.rmi.factory.socket", jpype.JClass("javax.rmi.ssl.SslRMIClientSocketFactory")())
url = jpype.JClass("javax.management.remote.JMXServiceURL")(f"service:jmx:rmi:///jndi/rmi://{address}/jmxrmi")
server = jpype.JClass("javax.management.remote.JMXConnectorFactory").connect(url, env).getMBeanServerConnection()
name = jpype.JClass("javax.management.ObjectName")("kafka.server:type=KafkaServer,name=BrokerState")
print("BrokerState", server.getAttribute(name, "Value"))
"""


@pytest.fixture
def locked(make_cluster: Callable[..., Cluster]) -> Cluster:
    """A broker whose JMX wants a password, TLS and a client certificate."""
    return make_cluster(brokers=1, tiered=False, jmx_password=True, jmx_tls=True, jmx_client_certificate=True)


def read(cluster: Cluster, password: str, *, certificate: bool) -> str:
    """What a JMX reader sees or says."""
    tls = cluster.protection.jmx.tls
    assert tls is not None
    stores = dict(line.split("=", 1) for line in tls.ssl_file.read_text(encoding="utf-8").splitlines())
    if not certificate:
        stores = {key: value for key, value in stores.items() if "trust" in key}
    flags = [f"-D{key}={value}" for key, value in stores.items()]
    command = [sys.executable, "-c", READER, cluster.jmx_brokers[1], str(cluster.jmx_user), "tls", *flags]
    done = subprocess.run(
        command, input=password, capture_output=True, text=True, check=False, timeout=120, env=os.environ
    )
    return done.stdout + done.stderr


def test_a_reader_needs_password_and_certificate(locked: Cluster) -> None:
    """With both the broker's state can be read; without either it cannot."""
    assert locked.jmx_password_file is not None
    password = locked.jmx_password_file.read_text(encoding="utf-8")
    assert locked.jmx_password_file.stat().st_mode & 0o777 == 0o600

    assert "BrokerState 3" in read(locked, password, certificate=True)
    assert "SecurityException" in read(locked, "wrong", certificate=True)
    # with TLS 1.3 the refusal reaches the reader as an alert, or as a broken pipe while it still writes
    assert "BrokerState" not in read(locked, password, certificate=False)
    assert not [a for node in locked.nodes.values() for a in node.arguments if password in a]
    assert password not in describe(locked)
    assert sidecar_config(locked)["jmx"]["password_file"] == str(locked.jmx_password_file)
