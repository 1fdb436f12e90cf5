"""When to poll: APScheduler's interval, and a watchdog on the monotonic clock.

APScheduler uses the wall clock: set back by an hour, it sleeps for an hour. The watchdog starts a poll when none has
started for two intervals.
"""

import datetime as dt
import threading
from collections.abc import Callable
from typing import Any, Final

import structlog
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from kafka_warden.clock import Clock, SystemClock
from kafka_warden.web.health import Health

log = structlog.get_logger(__name__)

LATE: Final = 2
"""Intervals without the start of a poll after which the watchdog starts one."""

DEAD: Final = 10
"""Intervals without the end of a poll, and at least a minute, after which the process should be restarted."""

LEAST_DEAD: Final = 60.0


class Timer:
    """Calls `poll` every interval, one call at a time, and `expire` twice per interval."""

    def __init__(
        self, poll: Callable[[], None], expire: Callable[[], None], interval: float, clock: Clock | None = None
    ) -> None:
        self._poll = poll
        self._expire = expire
        self._interval = interval
        self._clock = clock or SystemClock()
        self._started = self._ended = self._clock.monotonic()
        self._stopping = threading.Event()
        self._running = threading.Lock()
        self._scheduler: Any = BackgroundScheduler(
            executors={"default": ThreadPoolExecutor(1)},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
            timezone=dt.UTC,
        )
        self._watchdog = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        """Start the first poll at once."""
        self._scheduler.add_job(
            self._once, "interval", seconds=self._interval, id="poll", next_run_time=self._wall_time()
        )
        self._scheduler.start()
        self._watchdog.start()

    def stop(self) -> None:
        """Start no further poll."""
        self._stopping.set()
        self._scheduler.shutdown(wait=False)

    def join(self) -> None:
        """Wait for the poll that is running."""
        with self._running:
            pass

    def health(self) -> Health:
        """Return whether polls still end."""
        silent = self._clock.monotonic() - self._ended
        if silent > max(DEAD * self._interval, LEAST_DEAD):
            return Health(healthy=False, reasons=(f"no poll has ended for {silent:.0f} s",))
        return Health()

    def _once(self) -> None:
        with self._running:
            if self._stopping.is_set():
                return
            self._started = self._clock.monotonic()
            self._poll()
            self._ended = self._clock.monotonic()

    def _watch(self) -> None:
        while not self._stopping.wait(self._interval / 2):
            for task in (self._expire, self._start_late_poll):
                try:
                    task()
                except Exception:
                    log.exception("old numbers were not removed, or no poll started; this is a bug, please report it")

    def _start_late_poll(self) -> None:
        if self._clock.monotonic() - self._started > LATE * self._interval and not self._running.locked():
            log.warning("no poll has started for two intervals; was the clock set back? Starting one now")
            self._scheduler.modify_job("poll", next_run_time=self._wall_time())

    def _wall_time(self) -> dt.datetime:
        return dt.datetime.fromtimestamp(self._clock.time(), dt.UTC)
