"""The command `run`: connects configuration, poller, cycle, history and web server."""

import faulthandler
import gc
import logging
import os
import queue
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, NoReturn

import structlog

from kafka_warden.config import Config
from kafka_warden.cycle import Cycle
from kafka_warden.lifecycle import (
    AT_START,
    STOP_WITHIN,
    HealthCheck,
    Signals,
    notify,
    raise_descriptor_limit,
    use_one_arena,
)
from kafka_warden.log import configure
from kafka_warden.parts import build, figures, make_history, make_jmx, make_poller, poller_settings
from kafka_warden.reload import Reloader
from kafka_warden.settings.secrets import FileWatch
from kafka_warden.sources.metadata import MOST_BROKERS
from kafka_warden.state import StateFile
from kafka_warden.timer import Timer
from kafka_warden.web.server import WebServer, WebSettings

log = structlog.get_logger(__name__)

SWITCH_INTERVAL: Final = 0.0005
"""Seconds after which a computing thread lets others run. A scrape beside one takes 8 ms; by default 32 ms."""

WATCH_SECONDS: Final = 1.0
"""Seconds between two checks of the health."""

UNHEALTHY_SECONDS: Final = 30.0
"""Seconds without health after which the process ends: probes and people can see the reason before."""

GC_THRESHOLD: Final = 50_000
"""New objects until the next garbage collection. A reply has one object per partition and no cycles: with the
default of 700, collections took a third of a poll's CPU, and delayed scrapes by 39 ms each."""

POLL_WITHIN: Final = 1.0
"""Seconds for the last poll, which its closed connections end."""

SPARE_SECONDS: Final = 0.5
"""Part of `STOP_WITHIN` that the parts of the stop leave."""

HISTORY_WITHIN: Final = 2.0
"""Seconds in which history may write its rows."""


def run(config: Config, load: Callable[[], Config], file: FileWatch, signals: Signals) -> NoReturn:
    """Run until SIGTERM or SIGINT, and end the process. `load` reads the configuration again; `file` has it.

    Raises:
        ConfigError: the web server cannot listen.
    """
    configure(config.log.level, config.log.format)
    tune_interpreter()
    raise_descriptor_limit()
    threading.excepthook = _log_failure
    exporter = Exporter(config, load, file, signals)
    exporter.start()
    try:
        code = exporter.supervise()
    except BaseException:
        log.exception("the process ends; this is a bug, please report it")
        code = 1
    exporter.stop(code)
    logging.shutdown()
    # The interpreter would wait for threads and free all memory, which took 10 s on a busy machine.
    os._exit(code)


