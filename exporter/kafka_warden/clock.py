"""The clock that the poller, the cycle and the watchdog take as an argument. A test passes one that it sets."""

import time
from typing import Final, Protocol


class Clock(Protocol):
    """The two times of the module `time`."""

    def monotonic(self) -> float:
        """Return seconds that never go back."""

    def time(self) -> float:
        """Return Unix time, which goes back when somebody sets the clock."""


SYSTEM: Final[Clock] = time
"""The clocks of the operating system."""
