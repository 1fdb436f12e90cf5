"""Ctrl-C, SIGTERM and a closed terminal, as one exception that lets every `with` block clean up."""

import signal
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class InterruptedDemo(BaseException):
    """A signal came. Like KeyboardInterrupt it is not an Exception, so no handler of errors catches it.

    `code` is the exit code to end with.
    """

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def listen() -> None:
    """Raise :class:`InterruptedDemo` in the main thread when a signal comes."""
    for number in SIGNALS:
        signal.signal(number, _interrupt)


def interrupt_behind(error: BaseException | None) -> InterruptedDemo | None:
    """The signal that led to an error, for example when the clean-up of half-started programs failed."""
    while error is not None and not isinstance(error, InterruptedDemo):
        error = error.__context__
    return error


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    for each in SIGNALS:
        # Only once: a second signal must not interrupt the clean-up.
        signal.signal(each, signal.SIG_IGN)
    raise InterruptedDemo(128 + number)
