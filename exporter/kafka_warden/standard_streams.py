"""Output of the commands. A reader that has enough, such as `head`, is no failure."""

import io
import os
import sys
from pathlib import Path
from typing import TextIO


def write(text: str) -> None:
    """Write the result of a command to standard output, with `?` for characters that it cannot encode."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    send(text, sys.stdout)


def complain(text: str) -> None:
    """Write a line to standard error."""
    send(f"{text}\n", sys.stderr)


def flush() -> None:
    """Write what is still in buffers: at its end the interpreter would report that the reader is gone."""
    for stream in (sys.stdout, sys.stderr):
        send("", stream)


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
