"""The command `run`: connects configuration, poller, cycle, history and web server."""

import faulthandler
import gc
import json
import logging
import os
import platform
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from typing import Final, NoReturn

import structlog

from kafka_warden.catalogue import Build, Figures
from kafka_warden.clients.jmx.session import JmxSession
from kafka_warden.clients.kafka.librdkafka import librdkafka
from kafka_warden.config import Config
from kafka_warden.cycle import Cycle
from kafka_warden.history.recorder import Recorder, Sink
from kafka_warden.lifecycle import Signals, notify
from kafka_warden.log import configure
from kafka_warden.memory import use_one_arena
from kafka_warden.model import ControllerWindow
from kafka_warden.poller import Poller, PollerSettings
from kafka_warden.poller.beans import JmxPlan, JmxQuestions
from kafka_warden.reload import Reloader
from kafka_warden.settings.certificates import expires_at
from kafka_warden.settings.secrets import FileWatch
from kafka_warden.sources.jmx import QUESTIONS
from kafka_warden.state import StateFile
from kafka_warden.timer import Timer
from kafka_warden.web.health import HealthCheck
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


def run(config: Config, load: Callable[[], Config], file: FileWatch) -> NoReturn:
    """Run until SIGTERM or SIGINT, and end the process. `load` reads the configuration again; `file` has it.

    Raises:
        ConfigError: the web server cannot listen.
    """
    configure(config.log.level, config.log.format)
    tune_interpreter()
    signals = Signals()
    threading.excepthook = _log_failure
    sidecar = Sidecar(config, load, file, signals)
    sidecar.start()
    try:
        code = sidecar.supervise()
    except BaseException:
        log.exception("the process ends; this is a bug, please report it")
        code = 1
    sidecar.stop(code)
    logging.shutdown()
    # The interpreter would wait for threads and free all memory, which took 10 s on a busy machine.
    os._exit(code)


class Sidecar:
    """Everything that runs."""

    def __init__(self, config: Config, load: Callable[[], Config], file: FileWatch, signals: Signals) -> None:
        self._file = file
        self._signals = signals
        self._poller = Poller(poller_settings(config), config.kafka.settings, make_jmx(config))
        self._history = make_history(config)
        state = StateFile(config.state.path)
        self._cycle = Cycle(self._poller, config.to_parameters(), config.topics.matches, build(), state, self._history)
        self._timer = Timer(self._cycle.once, self._cycle.expire, config.poll.interval)
        self._reloader = Reloader(config, load, self._put_in_force, self._timer.before_next)
        self._health = HealthCheck(lambda: self._timer.late(self._cycle.interval), lambda: self._reloader.problem)
        web = WebSettings(listen=config.web.listen, config_file=config.web.config_file, version=build().version)
        self._server = WebServer(web, self._cycle.holder, health=self._health)
        self._cycle.figures = lambda: figures(self._reloader, self._poller, self._server)

    def start(self) -> None:
        """Start all threads.

        Raises:
            ConfigError: the web server cannot listen.
        """
        config = self._reloader.config
        for name in config.not_in_effect():
            log.warning("this setting has no effect", setting=name)
        self._signals.save = self._cycle.save
        port = self._server.start()
        log.info("listening", host=config.web.listen.host, port=port)
        if self._history is not None:
            self._history.start()
        self._timer.start()
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
                written = False
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
        closing.start()
        self._timer.join(left(POLL_WITHIN))
        self._cycle.save()
        if self._history is not None:
            self._history.stop(left(HISTORY_WITHIN))
        self._server.stop(left(1.0))
        closing.join(left(2.0))
        log.info("stopped")

    def _put_in_force(self, config: Config) -> None:
        """Use another configuration. Call it between two polls."""
        old, settings, parameters = self._reloader.config, poller_settings(config), config.to_parameters()
        # First what can fail. The JVM reads its TLS files once.
        same = config.jmx == old.jmx and config.jmx.tls.files() is None
        jmx = self._poller.jmx if same else make_jmx(config)
        self._timer.reschedule(config.poll.interval)
        configure(config.log.level, config.log.format)
        self._poller.configure(settings, config.kafka.settings if config.kafka is not old.kafka else None, jmx)
        self._cycle.configure(parameters, config.topics.matches)
        if self._history is not None:
            self._history.configure(parameters, config.history.interval)
        for name in config.not_in_effect():
            log.warning("this setting has no effect", setting=name)


