"""The real command on a real terminal: it leaves the terminal as it was, however it ends."""

import fcntl
import os
import re
import signal
import socket
import struct
import subprocess
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from sandbox import wait_for
from tests.support import status_rows
from tests.top.test_command import COMMAND
from tests.web.conftest import Served

WITHIN = 300.0
"""Seconds for each step: Textual takes 0.5 s to load, on a busy machine more."""
COLOUR = re.compile(rb"\x1b\[[\d;]*?\b(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])\b[\d;]*m")
"""Sets a colour other than the default one."""


@dataclass
class Terminal:
    """A pseudo-terminal with the command on it."""

    master: int
    slave: int
    process: subprocess.Popen[bytes]
    before: list[object]
    written: bytearray = field(default_factory=bytearray)

    def read(self) -> None:
        with suppress(OSError):
            while part := os.read(self.master, 1 << 16):
                self.written += part

    def shows(self, text: bytes) -> None:
        wait_for(lambda: text in self.written, WITHIN, f"{text!r} is shown")

    def ended(self) -> int:
        """Wait for the end, and check that the terminal is as it was: mode, screen, cursor, mouse and keys."""
        code = self.process.wait(WITHIN)
        assert termios.tcgetattr(self.slave) == self.before
        wait_for(lambda: self.written.rfind(b"\x1b[?1049l") > self.written.rfind(b"\x1b[?1049h"), WITHIN, "the screen")
        assert self.written.rfind(b"\x1b[?25h") > self.written.rfind(b"\x1b[?25l")
        for mode in (1000, 1003, 1006):
            assert b"\x1b[?%dh" % mode not in self.written, "the mouse stays the terminal's"
        return code


@pytest.fixture
def terminal(serve: Callable[..., Served]) -> Iterator[Callable[..., Terminal]]:
    served = serve()
    served.holder.page = status_rows.troubled()
    started: list[Terminal] = []

    def start(*arguments: str, columns: int = 80, **environment: str) -> Terminal:
        master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        before = termios.tcgetattr(slave)
        kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
        process = subprocess.Popen(
            [*COMMAND, "--url", f"http://127.0.0.1:{served.port}", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env={**kept, "TERM": "xterm-256color", **environment},
        )
        made = Terminal(master, slave, process, before)
        threading.Thread(target=made.read, daemon=True).start()
        started.append(made)
        return made

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()
        os.close(each.slave)
        os.close(each.master)


@pytest.mark.parametrize(
    ("keys", "number", "code"),
    [
        (b"q", None, 0),
        (b"\x03", None, 130),
        (b"", signal.SIGTERM, 143),
        (b"", signal.SIGHUP, 143),
        (b"/a\x03", None, 130),
    ],
    ids=str,
)
def test_the_terminal_is_as_before(
    terminal: Callable[..., Terminal], keys: bytes, number: signal.Signals | None, code: int
) -> None:
    running = terminal("--table", "moves")
    running.shows(b"orders-1")
    os.write(running.master, keys)
    if number is not None:
        running.process.send_signal(number)

    assert running.ended() == code


def test_ctrl_c_before_the_first_answer(terminal: Callable[..., Terminal]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        running = terminal("--url", f"http://127.0.0.1:{silent.getsockname()[1]}")
        running.shows(b"Reading")
        os.write(running.master, b"\x03")
        assert running.ended() == 130


def test_colours(terminal: Callable[..., Terminal]) -> None:
    for environment, expected in (({}, True), ({"NO_COLOR": "1"}, False)):
        running = terminal("--table", "moves", columns=120, **environment)
        running.shows(b"orders-0")
        os.write(running.master, b"\x1b[B")  # the line of the stuck move has the cursor at first
        os.write(running.master, b"?")
        running.shows(b"Table before")
        os.write(running.master, b"q")
        assert running.ended() == 0
        assert bool(COLOUR.search(running.written)) is expected
