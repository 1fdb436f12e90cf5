"""Small file systems: what happens when a disk is full has to be tried on one."""

import subprocess
from pathlib import Path

import pytest


def need_mount(folder: Path) -> None:
    """Skip the test, and say so, where there is no root or no right to mount."""
    probe = folder / "probe"
    probe.mkdir()
    tried = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "probe", str(probe)], capture_output=True, check=False
    )
    if tried.returncode:
        probe.rmdir()
        pytest.skip(f"a small file system needs root and the right to mount: {tried.stderr.decode().strip()}")
    subprocess.run(["umount", str(probe)], check=True)
    probe.rmdir()
