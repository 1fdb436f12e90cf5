"""Stops one thread of a process while the others run: the kernel traces single threads."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
ANY_THREAD: Final = 0x4000_0000
"""`__WALL` of waitpid."""


@contextmanager
def stopped_thread(pid: int, name: str) -> Iterator[None]:
    """Stop the one thread whose name begins like this until the block ends; enter and leave it on the same thread.

    Raises:
        OSError: No permission to trace, or the thread has ended.
    """
    tasks = Path(f"/proc/{pid}/task").iterdir()
    (thread,) = (int(task.name) for task in tasks if (task / "comm").read_text().startswith(name))
    _ptrace(PTRACE_SEIZE, thread)
    _ptrace(PTRACE_INTERRUPT, thread)
    os.waitpid(thread, ANY_THREAD)
    try:
        yield
    finally:
        _ptrace(PTRACE_DETACH, thread)


def _ptrace(request: int, thread: int) -> None:
    call = ctypes.CDLL(None, use_errno=True).ptrace
    call.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    call.restype = ctypes.c_long
    if call(request, thread, None, None) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x} of thread {thread}")
