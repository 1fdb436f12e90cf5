"""A doctor that runs the command in this process and reads its JSON document."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_warden import cli
from sandbox.certificates import HERE, Authority, Identity
from sandbox.passwords import write_secret
from tests.support.scripted import ScriptedCluster

PASSWORD = "canary-Tr0ub4dor"
WITHIN = "1500ms"
"""`poll.deadline`: how long a silent broker is waited for."""


@dataclass
class Doctor:
    """Runs `kafka-warden check` on the scripted brokers. `config` is the content of the configuration file."""

    brokers: ScriptedCluster
    folder: Path
    capsys: pytest.CaptureFixture[str]
    config: dict[str, Any] = field(default_factory=dict)
    code: int = 0
    output: str = ""
    """Of the last run."""

    def __post_init__(self) -> None:
        """Write what a user would, for all brokers."""
        self.config = {
            "kafka": {"bootstrap.servers": self.brokers.bootstrap},
            "poll": {"deadline": WITHIN},
            "state": {"path": str(self.folder / "state")},
            "web": {"listen": "127.0.0.1:0"},
        }

    def kafka(self, **properties: str) -> None:
        """Set properties; underscores mean dots."""
        self.config["kafka"] |= {name.replace("_", "."): value for name, value in properties.items()}

    def login(
        self, password: str = PASSWORD, mechanism: str = "SCRAM-SHA-256", protocol: str = "SASL_PLAINTEXT"
    ) -> None:
        """Log in as `monitor`."""
        file = write_secret(self.folder / "password", password)
        self.kafka(security_protocol=protocol, sasl_mechanism=mechanism, sasl_username="monitor")
        self.config["kafka"]["sasl.password.file"] = str(file)

    def run(self, *flags: str) -> str:
        """Run the command; return its standard output."""
        file = self.folder / "warden.yml"
        file.write_text(yaml.safe_dump(self.config))
        self.capsys.readouterr()
        self.code = cli.main(["check", "--config", str(file), *flags])
        captured = self.capsys.readouterr()
        self.output = captured.out
        assert PASSWORD not in captured.out + captured.err
        return self.output

    def checks(self, *flags: str) -> list[dict[str, str]]:
        """Run it and return all results."""
        document = json.loads(self.run("--json", *flags))
        assert document["success"] == (self.code == 0)
        found: list[dict[str, str]] = document["checks"]
        for each in found:
            sys.stdout.write(f"{each['result']} {each['code']} {each['subject']}: {each['message']} -> {each['fix']}\n")
        return found

    def wrong(self, *flags: str) -> dict[str, str]:
        """Return what is wrong: code to `error` or `warning`, message and fix."""
        found: dict[str, str] = {}
        for each in self.checks(*flags):
            if each["result"] in ("error", "warning"):
                found[each["code"]] = f"{each['result']} {each['subject']}: {each['message']} -> {each['fix']}"
                assert each["fix"]
        return found

    def one(self, code: str, *parts: str, result: str = "error") -> None:
        """Assert that one thing is wrong, and that its line has these parts."""
        found = self.wrong()
        assert found.keys() == {code}
        assert found[code].startswith(result)
        assert [part for part in parts if part not in found[code]] == []
        assert self.code == (1 if result == "error" else 0)


@pytest.fixture
def doctor(
    brokers: ScriptedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], logging_as_before: None
) -> Doctor:
    """Of a healthy cluster of three brokers with a topic, without TLS and login."""
    brokers.controller()
    brokers.topic("orders", [[1, 2], [2, 3]], end=10)
    return Doctor(brokers, tmp_path, capsys)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """The authority of the brokers' certificates."""
    return Authority(tmp_path / "tls", "authority")


@pytest.fixture
def secured(doctor: Doctor, authority: Authority) -> Callable[..., Identity]:
    """Give all brokers and the controller TLS, with the certificate that is issued with these arguments."""

    def secure(hosts: Sequence[str] = HERE, **issued: Any) -> Identity:
        pair = authority.issue("server", hosts=hosts, **issued)
        files = {"certificate": str(pair.certificate), "key": str(pair.key)}
        for broker in (1, 2, 3):
            doctor.brokers.do("refuse", broker=broker)
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


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """What is opened in it is closed with the test."""
    with ExitStack() as opened:
        yield opened
