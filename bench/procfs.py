"""Processes in Linux's /proc: CPU time, memory, children."""

import os
from collections.abc import Iterable
from pathlib import Path

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and all its threads, ended ones too, in steps of one tick (10 ms)."""
    user, system = _stat(pid)[11:13]
    return (int(user) + int(system)) / TICKS_A_SECOND


def children(pid: int) -> list[int]:
    """Processes whose parent is the given one."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _parent(entry) == pid]


def tree(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    return [pid, *(below for child in children(pid) for below in tree(child))]


def pss_bytes(pids: Iterable[int]) -> int:
    """Proportional set size: memory that is shared with others is divided equally."""
    return sum(1024 * _kib(pid, "Pss", "smaps_rollup") for pid in pids)


def anonymous_bytes(pids: Iterable[int]) -> int:
    """Return the part of Pss that no file has: others that start and end do not change it."""
    return sum(1024 * _kib(pid, "Pss_Anon", "smaps_rollup") for pid in pids)


def memory_bytes(pid: int, name: str) -> int:
    """Resident memory now (`VmRSS`), or the greatest so far (`VmHWM`)."""
    return 1024 * _kib(pid, name, "status")


def descriptors(pid: int) -> int:
    """Count the open file descriptors of a process."""
    return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208  # counts only


def threads(pid: int) -> int:
    """Count the threads of a process."""
    return len(os.listdir(f"/proc/{pid}/task"))  # noqa: PTH208  # the same


def load_average() -> float:
    """Load average of the last minute."""
    return os.getloadavg()[0]


def _kib(pid: int, name: str, file: str) -> int:
    lines = Path(f"/proc/{pid}/{file}").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def _stat(pid: int) -> list[str]:
    # The second field is the program's name in parentheses, which may have any character.
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def _parent(entry: Path) -> int | None:
    try:
        return int(_stat(int(entry.name))[1])
    except OSError:  # it has ended meanwhile
        return None
