"""A login with a delegation token on a real broker (KIP-48), made by Kafka's own tool."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import Cluster, ClusterSettings, Security, jars
from sandbox.jvm import FLAGS
from sandbox.passwords import new_password, write_secret
from tests.cluster.sidecar import Sidecar, configuration
from tests.support.doctor import Doctor
from tests.support.processes import checked

pytestmark = [pytest.mark.cluster, pytest.mark.full_logins]

TOOL = "org.apache.kafka.tools.DelegationTokenCommand"
MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.fixture(scope="module")
def cluster(no_process_left: None) -> Iterator[Cluster]:
    key = {"delegation.token.secret.key": new_password()}
    settings = ClusterSettings(
        brokers=1,
        security=Security.SASL_SSL_SCRAM,
        jmx_password=True,
        tiered=False,
        broker_properties=key,
        controller_properties=key,
    )
    with Cluster(settings) as made:
        made.admin.create_topic("secured", partitions=2)
        yield made


def client_properties(cluster: Cluster, user: str, password: str, more: str = "") -> str:
    known = cluster.client_properties("monitor")
    return f"""\
bootstrap.servers={cluster.bootstrap}
security.protocol=SASL_SSL
sasl.mechanism={known["sasl.mechanism"]}
sasl.jaas.config={MODULE} required username="{user}" password="{password}"{more};
ssl.truststore.type=PEM
ssl.truststore.location={known["ssl.ca.location"]}
"""


def new_token(cluster: Cluster, folder: Path) -> tuple[str, str]:
    known = cluster.client_properties("monitor")
    file = write_secret(folder / "owner.properties", client_properties(cluster, "monitor", known["sasl.password"]))
    java = ["java", *FLAGS, "-cp", os.fspath(jars.tools(cluster.settings.version) / "*"), TOOL]
    arguments = ["--create", "--max-life-time-period", "-1", "--bootstrap-server", cluster.bootstrap]
    printed = checked(*java, *arguments, "--command-config", file)
    (values,) = (row for row in map(str.split, printed.splitlines()) if "User:monitor" in row)
    return values[0], values[1]


def test_a_delegation_token_logs_in(cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token, hmac = new_token(cluster, tmp_path)
    file = tmp_path / "client.properties"
    config = configuration(cluster, "monitor")
    config["kafka"] = {"properties_file": str(file)}
    doctor = Doctor(tmp_path, capsys, config)
    write_secret(file, client_properties(cluster, token, hmac))
    doctor.one("KW-LOGIN", "refused user name or password")
    write_secret(file, client_properties(cluster, token, hmac + "0", ' tokenauth="true"'))
    doctor.one("KW-LOGIN", "refused the delegation token", "kafka-delegation-tokens")
    write_secret(file, client_properties(cluster, token, hmac, ' tokenauth="true"'))
    assert doctor.wrong() == {}
    with Sidecar(config, tmp_path) as sidecar:
        sidecar.whole_page()
        assert hmac not in sidecar.log
    config["history"] = {"kafka": {"topic": "secured"}}
    doctor.one("KW-CONFIG", "history.kafka.topic: the topic of the history cannot be used with a delegation token")
