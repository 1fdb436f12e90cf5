"""Small file systems: what happens when a disk is full has to be tried on one."""

import subprocess
from pathlib import Path

import pytest

from tests.support.processes import run


def need_mount(folder: Path) -> None:
    """Skip the test, and say so, where there is no root or no right to mount."""
    probe = folder / "probe"
    probe.mkdir()
    tried = run("mount", "-t", "tmpfs", "-o", "size=1m", "probe", probe)
    if tried.returncode:
        probe.rmdir()
        pytest.skip(f"a small file system needs root and the right to mount: {tried.stderr.strip()}")
    subprocess.run(["umount", str(probe)], check=True)
    probe.rmdir()
