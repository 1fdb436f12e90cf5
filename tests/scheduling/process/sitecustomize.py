"""Runs inside a sidecar that a test started, and does to it what the files in the folder ORDERS ask for.

`thread NAME` raises SystemExit in a thread until it has ended, `task NAME` cancels a task, `full` lets no further
thread start, `stderr` lets every write to stderr wait for ever, `disk` lets each flush to the disk take 2 s,
`set MODULE.NAME NUMBER` replaces a constant, `atexit` lets the end of the interpreter write a line, `list` does
nothing. The answer has the names of all threads and tasks. A host named `hang` never resolves.
"""

import asyncio
import atexit
import ctypes
import json
import os
import socket
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

_LOOK_SECONDS = 0.1
_AGAIN_SECONDS = 0.2
_FLUSH_SECONDS = 2.0
_OWN = "orders"
_resolve = socket.getaddrinfo
_make = asyncio.BaseEventLoop.__init__
_loops = weakref.WeakSet[asyncio.BaseEventLoop]()


def _hang(host: Any, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0) -> Any:  # noqa: A002  # as in socket
    if host == "hang" and not flags & socket.AI_NUMERICHOST:
        threading.Event().wait()
    return _resolve(host, port, family, type, proto, flags)


def _note(loop: asyncio.BaseEventLoop) -> None:
    # gc.get_objects() finds loops and tasks, too. But a tuple that another thread is making must not be seen.
    _make(loop)
    _loops.add(loop)


def _tasks() -> list["asyncio.Task[Any]"]:
    return [task for loop in list(_loops) for task in asyncio.all_tasks(loop)]


def _name(task: "asyncio.Task[Any]") -> str:
    return str(getattr(task.get_coro(), "__qualname__", task))


def _raise_in(name: str) -> None:
    """Raise in a thread until it has ended: an executor keeps what a poll raises, a destructor what reaches it."""
    while threads := [thread for thread in threading.enumerate() if thread.name == name]:
        for thread in threads:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))
        # An exception reaches a thread when it runs. A loop without a poll does not.
        for loop in list(_loops):
            if not loop.is_closed():
                loop.call_soon_threadsafe(int)
        if name == threading.main_thread().name:
            return  # it stops the process in order
        time.sleep(_AGAIN_SECONDS)


def _block_stderr() -> None:
    _, full = os.pipe()
    os.set_blocking(full, False)
    try:
        while True:
            os.write(full, bytes(4096))
    except BlockingIOError:
        os.set_blocking(full, True)
    os.dup2(full, 2)


def _fail(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


_ORDERS: dict[str, Callable[[], object]] = {
    "disk": lambda: setattr(os, "fsync", lambda _: time.sleep(_FLUSH_SECONDS)),
    "stderr": _block_stderr,
    "full": lambda: setattr(threading.Thread, "start", _fail),
    "atexit": lambda: atexit.register(os.write, 2, b"atexit\n"),
}


def _obey(folder: Path) -> None:
    while True:
        time.sleep(_LOOK_SECONDS)
        for file in folder.glob("*.order"):
            what, _, name = file.read_text().partition(" ")
            if what == "thread":
                threading.Thread(target=_raise_in, args=(name,), name=_OWN, daemon=True).start()
            for task in _tasks() if what == "task" else ():
                if _name(task) == name:
                    task.get_loop().call_soon_threadsafe(task.cancel)
            if what in _ORDERS:
                _ORDERS[what]()
            if what == "set":
                constant, _, number = name.partition(" ")
                module, _, constant = constant.rpartition(".")
                setattr(sys.modules[module], constant, float(number))
            threads = [thread.name for thread in threading.enumerate() if thread.name != _OWN]
            file.with_suffix(".json").write_text(json.dumps({"threads": threads, "tasks": list(map(_name, _tasks()))}))
            file.rename(file.with_suffix(".done"))


if "ORDERS" in os.environ:
    socket.getaddrinfo = _hang
    asyncio.BaseEventLoop.__init__ = _note  # type: ignore[assignment]  # to know all loops
    threading.Thread(target=_obey, args=(Path(os.environ["ORDERS"]),), name=_OWN, daemon=True).start()
