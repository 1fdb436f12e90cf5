"""Another time of day for this process and all that it starts, by the library of `clock.c`. It needs a C compiler."""

import math
import os
import struct
import subprocess
import sys
import time
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

_SOURCE: Final = Path(__file__).with_suffix(".c")
_OFFSET: Final = "CLOCK_OFFSET"
_SECONDS: Final = struct.Struct("=q")
"""Content of the file that `CLOCK_OFFSET` names."""


def start(folder: Path) -> None:
    """Start this command once more with the library, which is made in a folder. The time is right until `set_to`."""
    if _OFFSET in os.environ:
        return
    library = folder / "clock.so"
    # Another run may have the old one mapped.
    made = library.with_suffix(f".{os.getpid()}")
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", made, _SOURCE], check=True)
    made.replace(library)
    # It stays open, and is gone with this process.
    offset = os.memfd_create("offset", 0)
    os.write(offset, _SECONDS.pack(0))
    variables = {"LD_PRELOAD": str(library), _OFFSET: f"/proc/{os.getpid()}/fd/{offset}"}
    # The same command, as the user gave it.
    os.execve(sys.executable, sys.orig_argv, {**os.environ, **variables})  # noqa: S606


def set_to(day: date) -> None:
    """Go on to a UTC day, unless it has begun."""
    if datetime.now(UTC).date() == day:
        return
    missing = datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() - time.time()
    with Path(os.environ[_OFFSET]).open("r+b", buffering=0) as file:
        (before,) = _SECONDS.unpack(file.read())
        file.seek(0)
        # In one write, since all processes have mapped the file.
        file.write(_SECONDS.pack(before + math.ceil(missing)))
