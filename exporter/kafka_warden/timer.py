"""When to poll: APScheduler's interval, and a watchdog on the monotonic clock beside it.

APScheduler lives on the wall clock: set back an hour, it sleeps the hour. The watchdog notices that no turn began for
two intervals and calls for one.
"""

import datetime as dt
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import structlog
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from kafka_warden.web.health import Health

log = structlog.get_logger(__name__)

LATE: Final = 2
"""Intervals without the beginning of a turn after which the watchdog calls for one."""

DEAD: Final = 10
"""Intervals without the end of a turn, and at least a minute, after which a restart is the right thing."""

LEAST_DEAD: Final = 60.0


class Timer:
    """Calls `turn` every interval, one at a time, and `expire` between turns."""

    def __init__(self, turn: Callable[[], None], expire: Callable[[], None], interval: float) -> None:
        self._turn = turn
        self._expire = expire
        self._interval = interval
        self._began = self._ended = time.monotonic()
        self._stopping = threading.Event()
        self._running = threading.Lock()
        self._scheduler: Any = BackgroundScheduler(
            executors={"default": ThreadPoolExecutor(1)},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
            timezone=dt.UTC,
        )
        self._watchdog = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        """Begin with a turn at once."""
        self._scheduler.add_job(
            self._once, "interval", seconds=self._interval, id="poll", next_run_time=dt.datetime.now(dt.UTC)
        )
        self._scheduler.start()
        self._watchdog.start()

    def stop(self) -> None:
        """Begin no further turn."""
        self._stopping.set()
        self._scheduler.shutdown(wait=False)

    def join(self) -> None:
        """Wait for the turn that is under way."""
        with self._running:
            pass

    def health(self) -> Health:
        """Tell whether turns still come to their end."""
        silent = time.monotonic() - self._ended
        if silent > max(DEAD * self._interval, LEAST_DEAD):
            return Health(healthy=False, reasons=(f"no poll came to its end for {silent:.0f} s",))
        return Health()

    def _once(self) -> None:
        with self._running:
            if self._stopping.is_set():
                return
            self._began = time.monotonic()
            self._turn()
            self._ended = time.monotonic()

    def _watch(self) -> None:
        while not self._stopping.wait(self._interval / 2):
            try:
                self._expire()
            except Exception:
                log.exception("the page could not be renewed; this is a bug, please report it")
            if time.monotonic() - self._began > LATE * self._interval and not self._running.locked():
                log.warning("no poll began for two intervals: was the clock set back? Calling for one")
                self._scheduler.modify_job("poll", next_run_time=dt.datetime.now(dt.UTC))
