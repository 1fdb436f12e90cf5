"""`make demo-look` as a process, and what it prints."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from sandbox import wait_for
from sandbox.demo_folder import FOLDER_VARIABLE
from tests.support.processes import processes_with

ROOT: Final = Path(__file__).parents[2]
MARKER: Final = "DEMO_LOOK_UNDER_TEST"
LAST_LINE: Final = "Ctrl-C ends it"


class Looking:
    """The command as a process, and what it has printed so far."""

    def __init__(self, folder: Path, scratch: Path, *arguments: str, path: str = "") -> None:
        scratch.mkdir(exist_ok=True)
        self.folder = folder
        self.scratch = scratch
        self.mark = f"{MARKER}={scratch}"
        self.printed = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sandbox.demo_look", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
            env={
                **os.environ,
                MARKER: str(scratch),
                FOLDER_VARIABLE: str(folder),
                "TMPDIR": str(scratch),
                "PATH": f"{path}{os.pathsep}{os.environ['PATH']}" if path else os.environ["PATH"],
            },
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.end()

    def until(self, text: str) -> None:
        """Read until a line has this, or to the end."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.printed += line
            if text in line:
                return
        pytest.fail(f"it ended without {text!r}: {self.printed}")

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and return the exit code, once it has come."""
        self.process.send_signal(number)
        self.printed += self.process.communicate(timeout=60)[0]
        return self.process.returncode

    def require_end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal: exit code 0, no process and no temporary file left."""
        assert self.end(number) == 0, self.printed
        wait_for(lambda: not processes_with(self.mark), 20, "no process is left")
        assert list(self.scratch.iterdir()) == []

    @property
    def prometheus(self) -> str:
        found = re.search(r"^Prometheus +(\S+)$", self.printed, re.MULTILINE)
        assert found
        return found[1]

    def ask(self, path: str, **asked: object) -> Any:
        return json.loads(get(f"{self.prometheus}/api/v1/{path}?{urlencode(asked)}"))["data"]

    def links(self, page: str) -> list[tuple[str, dict[str, str]]]:
        """Path and query of each printed address of pages like that."""
        found = [urlsplit(address) for address in re.findall(rf"  (http\S+{page}\S+)$", self.printed, re.MULTILINE)]
        return [(each.path, {name: value for name, (value,) in parse_qs(each.query).items()}) for each in found]


def get(address: str) -> bytes:
    """What is at an address of this machine."""
    with urllib.request.urlopen(address, timeout=30) as answer:  # noqa: S310  it begins with http:
        body: bytes = answer.read()
        return body
