"""A password or token is in no argument, log, page, traceback, history, state or environment of a child."""

import base64
from pathlib import Path

import bcrypt
import pyarrow.parquet as pq
import pytest
import yaml

from bench.procfs import children
from sandbox import wait_for
from sandbox.certificates import HERE, Authority
from sandbox.issuer import Issuer
from sandbox.key_stores import write_key_store, write_trust_store
from sandbox.passwords import write_secret
from tests.cluster.sidecar import SLOW_MACHINE
from tests.scheduling.ordered import Ordered, Start
from tests.support.scripted import ScriptedCluster
from tests.support.serving import answering

CANARY = "canary-Tr0ub4dor"
FILES = ("cmdline", "environ")


def texts(process: int) -> list[bytes]:
    found = [Path(f"/proc/{process}/cmdline").read_bytes()]
    return found + [Path(f"/proc/{child}/{name}").read_bytes() for child in children(process) for name in FILES]


def everything(sidecar: Ordered, found: list[bytes]) -> bytes:
    """What it shows after a thread has failed, until its end; `found` before."""
    sidecar.done("thread watchdog")
    paths = ("/metrics", "/-/ready", "/-/healthy", "/", "/api/v1/exporter", "/api/v1/sources", "/nowhere")
    found += [sidecar.get(path)[1].encode() for path in paths]
    assert sidecar.stop()[0] == 0
    files = (sidecar.folder / "history").rglob("*.parquet")
    found += [str(pq.read_table(file).to_pylist()).encode() for file in files]
    found += [sidecar.state.read_bytes()] if sidecar.state.exists() else []
    return b"\n".join([*found, sidecar.log.encode()])


def disconnect(brokers: ScriptedCluster) -> None:
    for broker in (1, 2, 3):
        brokers.do("disconnect", broker=broker)


def scram(secret: Path) -> dict[str, str]:
    return {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "warden", "sasl.password.file": str(secret)}


@pytest.mark.realtime
def test_a_password_shows_nowhere(start: Start, brokers: ScriptedCluster, tmp_path: Path) -> None:
    """For Kafka (accepted, then refused), for JMX (from the environment) and for the web; a thread fails meanwhile."""
    brokers.do("accounts", mechanism="SCRAM-SHA-512", users={"warden": CANARY})
    secret, web = write_secret(tmp_path / "secret", CANARY), tmp_path / "web.yml"
    hashed = bcrypt.hashpw(CANARY.encode(), bcrypt.gensalt(4)).decode()
    web.write_text(yaml.safe_dump({"basic_auth_users": {"prometheus": hashed}}))
    sidecar = start(
        {
            "kafka": {"security.protocol": "SASL_PLAINTEXT", **scram(secret)},
            "jmx": {"brokers": {1: "127.0.0.1:1"}, "user": "reader"},
            "web": {"config_file": str(web)},
            "history": {"parquet": {"path": "history"}},
            "log": {"level": "debug"},
        },
        environment={"KAFKA_WARDEN_JMX_PASSWORD": CANARY},
        ready=False,
    )
    sidecar.headers = {"Authorization": f"Basic {base64.b64encode(f'prometheus:{CANARY}'.encode()).decode()}"}
    sidecar.wait_ready()
    sidecar.forget_state()
    wait_for(lambda: len(texts(sidecar.process.pid)) > 1, SLOW_MACHINE, "the JMX child runs")
    found = texts(sidecar.process.pid)
    brokers.do("accounts", mechanism="SCRAM-SHA-512", users={"warden": "another"})
    brokers.do("disconnect", broker=1)
    sidecar.reload("sasl.password: " + CANARY)
    wait_for(lambda: "reason=auth" in sidecar.log and "new configuration is not used" in sidecar.log, SLOW_MACHINE)
    shown = everything(sidecar, found)
    assert list((tmp_path / "history").rglob("*.parquet"))
    assert sidecar.state.exists()
    assert CANARY.encode() not in shown
    assert b"JMX_PASSWORD" not in shown


