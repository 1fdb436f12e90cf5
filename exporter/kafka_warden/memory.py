"""Free memory, which glibc keeps. With another libc nothing is done."""

import ctypes
import gc
import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

_libc: Final = ctypes.CDLL(None)

_M_ARENA_MAX: Final = -8
"""Parameter of mallopt. An arena for each thread takes a third more memory: 200 MB instead of 150 for 25,000
partitions. The threads wait for Python's lock anyway."""

_GROWTH: Final = 4 << 20
"""Bytes of growth after which free memory is returned. Small clusters do not grow so much from poll to poll. For
10,005 partitions it takes 1.3 ms, and memory stays at 84 MB instead of 93 to 105."""

_COLLECT_SECONDS: Final = 60.0
"""Between two collections. A connection that is closed leaves cycles of references, some 20 kB, and with the threshold
of `tune_interpreter` Python would not look for them for days. It takes 3 ms, without the objects that are there at the
start."""


def use_one_arena() -> None:
    """Let all threads share one arena, those of pyarrow too. Call it before pyarrow is imported."""
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(_M_ARENA_MAX, 1)
        os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"


class FreeMemory:
    """Returns free memory to the system when the process has grown: 340 MB instead of 680 for 200,000 partitions."""

    def __init__(self) -> None:
        self._least = 0
        self._collected = -math.inf

    def release(self, now: float) -> None:
        """Return it, if it is likely to be much and can be known: to read it takes a descriptor.

        `now`: monotonic seconds. Once a minute what only cycles of references keep becomes free before.
        """
        if now >= self._collected + _COLLECT_SECONDS:
            self._collected = now
            gc.collect()
        if not hasattr(_libc, "malloc_trim"):
            return
        with suppress(OSError):
            resident = _resident()
            if resident > self._least + _GROWTH:
                _libc.malloc_trim(0)
                resident = self._least = _resident()
            self._least = min(self._least, resident)


def _resident() -> int:
    return os.sysconf("SC_PAGE_SIZE") * int(Path("/proc/self/statm").read_text("ascii").split()[1])
