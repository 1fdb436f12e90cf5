"""The Dockerfile: what it copies, runs and names exists; its steps work in a clean directory."""

import fnmatch
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kafka_warden import cli
from kafka_warden.config import load
from kafka_warden.pipeline.cli import parser as pipeline_parser
from sandbox.ports import LOOPBACK
from tests.cluster.sidecar import Sidecar
from tests.deploy.dockerfile import ROOT, Stage, stages, whole

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FINAL = ("pipeline", "exporter-slim", "exporter")
OF_BASES = "/opt/java/openjdk /usr/share/maven"
"""The base images have them, so no step makes them."""
KAFKA = {"--bootstrap-servers": "127.0.0.1:9092"}


def ignored(path: Path) -> bool:
    """Whether .dockerignore keeps a path of the repository out of the build; the last rule that matches wins."""
    out = False
    for rule in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = rule.removeprefix("!")
        parents = [*map(str, path.parents), str(path)]
        if rule and not rule.startswith("#") and any(fnmatch.fnmatch(part, pattern) for part in parents):
            out = not rule.startswith("!")
    return out


def test_the_default_is_the_sidecar() -> None:
    assert [name for name in stages() if name in FINAL] == list(FINAL)
    assert list(stages())[-1] == "exporter"


@pytest.mark.parametrize("stage", stages().values(), ids=lambda stage: stage.name)
def test_sources_of_copies_exist(stage: Stage) -> None:
    earlier = list(stages())[: list(stages()).index(stage.name)]
    assert stage.base in earlier or re.fullmatch(r"[\w/-]+:[\w.-]+", stage.base)  # from no host in particular
    assert not stage.base.endswith(":latest")
    for origin, sources, _ in stage.copies():
        for source in sources:
            if origin:
                assert origin in earlier
                made = " ".join([*whole(origin).all("RUN"), OF_BASES])
                assert f" {source} " in f" {made} "
            else:
                assert (ROOT / source).exists(), source
                assert not ignored(Path(source)), source


def test_nothing_else_reaches_the_build() -> None:
    copied = {
        source
        for stage in stages().values()
        for origin, sources, _ in stage.copies()
        if not origin
        for source in sources
    }
    top = {entry.name for entry in ROOT.iterdir() if not ignored(Path(entry.name))}
    assert top | {"alerts/runbooks"} == copied
    assert not ignored(Path("alerts/runbooks/KafkaWardenDown.md"))
    assert ignored(Path("alerts/README.md"))
    assert ignored(Path("exporter/kafka_warden/__pycache__"))


@pytest.mark.parametrize("name", FINAL)
def test_image_has_no_rights(name: str) -> None:
    stage = whole(name)
    assert stage.one("USER") == "10073:10073"
    (home,) = [made for made in stage.all("RUN") if "chown 10073:" in made]
    assert stage.one("WORKDIR") in home
    (script,) = PROJECT["scripts"]
    (entry,) = stage.words("ENTRYPOINT")
    assert Path(entry).name == script
    (environment,) = [target for _, _, target in stage.copies() if entry.startswith(target + "/")]
    assert f"PATH={environment}/bin:" in stage.one("ENV")
    assert stage.words("CMD")
    assert not any("pip install" in made or "apt" in made for made in stage.all("RUN"))
    assert not stage.all("ADD")


@pytest.mark.parametrize("name", ["exporter", "exporter-slim"])
def test_any_user_of_group_0_can_write_the_state(name: str) -> None:
    """As on OpenShift; tests/deploy/test_containers.py runs it so."""
    (home,) = [made for made in whole(name).all("RUN") if "chown " in made]
    folder = whole(name).one("WORKDIR")
    assert f"chown 10073:0 {folder}" in home
    assert f"chmod 0770 {folder}" in home
    assert not any("chmod" in made and folder not in made for made in whole(name).all("RUN"))


def test_pipeline_has_its_jars() -> None:
    (made,) = stages()["jars"].all("RUN")
    arguments = made.partition("/bin/kafka-warden pipeline ")[2]
    parsed = pipeline_parser([]).parse_args(shlex.split(arguments))
    assert (parsed.job, parsed.s3) == ("jars", True)
    assert ("jars", [str(parsed.to)], str(parsed.to)) in whole("pipeline").copies()
    assert f"KAFKA_WARDEN_JARS={parsed.to} " in whole("pipeline").one("ENV")


def test_user_of_the_pipeline_has_a_name_and_a_home() -> None:
    """Without them Spark ends before its first line: Hadoop asks who it is, Ivy where its cache may be."""
    stage = whole("pipeline")
    (made,) = [made for made in stage.all("RUN") if ">> /etc/passwd" in made]
    entry = re.search(r"echo '([^']+)' >> /etc/passwd", made)
    assert entry
    name, _, user, group, _, home, _ = entry[1].split(":")
    assert name
    assert (f"{user}:{group}", home) == (stage.one("USER"), stage.one("WORKDIR"))


def test_sidecar_gets_options_of_the_command() -> None:
    parsed = cli._parser().parse_args(whole("exporter").words("CMD"))
    assert parsed.command == "run"
    assert parsed.config == Path("/etc/kafka-warden/warden.yml")


def test_port_is_the_default_one() -> None:
    stage = whole("exporter")
    port = str(load(KAFKA, {}).web.listen.port)
    assert stage.one("EXPOSE") == port
    assert f"http://127.0.0.1:{port}/-/healthy" in stage.one("HEALTHCHECK")


def test_versions_are_new_enough() -> None:
    python = re.search(r"python:(\d+)\.(\d+)", whole("exporter").base)
    java = re.search(r"temurin:(\d+)", stages()["java"].base)
    assert python
    assert java
    assert f">={python[1]}.{python[2]}" == PROJECT["requires-python"]
    assert int(java[1]) >= 17


def test_java_home_is_what_jlink_makes() -> None:
    made = re.search(r"jlink --output (\S+)", stages()["java"].one("RUN"))
    assert made
    assert ("java", [made[1]], made[1]) in whole("exporter").copies()
    assert f"JAVA_HOME={made[1]} " in whole("exporter").one("ENV")


def test_health_check_works(tmp_path: Path) -> None:
    check = re.search(r'"-c", "(.*)"\]', whole("exporter").one("HEALTHCHECK"))
    assert check
    config = {"kafka": {"bootstrap.servers": f"{LOOPBACK}:1"}, "web": {"listen": f"{LOOPBACK}:0"}}
    with Sidecar(config, tmp_path, ready=False) as sidecar:
        asked = [sys.executable, "-c", check[1].replace(f"{LOOPBACK}:10073", sidecar.address)]
        assert subprocess.run(asked, check=False).returncode == 0
    assert subprocess.run(asked, check=False, stderr=subprocess.DEVNULL).returncode != 0
