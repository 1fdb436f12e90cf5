"""docs/install.md: its files, links, flags and commands exist."""

import re
from pathlib import Path

import pytest
import yaml

from kafka_warden import cli
from kafka_warden.config import OPTIONS
from tests.deploy.dockerfile import ROOT, stages
from tests.deploy.test_image import PROJECT
from tests.support.processes import run

RUNBOOKS = sorted((ROOT / "alerts" / "runbooks").glob("KafkaWarden*.md"))
PAGE = ROOT / "docs" / "install.md"
TEXT = PAGE.read_text()


def test_files_exist() -> None:
    """Every link and every path of the repository leads somewhere."""
    targets = re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", TEXT)
    files, anchors = {path for path, _ in targets if path}, {anchor for _, anchor in targets if anchor}
    assert files
    assert {path for path in files if not (PAGE.parent / path).is_file()} == set()
    headings = re.findall(r"^#+ (.*)$", TEXT, re.MULTILINE)
    assert anchors <= {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in headings}
    for path in re.findall(r"(?<![\w/])((?:deploy|docs|alerts|grafana|tests)/[\w./-]*)", TEXT):
        assert (ROOT / path.rstrip(".")).exists(), path


def test_shell_blocks_parse() -> None:
    """Every block of commands is valid shell."""
    blocks = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
    assert blocks
    for block in blocks:
        done = run("bash", "-n", given=block)
        assert done.returncode == 0, done.stderr


def test_commands_exist() -> None:
    """Flags are the command's, options the configuration's, targets the Dockerfile's, extras the project's."""
    for given in re.findall(r"kafka-warden run ([^\n`]*)", TEXT):
        cli._parser().parse_args(["run", *given.split()])
    assert set(re.findall(r"--target (\w+)", TEXT)) == {"sidecar", "pipeline"} <= stages().keys()
    extras = {extra for found in re.findall(r"'\.\[([\w,-]+)\]'", TEXT) for extra in found.split(",")}
    assert set() < extras <= PROJECT["optional-dependencies"].keys()
    options = {option.key for option in OPTIONS}
    named = set(re.findall(r"`((?:web|jmx|state|limits|poll|moves)\.[a-z_.]+)", TEXT))
    assert named <= options, named - options


def test_steps_are_those_of_the_image() -> None:
    """The virtual environment is made as the image makes its own."""
    made = " ".join(stages()["build"].all("RUN"))
    commands = re.findall(r"^(/opt/kafka-warden/bin/pip .*)$", TEXT, re.MULTILINE)
    assert commands
    assert [command for command in commands if command not in made] == []


@pytest.mark.parametrize("page", RUNBOOKS, ids=lambda page: page.stem)
def test_runbooks_speak_of_what_is_installed(page: Path) -> None:
    """Services, labels, and paths of web server and configuration in the runbooks are those that are installed."""
    text = page.read_text()
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    deployment = yaml.safe_load((ROOT / "deploy" / "deployment.yaml").read_text())
    name = deployment["metadata"]["name"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    served = (ROOT / "exporter" / "kafka_warden" / "web" / "responses.py").read_text()
    assert set(re.findall(r"docker compose \w+ (?:-\S+ )*([\w-]+)", text)) <= compose.keys()
    assert set(re.findall(r"(?:systemctl \w+|journalctl -u) ([\w-]+)", text)) <= {"kafka-warden"}
    assert set(re.findall(r"deployment/([\w-]+)", text)) <= {name}
    assert {tuple(found.split("=")) for found in re.findall(r"-l (\S+=[\w-]+)", text)} <= set(labels.items())
    assert set(re.findall(r"--config (/\S+)", text)) <= {stages()["sidecar"].words("CMD")[-1]}
    assert all(f'"{path}"' in served for path in re.findall(r"\$W(/[\w/-]+)", text))