class Exporter:
    """Everything that runs."""

    def __init__(self, config: Config, load: Callable[[], Config], file: FileWatch, signals: Signals) -> None:
        self._file = file
        self._signals = signals
        self._poller = make_poller(
            config,
            # A broker that died is not fenced yet then: it was no controlled shutdown.
            lost=lambda: self._timer.hasten(),  # noqa: PLW0108  # it is made below
            # Two instances begin with different brokers: one of them may have lost its controllers.
            turn=secrets.randbelow(MOST_BROKERS),
        )
        self._history = make_history(config)
        state = StateFile(config.state.path)
        parameters, topics = config.to_parameters(), config.topics
        self._cycle = Cycle(
            self._poller,
            parameters,
            build(),
            state,
            self._history,
            shows_topic=topics.matches,
            uncounted=topics.is_uncounted,
        )
        self._timer = Timer(self._cycle.once, self._cycle.expire, config.poll.interval)
        self._reloader = Reloader(config, load, self._put_in_force, self._timer.before_next)
        self._health = HealthCheck(
            lambda: self._timer.late(self._cycle.interval),
            self._cycle.late,
            lambda: self._server.late(),  # noqa: PLW0108  # it is made below
            notes=(lambda: self._reloader.problem, lambda: state.problem),
        )
        where = config.web
        web = WebSettings(where.listen, where.config_file, where.hosts, version=build().version)
        self._server = WebServer(web, self._cycle.holder, health=self._health)
        self._cycle.figures = lambda: figures(self._reloader, self._server)

    def start(self) -> None:
        """Start all threads.

        Raises:
            ConfigError: the web server cannot listen.
        """
        config = self._reloader.config
        for name in config.not_in_effect():
            log.warning("this setting has no effect", setting=name)
        self._signals.save = partial(self._cycle.save, STOP_WITHIN)
        port = self._server.start()
        log.info("listening", host=config.web.listen.host, port=port)
        of_history = self._history.start() if self._history is not None else ()
        self._timer.start()
        self._health.started = (*AT_START, *of_history)
        notify("READY=1")

    def supervise(self) -> int:
        """Handle signals and watch the health; return the exit code when the process is to end.

        A part that ended does not come back, so a process that stays unhealthy ends and must be restarted.
        """
        healthy_at, written = time.monotonic(), False
        while True:
            received = None
            with suppress(queue.Empty):
                received = self._signals.inbox.get(timeout=WATCH_SECONDS)
            if received not in (None, signal.SIGHUP):
                return 0
            # Without a signal, a file that is being written is read once it stays the same.
            before, written = written, self._file.changed()
            if received is not None or (before and not written):
                self._reloader.start()
                self._server.current.reread = True
                written = False
            elif not written and self._reloader.due():
                self._reloader.start(again=True)
            health, failure = self._health(), self._server.failure
            if failure is not None:
                log.error("the web server ended; the process ends and must be restarted", error=str(failure))
                return 1
            if health.healthy:
                healthy_at = time.monotonic()
                notify("WATCHDOG=1")
            elif time.monotonic() - healthy_at > UNHEALTHY_SECONDS:
                self._signals.end(1)  # first: a log that is not read would keep the process
                log.error("not healthy; the process ends and must be restarted", reasons=health.reasons)
                faulthandler.dump_traceback()
                return 1

    def stop(self, code: int) -> None:
        """Stop in order, within a time limit: a hung broker or JVM must not delay the end of the process."""
        until = self._signals.end(code) - SPARE_SECONDS

        def left(most: float) -> float:
            return max(0.0, min(most, until - time.monotonic()))

        notify("STOPPING=1")
        log.info("stopping")
        self._timer.stop()
        # This ends the poll. To end the JMX child takes longer.
        closing = threading.Thread(target=self._poller.close, name="close", daemon=True)
        with suppress(RuntimeError):  # no thread can start
            closing.start()
        self._timer.join(left(POLL_WITHIN))
        self._cycle.save()
        if self._history is not None:
            self._history.stop(left(HISTORY_WITHIN))
        self._server.stop(left(1.0))
        if closing.is_alive():
            closing.join(left(2.0))
        self._signals.join(left(STOP_WITHIN))  # the disk may be slow
        log.info("stopped")

    def _put_in_force(self, config: Config) -> None:
        """Use another configuration. Call it between two polls."""
        old, settings = self._reloader.config, poller_settings(config)
        # First what can fail. The JVM reads its TLS files once.
        same = config.jmx == old.jmx and config.jmx.tls.files() is None
        jmx = self._poller.jmx if same else make_jmx(config)
        self._timer.reschedule(config.poll.interval)
        configure(config.log.level, config.log.format)
        self._poller.configure(settings, config.kafka.settings if config.kafka is not old.kafka else None, jmx)
        self._cycle.configure(config.to_parameters(), config.topics.matches, config.topics.is_uncounted)
        if self._history is not None:
            self._history.configure(config.history.interval)
        for name in config.not_in_effect():
            log.warning("this setting has no effect", setting=name)


def _log_failure(failed: threading.ExceptHookArgs) -> None:
    """Log the exception that ended a thread, without secrets, which the interpreter would print."""
    name = failed.thread.name if failed.thread is not None else "unknown"
    log.error("a thread ended; this is a bug, please report it", thread=name, exc_info=failed.exc_value)


def tune_interpreter() -> None:
    """Let scrapes run while a poll computes, keep its threads from holding free memory apart, and collections short."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.set_threshold(GC_THRESHOLD)
    gc.freeze()
    use_one_arena()
