"""The name of a process that writes to a store, and whether that process has ended."""

import os
import socket
from pathlib import Path
from typing import Final
from uuid import uuid4

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
"""Of Linux only, as the other one. Containers of a machine share it."""
_PROCESSES: Final = Path("/proc/self/ns/pid")
"""The PID namespace. Two containers with the network of the host have one host name, and may have one process id."""


def name() -> str:
    """Return a new name for this process: host, process id, and a part that no other writer has."""
    return f"{socket.gethostname()}:{os.getpid()}:{_place()}{uuid4().hex[:8]}"


def is_gone(writer: str) -> bool:
    """Return whether a writer ran beside this process since the last boot and has ended, or was this process.

    Another machine or container may have the same host name. On Linux that is known.
    """
    host, pid, own = writer.rsplit(":", 2)
    if host != socket.gethostname() or not own.startswith(_place()):
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return int(pid) == os.getpid()


def _place() -> str:
    """Return the boot and the PID namespace of this process, such as `1b4e28ba-4026531836-`; empty if unknown."""
    if not (_BOOT.is_file() and _PROCESSES.is_symlink()):
        return ""
    return f"{_BOOT.read_text()[:8]}-{''.join(filter(str.isdigit, str(_PROCESSES.readlink())))}-"
