"""The images as containers: built by buildah, run by podman and runc with the options that the documents give.

The base images are made of Debian's packages, so the official ones are not tried here, nor other architectures. The
containers have the network of this machine, where the brokers are.
"""

import json
import re
import shlex
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pytest

from kafka_warden.history.parquet.reader import polls, read
from kafka_warden.pipeline.jars import listed
from kafka_warden.pipeline.marts import CLUSTERS
from kafka_warden.pipeline.store import of_mart
from sandbox import Cluster
from scripts.images import IMAGES, TOOLS, build, write_sbom
from tests.cluster.sidecar import Sidecar, configuration
from tests.deploy import base_images
from tests.deploy.dockerfile import ROOT, whole
from tests.fleet.test_recorded import HISTORY
from tests.pipeline.written import live_files
from tests.support.processes import checked, run

pytestmark = [pytest.mark.test_images, pytest.mark.timeout(5400)]

PROGRAMS: Final = ("buildah", "mmdebstrap", "podman", "runc")
NAME: Final = "warden"
HOME: Final = "/var/lib/kafka-warden"
SIDECARS: Final = ("exporter", "exporter-slim")
MOST_MEGABYTES: Final = {"exporter": 400, "exporter-slim": 180}
"""Of all files beyond those of the base image. The pipeline's image has Spark, and no limit."""
SETTINGS: Final = """
[containers]
netns = "host"
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
runtime = "runc"
"""
"""Of podman on a machine without systemd, with the network of this machine."""
STORAGE: Final = """
[storage]
driver = "{driver}"
graphroot = "{folder}/storage"
runroot = "{folder}/run"
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, no_process_left: None) -> Iterator[None]:
    """All images, in a storage of this run, which buildah and podman use until its end."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    assert not missing, f"apt-get install --no-install-recommends {' '.join(missing)}"
    folder = tmp_path_factory.mktemp("containers")
    (folder / "containers.conf").write_text(SETTINGS)
    (folder / "storage.conf").write_text(STORAGE.format(folder=folder, driver=driver(folder / "probe")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONTAINERS_CONF", str(folder / "containers.conf"))
        patch.setenv("CONTAINERS_STORAGE_CONF", str(folder / "storage.conf"))
        patch.setenv("BUILDAH_ISOLATION", "chroot")
        # By it podman would ask systemd for a timer.
        patch.setenv("DISABLE_HC_SYSTEMD", "true")
        try:
            bases = base_images.make()
            for target in IMAGES:
                build(target, *bases)
            yield
        finally:
            base_images.buildah("rm", "--all")
            # The storage is a mount of its own.
            mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
            for mount in reversed([mount for mount in mounts if mount.startswith(f"{folder}/")]):
                checked("umount", mount)
            shutil.rmtree(folder)


def driver(folder: Path) -> str:
    """The storage driver: overlay where it works, else vfs, which copies all files for each layer and container."""
    where = ("--root", folder / "storage", "--runroot", folder / "run")
    return "vfs" if run("buildah", "--storage-driver", "overlay", *where, "info").returncode else "overlay"


@pytest.fixture(autouse=True)
def clean(built: None) -> Iterator[None]:
    """Containers and volumes end with the test."""
    yield
    podman("rm", "--all", "--force", "--time", "0")
    podman("volume", "rm", "--all", "--force")


def podman(*arguments: object) -> str:
    return checked("podman", *arguments, timeout=None).strip()


def in_image(target: str, program: str, *arguments: str) -> str:
    return podman("run", "--rm", "--network", "none", "--entrypoint", program, IMAGES[target], *arguments)


def volume(name: str) -> Path:
    if name not in podman("volume", "ls", "--quiet").split():
        podman("volume", "create", name)
    return Path(podman("volume", "inspect", "--format", "{{.Mountpoint}}", name))


def documented(target: str, config: Path | None = None) -> list[str]:
    """The command in docs/how-to/install.md that runs an image, as one of podman, with a configuration file.

    A port cannot be published, since the container has the network of this machine. Docker adds no tmpfs.
    """
    like = "exporter" if target in SIDECARS else target
    text = (ROOT / "docs" / "how-to" / "install.md").read_text().replace("\\\n", " ")
    (given,) = [
        words
        for words in map(shlex.split, re.findall(r"^\$ docker run (.*)$", text, re.MULTILINE))
        if IMAGES[like] in words
    ]
    if "--publish" in given:
        del given[given.index("--publish") :][:2]
    words = [word.replace("$PWD/warden.yml", str(config)).replace(IMAGES[like], IMAGES[target]) for word in given]
    return ["podman", "run", "--name", NAME, "--read-only-tmpfs=false", *words]


class Contained(Sidecar):
    """The sidecar in a container of an image."""

    def __init__(self, target: str, config: dict[str, Any], folder: Path) -> None:
        super().__init__(config, folder)
        self._target = target

    def command(self, config: Path) -> list[str]:
        """As documented; podman passes signals and the exit code on."""
        return documented(self._target, config)


@pytest.mark.parametrize("target", SIDECARS)
def test_sidecar_watches_a_cluster(target: str, make_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = make_cluster(brokers=1, profile="default")
    cluster.admin.create_topic("orders", assignment={0: [1]})
    history = {"parquet": {"path": f"{HOME}/history", "roll": "2s"}}
    parquet: dict[str, Any] = {"history": history} if target == "exporter" else {}
    config = configuration(cluster, web={"listen": "127.0.0.1:10073"}, **parquet)
    state = volume("kafka-warden") / "kafka-warden.state"
    for _ in range(2):
        with Contained(target, config, tmp_path) as sidecar:
            page = sidecar.whole_page()
            assert page.brokers("broker_replicas").keys() == {1}
            assert page.one("jmx_source_info", source="rmi") == 1
            assert ("jmx", "1") in page.up()
            assert sidecar.get("/-/healthy")[0] == 200
            assert sidecar.get("/alerts/runbooks/KafkaReassignmentStuck.md")[0] == 200
            podman("healthcheck", "run", NAME)
            has_no_rights(int(podman("inspect", "--format", "{{.State.Pid}}", NAME)))
            if parquet:
                sidecar.wait(lambda page: min(page.by("sink", "sink_rows_total").values(), default=0) > 0)
            began = time.time()
        assert "Read-only file system" not in sidecar.log
        assert "state file" not in sidecar.log
        assert state.stat().st_mtime > began
    kept = [tables["polls"]["remembered"][0] for tables in polls(volume("kafka-warden") / "history")] if parquet else []
    assert kept.count("restored") == len(parquet)


@pytest.mark.parametrize("target", SIDECARS)
def test_any_user_of_group_0(target: str) -> None:
    """As OpenShift runs it: with an id that the image does not know, it reads all and writes its state."""
    options = ["--rm", "--network=none", "--read-only", "--cap-drop=ALL", "--user=1000650000:0"]
    started = ["run", *options, f"--volume=kafka-warden:{HOME}"]
    code = "import os, numpy; open('kafka-warden.state', 'w').close(); print(os.getuid(), os.getgid(), os.listdir())"
    python = "/opt/kafka-warden/bin/python"
    assert (
        podman(*started, f"--entrypoint={python}", IMAGES[target], "-c", code) == "1000650000 0 ['kafka-warden.state']"
    )
    assert podman(*started, IMAGES[target], "--version").startswith("kafka-warden ")
    podman(*started, "--entrypoint=/opt/jre/bin/java", IMAGES[target], "-version")


def has_no_rights(process: int) -> None:
    """Check user, capabilities and file systems of the process of a container."""
    directory = Path("/proc") / str(process)
    status = dict(line.split(":\t", 1) for line in (directory / "status").read_text().splitlines())
    assert status["Uid"].split() == status["Gid"].split() == ["10073"] * 4
    assert {status[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert status["NoNewPrivs"] == "1"
    mounts = [line.split() for line in (directory / "mountinfo").read_text().splitlines()]
    writable = {mount[4] for mount in mounts if "rw" in mount[5].split(",")}
    assert {mount for mount in writable if not mount.startswith(("/dev", "/proc", "/sys/"))} == {HOME}
    assert list((directory / "root" / "dev" / "shm").iterdir()) == []


def test_slim_image_has_no_history(tmp_path: Path) -> None:
    config = tmp_path / "warden.yml"
    config.write_text(f"kafka: {{bootstrap.servers: 'localhost:1'}}\nhistory: {{parquet: {{path: {HOME}/history}}}}\n")
    done = run(*documented("exporter-slim", config))
    assert done.returncode == 2
    assert "history.parquet.path: needs pyarrow, which is not installed" in done.stderr


def test_pipeline_takes_history() -> None:
    assert "ingest" in podman("run", "--rm", IMAGES["pipeline"], "pipeline", "--help")
    shutil.copytree(HISTORY, volume("kafka-warden") / "history")
    checked(*documented("pipeline"), "--keep-raw", "36500", "--keep-minutes", "36500", timeout=None)
    files = live_files(volume("kafka-warden-store") / "store", of_mart(CLUSTERS["hour"]))
    hours = {time // 3600 for time in read(HISTORY, "polls")["time"].to_pylist()}
    assert sum(json.loads(file["stats"])["numRecords"] for file in files) == len(hours)


@pytest.mark.parametrize("target", MOST_MEGABYTES)
def test_size(target: str) -> None:
    def size(image: str) -> int:
        return int(podman("image", "inspect", "--format", "{{.Size}}", image))

    megabytes = (size(IMAGES[target]) - size(base_images.name("python"))) / 1e6
    print(f"{target}: {megabytes:.0f} MB beyond its base image")
    assert megabytes <= MOST_MEGABYTES[target]


@pytest.mark.parametrize("target", IMAGES)
def test_sbom(target: str, tmp_path: Path) -> None:
    file = write_sbom(target, tmp_path)
    valid = (
        "import sys; from cyclonedx.schema import SchemaVersion as V; from cyclonedx.validation.json import *;"
        "sys.exit(str(JsonStrictValidator(V.V1_6).validate_str(open(sys.argv[1]).read()) or '') or 0)"
    )
    checked(TOOLS / "python", "-c", valid, file)
    document = json.loads(file.read_text())
    assert document["metadata"]["component"]["name"] == "kafka-warden"
    components = document["components"]
    found = {unquote(component["purl"].partition("?")[0]) for component in components if "purl" in component}
    environment = Path(*whole(target).words("ENTRYPOINT")).parent
    listing = "import importlib.metadata as m; print(*(f'{d.name}@{d.version}' for d in m.distributions()))"
    python = in_image(target, f"{environment}/python", "-c", listing).lower().replace("_", "-").split()
    debian = in_image(target, "dpkg-query", "--show", "--showformat", "${Package}@${Version}\n").split()
    wanted = {f"pkg:pypi/{each}" for each in python if not each.startswith("kafka-warden@")}
    wanted |= {f"pkg:deb/debian/{each}" for each in debian}
    assert {each for each in found if each.startswith(("pkg:pypi/", "pkg:deb/"))} == wanted
    home = re.search(r"JAVA_HOME=(\S+)", whole(target).one("ENV"))
    assert home
    assert f"pkg:generic/openjdk@{in_image(target, f'{home[1]}/bin/java', '--version').split()[1]}" in found
    hashes = {component["hashes"][0]["content"] for component in components if component["type"] == "file"}
    jars = {jar.sha256 for jar in listed()}
    assert jars & hashes == (set() if target in SIDECARS else jars)
