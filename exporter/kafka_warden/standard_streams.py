"""Output of the commands. A reader that has enough, such as `head`, is no failure.

Parts of it come from other machines: no line has characters that a terminal would obey.
"""

import io
import os
import sys
from pathlib import Path
from typing import TextIO

from kafka_warden.formatting import visible


def write(text: str) -> None:
    """Write the result of a command to standard output, with `?` for characters that it cannot encode."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    send(_visible_lines(text), sys.stdout)


def complain(text: str) -> None:
    """Write lines to standard error."""
    send(f"{_visible_lines(text)}\n", sys.stderr)


def flush() -> None:
    """Write what is still in buffers: at its end the interpreter would report that the reader is gone."""
    for stream in (sys.stdout, sys.stderr):
        send("", stream)


def _visible_lines(text: str) -> str:
    return "\n".join(map(visible, text.split("\n")))


def send(text: str, stream: TextIO | None) -> None:
    """Write to a stream. If its reader is gone, what is in its buffer and all that follows goes nowhere."""
    if stream is None:  # it was closed before the start
        return
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())
