"""Base images made of Debian's packages, where no registry of images is: for `make test-images`.

Archives of them are kept in the cache. What this machine needs to reach registries of packages, pip's configuration and
certificates, is put into the images on top of the archives, never into the Dockerfile.
"""

import hashlib
from functools import partial
from pathlib import Path
from typing import Final

from sandbox.jars import cached
from tests.support.processes import checked

SUITE: Final = "bookworm"
ARCHIVE: Final = "base.tar"
PACKAGES: Final = {
    "python": "python3.11,python3-venv,ca-certificates",
    "java": "openjdk-17-jdk-headless,maven,ca-certificates",
}
HOOKS: Final = {
    "python": "ln -s /usr/bin/python3.11 /usr/local/bin/python",
    # At the paths of the official images. The build copies from there, and Debian has links there to other places.
    "java": "find -L /usr/lib/jvm -type l -delete; mkdir /opt/java"
    ' && cp -rL "$(realpath /usr/bin/javac | xargs dirname | xargs dirname)" /opt/java/openjdk'
    " && cp -rL /usr/share/maven /opt/maven && rm -r /usr/share/maven && mv /opt/maven /usr/share/maven",
}
ARGUMENTS: Final = {"PYTHON": "python", "JDK": "java", "MAVEN": "java"}
"""Of the Dockerfile, with the image for each."""
OF_THIS_MACHINE: Final = {
    "/etc/pip.conf": "/etc/pip.conf",
    "/etc/ssl/certs/ca-certificates.crt": "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/certs/java/cacerts": "/opt/java/openjdk/lib/security/cacerts",
}


def name(base: str) -> str:
    return f"localhost/kafka-warden-test-{base}"


def make() -> list[str]:
    """Make the base images; return the options that the build takes for them."""
    for base in PACKAGES:
        recipe = hashlib.sha256(f"{PACKAGES[base]} {HOOKS[base]}".encode()).hexdigest()[:8]
        folder = cached(f"image-{base}-{SUITE}-{recipe}", partial(_bootstrap, base))
        _import(base, folder / ARCHIVE)
    return [f"--build-arg={argument}={name(base)}" for argument, base in ARGUMENTS.items()]


def _bootstrap(base: str, folder: Path) -> None:
    folder.mkdir()
    hook = f"--customize-hook=chroot \"$1\" sh -ec '{HOOKS[base]}'"
    options = ("--variant=minbase", f"--include={PACKAGES[base]}", hook)
    checked("mmdebstrap", *options, SUITE, folder / ARCHIVE, timeout=None)


def _import(base: str, archive: Path) -> None:
    container = buildah("from", "scratch")
    buildah("add", container, archive, "/")
    for file, target in OF_THIS_MACHINE.items():
        if Path(file).exists() and (base == "java" or not target.startswith("/opt/java/")):
            buildah("copy", container, file, target)
    buildah("commit", container, name(base))
    buildah("rm", container)


def buildah(*arguments: object) -> str:
    return checked("buildah", *arguments, timeout=None).strip()
