"""`kafka-warden check` in this process, and what its JSON document has."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_warden import cli
from sandbox.passwords import write_secret

PASSWORD = "canary-Tr0ub4dor"


@dataclass
class Doctor:
    """Runs `kafka-warden check`. `config` is the content of the configuration file."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    config: dict[str, Any] = field(default_factory=dict)
    code: int = 0
    output: str = ""
    """Of the last run."""

    def kafka(self, **properties: str) -> None:
        """Set properties; underscores mean dots."""
        self.config["kafka"] |= {name.replace("_", "."): value for name, value in properties.items()}

    def login(
        self, password: str = PASSWORD, mechanism: str = "SCRAM-SHA-256", protocol: str = "SASL_PLAINTEXT"
    ) -> None:
        file = write_secret(self.folder / "password", password)
        self.kafka(security_protocol=protocol, sasl_mechanism=mechanism, sasl_username="monitor")
        self.config["kafka"]["sasl.password.file"] = str(file)

    def run(self, *flags: str) -> str:
        file = self.folder / "warden.yml"
        file.write_text(yaml.safe_dump(self.config))
        self.capsys.readouterr()
        self.code = cli.main(["check", "--config", str(file), *flags])
        captured = self.capsys.readouterr()
        self.output = captured.out
        assert PASSWORD not in captured.out + captured.err
        return self.output

    def checks(self, *flags: str) -> list[dict[str, str]]:
        document = json.loads(self.run("--json", *flags))
        assert document["success"] == (self.code == 0)
        found: list[dict[str, str]] = document["checks"]
        for each in found:
            sys.stdout.write(f"{each['result']} {each['code']} {each['subject']}: {each['message']} -> {each['fix']}\n")
        return found

    def wrong(self, *flags: str) -> dict[str, str]:
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