@pytest.mark.realtime
def test_a_token_and_the_secret_of_its_client_show_nowhere(
    start: Start, brokers: ScriptedCluster, tmp_path: Path
) -> None:
    token = "canary-T0ken.of.warden"
    secret = write_secret(tmp_path / "secret", f"{CANARY}-wrong")
    brokers.do("accounts", mechanism="OAUTHBEARER", users={token: ""})
    with Issuer("warden") as issuer:
        issuer.clients["warden"] = CANARY
        issuer.token = lambda *_: token  # type: ignore[method-assign]
        oauth = {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": issuer.token_url,
            "sasl.oauthbearer.client.id": "warden",
            "sasl.oauthbearer.client.secret.file": str(secret),
        }
        sidecar = start(
            {
                "kafka": {"security.protocol": "SASL_PLAINTEXT", **oauth},
                "history": {"parquet": {"path": "history"}},
                "log": {"level": "debug"},
            },
            ready=False,
        )
        wait_for(lambda: "refused the client warden (invalid_client" in sidecar.log, SLOW_MACHINE, "it is refused")
        write_secret(secret, CANARY)
        sidecar.wait_ready()
        found = texts(sidecar.process.pid)
        brokers.do("accounts", mechanism="OAUTHBEARER", users={})
        disconnect(brokers)
        wait_for(lambda: "refused the token" in sidecar.log, SLOW_MACHINE, "the token is refused")
        assert b"canary" not in everything(sidecar, found)


@pytest.mark.realtime
def test_passwords_of_stores_agents_and_the_history_topic_show_nowhere(
    start: Start, brokers: ScriptedCluster, tmp_path: Path
) -> None:
    """An agent answers with the login that it got; the history topic logs in as polling does; a store is replaced."""
    authority = Authority(tmp_path, "authority")
    server, client = authority.issue("server", "server", HERE), authority.issue("client")
    files = {"certificate": str(server.certificate), "key": str(server.key)}
    brokers.do("accounts", mechanism="SCRAM-SHA-512", users={"warden": CANARY})
    for broker in (1, 2, 3):
        brokers.do("refuse", broker=broker)
    brokers.brokers(*({"id": broker, "client_ca": str(authority.certificate), **files} for broker in (1, 2, 3)))
    secret = write_secret(tmp_path / "secret", CANARY)
    stores = {
        "ssl.truststore.location": write_trust_store(tmp_path / "trust", "JKS", CANARY, authority.certificate),
        "ssl.keystore.location": write_key_store(tmp_path / "keys", "PKCS12", CANARY, client),
    }
    basic = base64.b64encode(f"reader:{CANARY}".encode())
    with answering({"/metrics": b"Basic " + basic}, status=401) as (agent, seen):
        sidecar = start(
            {
                "kafka": {
                    "security.protocol": "SASL_SSL",
                    **scram(secret),
                    **{name: str(store) for name, store in stores.items()},
                    **{f"{name.replace('location', 'password')}.file": str(secret) for name in stores},
                },
                "jmx": {
                    "source": "http",
                    "brokers": {1: agent.removeprefix("http://")},
                    "user": "reader",
                    "password_file": str(secret),
                },
                "history": {"kafka": {"topic": "history"}},
                "log": {"level": "debug"},
            }
        )
        wait_for(lambda: seen, SLOW_MACHINE, "the agent is asked")
        assert seen[0][1]["Authorization"] == f"Basic {basic.decode()}"
    found = texts(sidecar.process.pid)
    write_secret(secret, f"{CANARY}-wrong")
    disconnect(brokers)
    wait_for(lambda: "ssl.truststore.password is wrong" in sidecar.log, SLOW_MACHINE, "the store cannot be opened")
    wait_for(lambda: "history cannot be written" in sidecar.log, SLOW_MACHINE, "the topic is not reached")
    shown = everything(sidecar, found)
    assert CANARY.encode() not in shown
    assert basic not in shown
    assert "history failed" not in sidecar.log


@pytest.mark.realtime
def test_a_key_of_aws_shows_nowhere(start: Start, brokers: ScriptedCluster) -> None:
    brokers.do("accounts", mechanism="OAUTHBEARER", users={})
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "AWS_MSK_IAM"}
    sidecar = start(
        {"kafka": login, "jmx": {"brokers": {1: "127.0.0.1:1"}}, "log": {"level": "debug"}},
        environment={"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": CANARY, "AWS_REGION": "eu-west-1"},
        ready=False,
    )
    wait_for(lambda: "refused the token" in sidecar.log, SLOW_MACHINE, "the token is refused")
    shown = everything(sidecar, texts(sidecar.process.pid))
    assert CANARY.encode() not in shown
    assert base64.urlsafe_b64encode(b"https://kafka.eu") not in shown
