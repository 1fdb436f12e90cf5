"""The name of a process that writes to a store, and whether that process has ended."""

import os
import socket
from pathlib import Path
from typing import Final
from uuid import uuid4

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
"""Of Linux only. Containers of a machine share it, and a restarted container has the same host name and process id."""


def name() -> str:
    """Return a new name for this process: host, process id, and a part that no other writer has."""
    return f"{socket.gethostname()}:{os.getpid()}:{_boot()}{uuid4().hex[:8]}"


def is_gone(writer: str) -> bool:
    """Return whether a writer ran on this machine since its last boot and has ended, or was this process.

    Another machine may have the same host name. On Linux that is known.
    """
    host, pid, own = writer.rsplit(":", 2)
    if host != socket.gethostname() or not own.startswith(_boot()):
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return int(pid) == os.getpid()


def _boot() -> str:
    return f"{_BOOT.read_text()[:8]}-" if _BOOT.is_file() else ""
