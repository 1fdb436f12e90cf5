"""Debian's packages: downloaded and unpacked, never installed."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox.errors import SandboxError

COMMAND_TIMEOUT_SECONDS = 600


def download(packages: Sequence[str], scratch: Path) -> list[Path]:
    """Download packages into a directory; runs `apt-get update` first if apt has no lists.

    Raises:
        SandboxError: They cannot be downloaded.
    """
    # As root, apt downloads as a user who may not write here, and warns.
    user = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
    command = ["apt-get", "-q", *user, "download", *packages]
    try:
        run(command, scratch)
    except SandboxError:
        try:
            run(["apt-get", "-q", "update"], scratch)
        except SandboxError as error:
            raise SandboxError(f"{error}; run `apt-get update` as root") from error
        run(command, scratch)
    return sorted(scratch.glob("*.deb"))


def unpack(packages: Sequence[Path], directory: Path) -> None:
    """Unpack downloaded packages."""
    for package in packages:
        run(["dpkg", "-x", os.fspath(package), os.fspath(directory)], package.parent)


def run(command: Sequence[str], directory: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a program and return its standard output; `environment` is added to that of this process.

    Raises:
        SandboxError: It failed, is missing or took too long; the message has its last line.
    """
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise SandboxError(f"{command[0]} is missing") from error
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"{' '.join(command[:2])} took more than {COMMAND_TIMEOUT_SECONDS} s") from error
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise SandboxError(f"{' '.join(command)} failed: {lines[-1] if lines else 'no message'}")
    return done.stdout
