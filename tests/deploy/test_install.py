"""docs/how-to/install.md: its files, links, flags and commands exist."""

import re
from pathlib import Path

import pytest
import yaml

from kafka_warden import cli
from tests.deploy.dockerfile import ROOT, stages, whole

RUNBOOKS = sorted((ROOT / "alerts" / "runbooks").glob("KafkaWarden*.md"))
TEXT = (ROOT / "docs" / "how-to" / "install.md").read_text()


def test_commands_exist() -> None:
    for given in re.findall(r"kafka-warden run ([^\n`]*)", TEXT):
        cli._parser().parse_args(["run", *given.split()])
    assert set(re.findall(r"--target ([\w-]+)", TEXT)) == {"exporter", "exporter-slim", "pipeline"} <= stages().keys()


def test_nothing_is_installed_by_its_name() -> None:
    """There is no package on PyPI: the name may become that of a foreign one."""
    pages = (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "exporter").rglob("*.py"))
    named = re.compile(r"pip install [^`\n]*(?<![/\w])kafka-warden\b(?!/)")
    assert [(page.name, found[0]) for page in pages if (found := named.search(page.read_text()))] == []


def test_steps_are_those_of_the_image() -> None:
    made = " ".join(whole("build").all("RUN"))
    commands = re.findall(r"^(/opt/kafka-warden/bin/pip .*)$", TEXT, re.MULTILINE)
    assert commands
    assert [command for command in commands if command not in made] == []


@pytest.mark.parametrize("page", RUNBOOKS, ids=lambda page: page.stem)
def test_runbooks_speak_of_what_is_installed(page: Path) -> None:
    text = page.read_text()
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    deployment = yaml.safe_load((ROOT / "deploy" / "deployment.yaml").read_text())
    name = deployment["metadata"]["name"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    served = (ROOT / "exporter" / "kafka_warden" / "web" / "site.py").read_text()
    assert set(re.findall(r"docker compose \w+ (?:-\S+ )*([\w-]+)", text)) <= compose.keys()
    assert set(re.findall(r"(?:systemctl \w+|journalctl -u) ([\w-]+)", text)) <= {"kafka-warden", "prometheus"}
    assert set(re.findall(r"deployment/([\w-]+)", text)) <= {name}
    assert {tuple(found.split("=")) for found in re.findall(r"-l (\S+=[\w-]+)", text)} <= set(labels.items())
    assert set(re.findall(r"--config (/\S+)", text)) <= {whole("exporter").words("CMD")[-1]}
    assert all(f'"{path}"' in served for path in re.findall(r"\$W(/[\w/-]+)", text))
