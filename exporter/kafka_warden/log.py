"""Logs: structlog on stderr, one line per event. The libraries log through it too.

No secret is logged: a `Secret` prints redacted, the value of a key that names a secret is replaced, and so is every
secret in memory, in any text. botocore logs at DEBUG what it signs: libraries log from WARNING on.
"""

import io
import logging
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TextIO

import structlog
from structlog.typing import EventDict, Processor

from kafka_warden.formatting import visible
from kafka_warden.settings.secrets import REDACTED, Secret, scrub

FORMATS: Final = ("logfmt", "json", "console")

LIBRARIES: Final = {
    **dict.fromkeys(("kafka", "uvicorn", "asyncio", "apscheduler", "boto3", "urllib3"), logging.WARNING),
    # They warn at every attempt. The cycle logs late polls, and the poller a login that fails.
    **dict.fromkeys(("apscheduler.scheduler", "botocore"), logging.ERROR),
}
"""The level from which each library logs."""
_SECRET_KEY: Final = re.compile(r"passw|secret|token|credential|authorization|jaas|private.?key|pem$", re.IGNORECASE)
_INNOCENT_KEY: Final = re.compile(r"(file|path|location|tokens|_per_second|_seconds)$", re.IGNORECASE)
"""`password_file` is a path, and `controller_mutation_tokens` is a number."""
_LONGEST_LINE: Final = 16_384
_DEEPEST: Final = 6


def configure(level: str = "info", form: str = "logfmt") -> None:
    """Set up logging for the whole process. `form`: one of `FORMATS`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_annotations(),
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                redact,
                _renderer(form),
            ],
        ),
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name, least in LIBRARIES.items():
        logging.getLogger(name).setLevel(max(least, root.level))
    logging.captureWarnings(capture=True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_annotations(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def _annotations() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
    ]


def _renderer(form: str) -> Processor:
    if form == "console":
        # Not structlog's own traceback, which shows local variables: they may be secret.
        plain = structlog.dev.plain_traceback
        console = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)
        # It escapes line feeds in values, but not in the event.
        return lambda log, name, event: console(log, name, {**event, "event": str(event["event"]).replace("\n", "\\n")})
    if form == "json":
        return structlog.processors.JSONRenderer(default=_text)
    order = ["time", "level", "logger", "event"]
    return structlog.processors.LogfmtRenderer(key_order=order, drop_missing=True, bool_as_flag=False)


def redact(_: Any, __: str, event: EventDict) -> EventDict:
    """Replace secrets by key and by value, in the event and in nested values; a structlog processor."""
    return {_key(key): REDACTED if _names_secret(key, value) else _clean(value) for key, value in event.items()}


def _key(key: Any) -> str:
    # logfmt cannot write a key with white space.
    return "_".join(scrub(str(key)).split()) or "_"


def _names_secret(key: Any, value: Any) -> bool:
    if isinstance(value, bool | int | float) or value is None:
        return False
    return bool(_SECRET_KEY.search(str(key))) and not _INNOCENT_KEY.search(str(key))


def _clean(value: Any, depth: int = 0) -> Any:
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, Secret):
        return REDACTED
    if isinstance(value, Mapping) and depth < _DEEPEST:
        return {
            _key(key): REDACTED if _names_secret(key, item) else _clean(item, depth + 1) for key, item in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset) and depth < _DEEPEST:
        return [_clean(item, depth + 1) for item in value]
    return _text(value)


def _text(value: Any) -> str:
    text = scrub(str(value))
    # A carriage return or an escape sequence would forge lines and colours on a terminal.
    text = "".join(char if char.isprintable() or char in "\n\t" else repr(char)[1:-1] for char in text)
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}..."


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
