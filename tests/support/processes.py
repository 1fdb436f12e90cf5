"""Programs that a test runs to their end, and processes that a program left."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def run(
    *command: object,
    given: str | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = 280,
) -> subprocess.CompletedProcess[str]:
    """Run a program, with `given` on its standard input, and keep what it printed."""
    return subprocess.run(
        [str(part) for part in command],
        input=given,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        cwd=cwd,
        env=env,
    )


def checked(*command: object, **how: Any) -> str:
    """Run a program that must end with 0, with the arguments of `run`; return its standard output."""
    done = run(*command, **how)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


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
