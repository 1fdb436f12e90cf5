"""A doctor of the scripted brokers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox.certificates import HERE, Authority, Identity
from tests.support.doctor import Doctor
from tests.support.scripted import ScriptedCluster

WITHIN = "1500ms"
"""`poll.deadline`: how long a silent broker is waited for."""


@dataclass(kw_only=True)
class ScriptedDoctor(Doctor):
    """With the brokers that it looks at."""

    brokers: ScriptedCluster


@pytest.fixture
def doctor(
    brokers: ScriptedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], logging_as_before: None
) -> ScriptedDoctor:
    brokers.controller()
    brokers.topic("orders", [[1, 2], [2, 3]], end=10)
    config = {
        "kafka": {"bootstrap.servers": brokers.bootstrap},
        "poll": {"deadline": WITHIN},
        "state": {"path": str(tmp_path / "state")},
        "web": {"listen": "127.0.0.1:0"},
    }
    return ScriptedDoctor(tmp_path, capsys, config, brokers=brokers)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "tls", "authority")


@pytest.fixture
def secured(doctor: ScriptedDoctor, authority: Authority) -> Callable[..., Identity]:
    def secure(hosts: Sequence[str] = HERE, client_ca: Path | None = None, **issued: Any) -> Identity:
        pair = authority.issue("server", hosts=hosts, **issued)
        files = {"certificate": str(pair.certificate), "key": str(pair.key)}
        files |= {} if client_ca is None else {"client_ca": str(client_ca)}
        doctor.brokers.each("refuse")
        doctor.brokers.brokers(*({"id": broker, **files} for broker in (1, 2, 3)))
        doctor.brokers.do("refuse", broker=100)
        doctor.brokers.do("controllers", controllers=[{"id": 100, **files}])
        doctor.kafka(
            bootstrap_servers=doctor.brokers.bootstrap,
            security_protocol="SSL",
            ssl_ca_location=str(authority.certificate),
        )
        return pair

    return secure
