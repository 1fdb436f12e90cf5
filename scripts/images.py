"""Builds the images of the Dockerfile by buildah, and an SBOM of each in dist/: `make images`.

What is given to it goes to `buildah build`, such as `--build-arg PYTHON=registry.example/python:3.11-slim-bookworm`.
Run it as root or within `buildah unshare`: an SBOM is made from the files of the image.
"""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

ROOT: Final = Path(__file__).parents[1]
TOOLS: Final = ROOT / ".venv-release" / "bin"
IMAGE: Final = f"kafka-warden:{tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']['version']}"
IMAGES: Final[Mapping[str, str]] = {
    "exporter": IMAGE,
    "exporter-slim": f"{IMAGE}-slim",
    "pipeline": f"{IMAGE}-pipeline",
}
"""Targets of the Dockerfile, and the names of their images."""

Component = dict[str, Any]


class ImagesError(Exception):
    """An image cannot be built."""


def build(target: str, *options: str) -> None:
    """Build the image of a target; its log goes where that of this process goes.

    Raises:
        ImagesError: buildah is missing or failed.
    """
    # OCI's format has no HEALTHCHECK. With layers, a stage that several targets need is built once.
    command = ["buildah", "build", "--format=docker", "--layers", f"--target={target}", f"--tag={IMAGES[target]}"]
    _run(*command, *options, ROOT)


def write_sbom(target: str, folder: Path) -> Path:
    """Write the SBOM of an image that was built, in CycloneDX's JSON; return the file.

    Raises:
        ImagesError: A program is missing or failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"kafka-warden-{target}.cdx.json"
    container = _output("buildah", "from", "--pull-never", IMAGES[target])
    try:
        root = Path(_output("buildah", "mount", container))
        _write_python(root, file)
        document = json.loads(file.read_text())
        document["components"] += [*_debian(root), *_platforms(root), *_jars(root)]
        file.write_text(json.dumps(document, indent=2) + "\n")
    finally:
        _output("buildah", "rm", container)
    return file


def _write_python(root: Path, file: Path) -> None:
    """Write the SBOM of the Python packages below a folder, by CycloneDX's own tool."""
    with tempfile.TemporaryDirectory() as scratch:
        # The tool asks a Python for its packages. That of the image may be of another architecture, so here is one
        # that has the same packages.
        venv.create(scratch)
        (own,) = Path(scratch).glob("lib/python3*/site-packages")
        packages = [*root.glob("opt/*/lib/python3*/site-packages"), *root.glob("usr/local/lib/python3*/site-packages")]
        (own / "image.pth").write_text("".join(f"{folder}\n" for folder in packages))
        options = ("--pyproject", ROOT / "pyproject.toml", "--gather-license-texts", "--output-reproducible")
        _run(TOOLS / "cyclonedx-py", "environment", *options, "--output-file", file, Path(scratch) / "bin" / "python")


def _debian(root: Path) -> Iterator[Component]:
    """Yield Debian's packages."""
    for entry in (root / "var" / "lib" / "dpkg" / "status").read_text().split("\n\n"):
        field = dict(re.findall(r"^([\w-]+): (.*)$", entry, re.MULTILINE))
        if field.get("Status", "").endswith(" installed"):
            name, version = field["Package"], field["Version"]
            where = f"{quote(name, safe='')}@{quote(version, safe=':~')}?arch={field['Architecture']}"
            yield _component("library", name, version, f"pkg:deb/debian/{where}")


def _platforms(root: Path) -> Iterator[Component]:
    """Yield the versions of Python and Java."""
    for pattern, line, name in (
        ("opt/*/pyvenv.cfg", r"^version = (.+)$", "python"),
        ("opt/**/release", r'^JAVA_VERSION="(.+)"$', "openjdk"),
    ):
        for file in sorted(root.glob(pattern)):
            for version in re.findall(line, file.read_text(), re.MULTILINE):
                yield _component("platform", name, version, f"pkg:generic/{name}@{quote(version)}")


def _jars(root: Path) -> Iterator[Component]:
    """Yield the jars, which have no version except in their names, by their SHA-256."""
    for file in sorted((root / "opt").rglob("*.jar")):
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        name = file.relative_to(root).as_posix()
        yield {"type": "file", "bom-ref": name, "name": name, "hashes": [{"alg": "SHA-256", "content": digest}]}


def _component(kind: str, name: str, version: str, purl: str) -> Component:
    return {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl}


def _output(*command: object) -> str:
    """Return what a program prints."""
    return _run(*command, stdout=subprocess.PIPE).strip()


def _run(*command: object, stdout: int | None = None) -> str:
    words = [str(word) for word in command]
    try:
        # No shell, and nothing of it is from outside.
        done = subprocess.run(words, stdout=stdout, text=True, check=True)  # noqa: S603
    except FileNotFoundError as error:
        name = Path(words[0]).name
        raise ImagesError(f"{name} is missing (buildah: apt-get install buildah; cyclonedx-py: make images)") from error
    except subprocess.CalledProcessError as error:
        raise ImagesError(f"{' '.join(words[:2])} ended with {error.returncode}") from error
    return done.stdout or ""


def main(options: list[str]) -> None:
    """Build all images and their SBOMs."""
    try:
        for target in IMAGES:
            build(target, *options)
            write_sbom(target, ROOT / "dist")
    except ImagesError as error:
        sys.exit(f"images: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
