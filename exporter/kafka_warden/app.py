"""The command `run`: connects configuration, poller, cycle, history and web server."""

import gc
import json
import os
import platform
import signal
import sys
import threading
from importlib.metadata import PackageNotFoundError, distribution
from typing import Final

import structlog

from kafka_warden.catalogue import Build
from kafka_warden.clients.jmx.session import JmxSession
from kafka_warden.clients.kafka.librdkafka import librdkafka
from kafka_warden.config import Config, JmxConfig
from kafka_warden.cycle import Cycle
from kafka_warden.history.recorder import Recorder, Sink
from kafka_warden.log import configure
from kafka_warden.model import ControllerWindow
from kafka_warden.poller import Poller, PollerSettings
from kafka_warden.poller.beans import JmxPlan, JmxQuestions
from kafka_warden.sources.jmx import QUESTIONS
from kafka_warden.state import StateFile
from kafka_warden.timer import Timer
from kafka_warden.web.server import WebServer, WebSettings

log = structlog.get_logger(__name__)

SWITCH_INTERVAL: Final = 0.0005
"""Seconds after which a computing thread lets others run. A scrape beside one takes 8 ms; by default 32 ms."""

WATCH_SECONDS: Final = 1.0
"""Seconds between two checks of the web server. If it ended, the process ends too."""

GC_THRESHOLD: Final = 50_000
"""New objects until the next garbage collection. A reply has one object per partition and no cycles: with the
default of 700, collections took a third of a poll's CPU, and delayed scrapes by 39 ms each."""

STOP_WITHIN: Final = 4.0
"""Seconds until the process ends itself while it stops: less than the time limits of Kubernetes and systemd."""

HISTORY_WITHIN: Final = 2.0
"""Part of these seconds in which history may write its rows."""


def run(config: Config) -> int:
    """Run until SIGTERM or SIGINT; return the exit code."""
    configure(config.log.level, config.log.format)
    tune_interpreter()
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    for name in config.not_in_effect():
        log.warning("this setting has no effect", setting=name)
    poller = make_poller(config)
    history = make_history(config)
    state = StateFile(config.state.path)
    cycle = Cycle(poller, config.to_parameters(), config.topics.matches, build(), state, history)
    timer = Timer(cycle.once, cycle.expire, config.poll.interval)
    web = WebSettings(listen=config.web.listen, config_file=config.web.config_file, version=build().version)
    server = WebServer(web, cycle.holder, health=timer.health)
    port = server.start()
    log.info("listening", host=config.web.listen.host, port=port)
    if history is not None:
        history.start()
    timer.start()
    while not stopping.wait(WATCH_SECONDS) and server.failure is None:
        pass
    if server.failure is not None:
        log.error("the web server ended; the process ends and must be restarted", error=str(server.failure))
    code = 0 if server.failure is None else 1
    _stop(timer, poller, cycle, history, server, code)
    return code


def tune_interpreter() -> None:
    """Let scrapes run while a poll computes."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.set_threshold(GC_THRESHOLD)


def make_poller(config: Config) -> Poller:
    """Make the poller that the configuration describes."""
    window = config.controllers.quota_window
    settings = PollerSettings(
        interval=config.poll.interval,
        deadline=config.poll.deadline,
        log_dirs=config.poll.log_dirs,
        controller_window=ControllerWindow(samples=1, seconds=window) if window is not None else None,
        controllers=config.controllers.bootstrap,
    )
    jmx = make_jmx(config.jmx) if config.jmx.enabled else None
    return Poller(settings, config.kafka.settings, jmx)


def make_jmx(config: JmxConfig) -> JmxQuestions:
    """Make the JMX questions. The JVM starts with the first poll."""
    controllers = {
        str(controller.id) if controller.id is not None else str(controller.address): controller.address
        for controller in config.controllers
    }
    plan = JmxPlan(config.port, config.brokers, controllers, config.user, config.password)
    return JmxQuestions(plan, JmxSession(QUESTIONS, tls=config.tls.files()))


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


def _stop(timer: Timer, poller: Poller, cycle: Cycle, history: Recorder | None, server: WebServer, code: int) -> None:
    """Stop in order, within a time limit: a hung broker or JVM must not delay the end of the process."""
    log.info("stopping")
    forced_end = threading.Timer(STOP_WITHIN, os._exit, (code,))
    forced_end.daemon = True
    forced_end.start()
    timer.stop()
    poller.close()
    timer.join()
    cycle.save()
    if history is not None:
        history.stop(HISTORY_WITHIN)
    server.stop(1.0)
    # Keep the timer: a hung DNS look-up would block the end of the interpreter.
    log.info("stopped")