def _log_failure(failed: threading.ExceptHookArgs) -> None:
    """Log the exception that ended a thread, without secrets, which the interpreter would print."""
    name = failed.thread.name if failed.thread is not None else "unknown"
    log.error("a thread ended; this is a bug, please report it", thread=name, exc_info=failed.exc_value)


def tune_interpreter() -> None:
    """Let scrapes run while a poll computes, and keep its threads from holding free memory apart from each other."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.set_threshold(GC_THRESHOLD)
    use_one_arena()


def figures(reloader: Reloader, poller: Poller, server: WebServer) -> Figures:
    """Return what the parts count and when their certificates expire. Read for every page."""
    connections, current, config = server.connections, server.current, reloader.config
    tls = config.kafka.settings.tls
    return {
        "web_connections": {(): len(connections)},
        "web_connections_closed_total": {("evicted",): connections.evicted, ("timeout",): connections.reaped},
        "web_logins_refused_total": {("wrong",): server.checks.failed, ("overload",): server.checks.refused},
        "web_config_in_use": {(): current.problem is None if config.web.config_file is not None else None},
        "config_last_reload_successful": {(): reloader.problem is None},
        "config_last_reload_success_timestamp_seconds": {(): reloader.in_force_since},
        "certificate_expiry_timestamp_seconds": {
            **{(name,): at for name, at in current.expiry.items()},
            ("kafka_client",): expires_at(tls.files.certificate) if tls is not None else None,
            ("jmx_client",): expires_at(config.jmx.tls.cert_file),
        },
        "jmx_child_starts_total": {(): poller.jmx.child_starts if poller.jmx is not None else None},
    }


def poller_settings(config: Config) -> PollerSettings:
    """Return how often and how long to ask."""
    window = config.controllers.quota_window
    return PollerSettings(
        interval=config.poll.interval,
        deadline=config.poll.deadline,
        log_dirs=config.poll.log_dirs,
        controller_window=ControllerWindow(samples=1, seconds=window) if window is not None else None,
        controllers=config.controllers.bootstrap,
    )


def make_jmx(config: Config) -> JmxQuestions | None:
    """Make the JMX questions, if there is an address to ask. The JVM starts with the first poll."""
    jmx = config.jmx
    if not jmx.enabled:
        return None
    controllers = {
        str(controller.id) if controller.id is not None else str(controller.address): controller.address
        for controller in jmx.controllers
    }
    named = frozenset(address.host for address in config.kafka.settings.bootstrap)
    plan = JmxPlan(jmx.port, jmx.brokers, controllers, jmx.user, jmx.password, named)
    return JmxQuestions(plan, JmxSession(QUESTIONS, tls=jmx.tls.files()))


def make_history(config: Config) -> Recorder | None:
    """Make the recorder, if history is configured. Its libraries are loaded only then."""
    sinks: list[Sink] = []
    if (parquet := config.history.parquet).path is not None:
        from kafka_warden.history.parquet.sink import ParquetSettings, ParquetSink  # noqa: PLC0415  # brings pyarrow

        sinks.append(ParquetSink(ParquetSettings(parquet.path, parquet.roll, parquet.retention)))
    if config.history.kafka.topic is not None:
        from kafka_warden.history.kafka import KafkaSettings, KafkaSink  # noqa: PLC0415  # brings librdkafka

        def connect() -> dict[str, str]:
            return {"client.id": "kafka-warden", **librdkafka(config.kafka.properties, config.kafka.secrets)}

        sinks.append(KafkaSink(KafkaSettings(config.history.kafka.topic), connect))
    return Recorder(sinks, config.to_parameters(), config.history.interval) if sinks else None


def build() -> Build:
    """Return the version, and the commit if the program was installed from one."""
    try:
        installed = distribution("kafka-warden")
    except PackageNotFoundError:
        return Build("unknown", "unknown", platform.python_version())
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    revision = origin.get("vcs_info", {}).get("commit_id", "unknown")
    return Build(installed.version, revision, platform.python_version())
