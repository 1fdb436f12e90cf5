"""Programs that a test runs to their end, and processes that a program left."""

import os
import subprocess
from pathlib import Path


def run(*command: object, given: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program, with `given` on its standard input, and keep what it printed."""
    return subprocess.run(
        [str(part) for part in command], input=given, capture_output=True, text=True, timeout=120, check=False
    )


def processes_with(mark: str) -> dict[int, str]:
    """Command lines by id of the processes that have `mark` (`NAME=value`) in their environment, except this one."""
    found = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if int(directory.name) != os.getpid() and mark.encode() in (directory / "environ").read_bytes().split(
                b"\0"
            ):
                found[int(directory.name)] = (directory / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found
