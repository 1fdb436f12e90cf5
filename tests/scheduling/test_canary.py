"""A password or token is in no argument, log, page, traceback, history, state or environment of a child."""

import base64
import os
from pathlib import Path
from typing import Any

import bcrypt
import pyarrow.parquet as pq
import pytest
import yaml

from bench.procfs import children
from sandbox import wait_for
from sandbox.issuer import Issuer
from sandbox.passwords import write_secret
from tests.cluster.sidecar import SLOW_MACHINE
from tests.scheduling.ordered import Start
from tests.support.scripted import ScriptedCluster

CANARY = "canary-Tr0ub4dor"
FILES = ("cmdline", "environ")


def texts(process: int) -> list[bytes]:
    """Arguments of a process and of its children, and the environments of the children."""
    found = [Path(f"/proc/{process}/cmdline").read_bytes()]
    return found + [Path(f"/proc/{child}/{name}").read_bytes() for child in children(process) for name in FILES]


def everything(sidecar: Any, folder: Path) -> list[bytes]:
    """All that it serves; then it ends, and all that it wrote."""
    paths = ("/metrics", "/-/ready", "/-/healthy", "/", "/api/v1/sidecar", "/nowhere")
    found = [sidecar.get(path)[1].encode() for path in paths]
    assert sidecar.stop()[0] == 0
    files = list((folder / "history").rglob("*.parquet"))
    assert files
    rows = [str(pq.read_table(file).to_pylist()).encode() for file in files]
    return [*found, *rows, sidecar.log.encode(), sidecar.state.read_bytes()]


@pytest.mark.realtime
def test_a_password_shows_nowhere(start: Start, brokers: ScriptedCluster, tmp_path: Path) -> None:
    """For Kafka (accepted, then refused), for JMX (from the environment) and for the web; a thread fails meanwhile."""
    brokers.do("accounts", mechanism="SCRAM-SHA-512", users={"warden": CANARY})
    secret, web = tmp_path / "secret", tmp_path / "web.yml"
    secret.touch(0o600)
    secret.write_text(CANARY)
    hashed = bcrypt.hashpw(CANARY.encode(), bcrypt.gensalt(4)).decode()
    web.write_text(yaml.safe_dump({"basic_auth_users": {"prometheus": hashed}}))
    login = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "warden", "sasl.password.file": str(secret)}
    sidecar = start(
        {
            "kafka": {"security.protocol": "SASL_PLAINTEXT", **login},
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
    sidecar.done("thread watchdog")
    found += everything(sidecar, tmp_path)
    assert not [text for text in found if CANARY.encode() in text]
    assert os.fsencode("JMX_PASSWORD") not in b"".join(found)


@pytest.mark.realtime
def test_a_token_and_the_secret_of_its_client_show_nowhere(
    start: Start, brokers: ScriptedCluster, tmp_path: Path
) -> None:
    """Refused by an issuer that quotes the secret in its answer; then accepted and refused by the brokers."""
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
        for broker in (1, 2, 3):
            brokers.do("disconnect", broker=broker)
        wait_for(lambda: "refused the token" in sidecar.log, SLOW_MACHINE, "the token is refused")
        sidecar.done("thread watchdog")
        found += everything(sidecar, tmp_path)
    assert not [text for text in found if b"canary" in text]
