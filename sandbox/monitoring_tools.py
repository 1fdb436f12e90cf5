"""Prometheus and Alertmanager from Debian's packages: downloaded and unpacked into the cache, never installed.

Installing them would start daemons on ports 9090 and 9093. Programs on the PATH are used where they are new enough.

Debian's builds read templates and web pages from fixed directories below /usr/share, which do not exist where the
packages are not installed. So in the unpacked programs these paths are replaced by paths of the same length in their
working directory, where `Tools.link_assets` puts links.
"""

import os
import re
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox.debian import download, run, unpack
from sandbox.errors import SandboxError
from sandbox.jars import cache_directory, cached

FOLDER = "prometheus-debian"
"""In the cache."""
PACKAGES = ("prometheus", "prometheus-alertmanager")
LEAST_PROMETHEUS = (2, 42)
"""The first version with `keep_firing_for`."""
ASSETS = {
    "/usr/share/prometheus/alertmanager": "/proc/self/cwd/alertmanager-assets",
    "/usr/share/prometheus/web": "/proc/self/cwd/web-assets",
}
"""Debian's directory, and its replacement: of the same length, since it is replaced in the binary."""
WEB_PACKAGES = ("libjs-", "fonts-")
"""What Prometheus depends on for its web pages starts with one of these; not followed further, except d3."""
ALTERNATIVE = (
    "put prometheus, promtool (2.42 or newer), alertmanager and amtool on the PATH, from your distribution's packages "
    "or the Prometheus project's releases: they are used then"
)


@dataclass(frozen=True)
class Tools:
    """Paths of the four programs.

    `root` is where Debian's packages are unpacked, None where the programs come from the PATH.
    """

    prometheus: Path
    promtool: Path
    alertmanager: Path
    amtool: Path
    root: Path | None = None

    def link_assets(self, working_directory: Path) -> None:
        """Let programs that run in this directory find their templates and web pages."""
        for original, replacement in ASSETS.items():
            link = working_directory / Path(replacement).name
            if self.root is not None and not link.is_symlink():
                link.symlink_to(self.root / original.lstrip("/"))


def tools() -> Tools:
    """The programs: from the cache, else from the PATH, else downloaded into the cache.

    Raises:
        SandboxError: They cannot be downloaded; the message says what to do.
    """
    if not (cache_directory() / FOLDER).is_dir() and (on_path := _on_path()) is not None:
        return on_path
    directory = cached(FOLDER, _fetch)
    programs = directory / "usr" / "bin"
    return Tools(
        programs / "prometheus",
        programs / "promtool",
        programs / "prometheus-alertmanager",
        programs / "amtool",
        root=directory,
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


def _fetch(unpacked: Path) -> None:
    for program in ("apt-get", "dpkg"):
        if shutil.which(program) is None:
            raise SandboxError(f"{program} is missing, so Debian's Prometheus cannot be fetched: {ALTERNATIVE}")
    unpack(_download(unpacked.parent), unpacked)
    if _version(unpacked / "usr" / "bin" / "promtool") < LEAST_PROMETHEUS:
        raise SandboxError(f"apt's Prometheus is older than 2.42: {ALTERNATIVE}")
    # 200 MB of time zones as single files; other scripts contain all of them.
    shutil.rmtree(unpacked / "usr" / "share" / "javascript" / "moment-timezone" / "data", ignore_errors=True)
    for program in ("prometheus", "prometheus-alertmanager"):
        _relocate(unpacked / "usr" / "bin" / program)


def _relocate(program: Path) -> None:
    code = program.read_bytes()
    for original, replacement in ASSETS.items():
        code = code.replace(original.encode(), replacement.encode())
    program.write_bytes(code)


def _download(scratch: Path) -> list[Path]:
    """The packages and those that their web pages need."""
    try:
        download(PACKAGES, scratch)
    except SandboxError as error:
        raise SandboxError(f"{error}, or {ALTERNATIVE}") from error
    # Only graphs in a browser need these.
    with suppress(SandboxError):
        download(_web_dependencies(scratch), scratch)
    return sorted(scratch.glob("*.deb"))


def _web_dependencies(scratch: Path) -> list[str]:
    fields = [run(["dpkg", "-f", os.fspath(package), "Depends"], scratch) for package in scratch.glob("*.deb")]
    names = {entry.split()[0] for field in fields for entry in re.split(r"[,|]", field) if entry.strip()}
    return [*sorted(name for name in names if name.startswith(WEB_PACKAGES)), "libjs-d3"]
