"""Prometheus and Alertmanager from Debian's packages: downloaded and unpacked into the cache, never installed.

Installing them would start daemons on ports 9090 and 9093. Programs on the PATH are used where they are new enough.

Debian's Alertmanager reads its templates from a fixed directory below /usr/share, which does not exist where the
package is not installed. So in the unpacked copy that path is replaced by one of the same length in its working
directory.
"""

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.jars import cache_directory

PACKAGES = ("prometheus", "prometheus-alertmanager")
LEAST_PROMETHEUS = (2, 42)
"""`keep_firing_for` came with it."""
COMMAND_TIMEOUT_SECONDS = 300
DEBIAN_ASSETS = b"/usr/share/prometheus/alertmanager"
OUR_ASSETS = b"/proc/self/cwd/alertmanager-assets"
ASSETS_LINK = "alertmanager-assets"
"""What Alertmanager's working directory must call `Tools.assets`."""
ALTERNATIVE = (
    "put prometheus, promtool (2.42 or newer), alertmanager and amtool on the PATH, from your distribution's packages "
    "or the Prometheus project's releases: they are used then"
)


@dataclass(frozen=True)
class Tools:
    """Paths of the four programs, and of the files that Debian's Alertmanager needs."""

    prometheus: Path
    promtool: Path
    alertmanager: Path
    amtool: Path
    assets: Path | None = None


def tools() -> Tools:
    """The programs: from the cache, else from the PATH, else fetched into the cache.

    Raises:
        SandboxError: They are nowhere and cannot be fetched; the message says what to do.
    """
    directory = cache_directory() / "prometheus-debian"
    if not directory.is_dir():
        on_path = _on_path()
        if on_path is not None:
            return on_path
        directory.parent.mkdir(parents=True, exist_ok=True)
        with directory.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not directory.is_dir():
                _fetch(directory)
    programs = directory / "usr" / "bin"
    return Tools(
        programs / "prometheus",
        programs / "promtool",
        programs / "prometheus-alertmanager",
        programs / "amtool",
        assets=directory / os.fsdecode(DEBIAN_ASSETS).lstrip("/"),
    )


def _on_path() -> Tools | None:
    alertmanager = shutil.which("alertmanager") or shutil.which("prometheus-alertmanager")
    found = [shutil.which("prometheus"), shutil.which("promtool"), alertmanager, shutil.which("amtool")]
    paths = [Path(path) for path in found if path]
    if len(paths) < len(found) or _version(paths[1]) < LEAST_PROMETHEUS:
        return None
    return Tools(*paths)


def _version(promtool: Path) -> tuple[int, ...]:
    done = subprocess.run([promtool, "--version"], capture_output=True, text=True, timeout=30, check=False)
    match = re.search(r"version (\d+)\.(\d+)", done.stdout + done.stderr)
    return tuple(map(int, match.groups())) if match else (0, 0)


def _fetch(directory: Path) -> None:
    for program in ("apt-get", "dpkg"):
        if shutil.which(program) is None:
            raise SandboxError(f"{program} is missing, so Debian's Prometheus cannot be fetched: {ALTERNATIVE}")
    with tempfile.TemporaryDirectory(prefix="prometheus-debian.", dir=directory.parent) as scratch:
        _download(Path(scratch))
        unpacked = Path(scratch) / "unpacked"
        for package in sorted(Path(scratch).glob("*.deb")):
            _run(["dpkg", "-x", os.fspath(package), os.fspath(unpacked)], Path(scratch))
        if _version(unpacked / "usr" / "bin" / "promtool") < LEAST_PROMETHEUS:
            raise SandboxError(f"apt's Prometheus is older than 2.42: {ALTERNATIVE}")
        _relocate(unpacked / "usr" / "bin" / "prometheus-alertmanager")
        unpacked.rename(directory)


def _relocate(alertmanager: Path) -> None:
    program = alertmanager.read_bytes()
    alertmanager.write_bytes(program.replace(DEBIAN_ASSETS, OUR_ASSETS))


def _download(scratch: Path) -> None:
    """Download the packages; where apt does not know them yet, let it read its lists first."""
    # As root apt hands the download to a user who may not write here, and warns.
    user = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
    download = ["apt-get", "-q", *user, "download", *PACKAGES]
    try:
        _run(download, scratch)
    except SandboxError:
        _update_lists(scratch)
        _run(download, scratch)


def _update_lists(scratch: Path) -> None:
    try:
        _run(["apt-get", "-q", "update"], scratch)
    except SandboxError as error:
        raise SandboxError(f"{error}; run `apt-get update` as root, or {ALTERNATIVE}") from error


def _run(command: list[str], directory: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=directory, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"{' '.join(command[:2])} took more than {COMMAND_TIMEOUT_SECONDS} s") from error
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise SandboxError(f"{' '.join(command)} failed: {lines[-1] if lines else 'no message'}")
