"""The only place that wires: configuration to poller, to judgement, to the page, to the web."""

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
"""Seconds after which a computing thread lets others run: a scrape took 32 ms beside one by default, 8 ms so."""

WATCH_SECONDS: Final = 1.0
"""Seconds between two looks at the web server: without a page the process is of no use."""

GC_THRESHOLD: Final = 50_000
"""New objects after which Python looks for cycles. A reply of 10,000 partitions is as many objects, and no cycle:
at the default of 700, looking took a third of a poll's CPU and held every scrape up for 39 ms at a time."""

STOP_WITHIN: Final = 4.0
"""Seconds that stopping may take before the process ends itself: Kubernetes and systemd would wait and then kill."""

HISTORY_WITHIN: Final = 2.0
"""Seconds of these in which history may write what it holds."""


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
    server = WebServer(web_settings(config), cycle.holder, health=timer.health)
    port = server.start()
    log.info("listening", host=config.web.listen.host, port=port)
    if history is not None:
        history.start()
    timer.start()
    while not stopping.wait(WATCH_SECONDS) and server.failure is None:
        pass
    if server.failure is not None:
        log.error("the web server ended; a restart is the only way to have it back", error=str(server.failure))
    code = 0 if server.failure is None else 1
    _stop(timer, poller, cycle, history, server, code)
    return code


def tune_interpreter() -> None:
    """Let scrapes through while a poll computes."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.set_threshold(GC_THRESHOLD)


def web_settings(config: Config) -> WebSettings:
    """Tell the web server where to listen."""
    return WebSettings(listen=config.web.listen, config_file=config.web.config_file, version=build().version)


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
    """Make what asks JMX. Nothing is started before the first poll."""
    controllers = {
        str(controller.id) if controller.id is not None else str(controller.address): controller.address
        for controller in config.controllers
    }
    plan = JmxPlan(config.port, config.brokers, controllers, config.user, config.password)
    return JmxQuestions(plan, JmxSession(QUESTIONS, tls=config.tls.files()))


def make_history(config: Config) -> Recorder | None:
    """Make what keeps history, where the configuration says so. The libraries that it needs are loaded only then."""
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
    """Tell which program this is: its version, and the commit where it was installed from one."""
    try:
        installed = distribution("kafka-warden")
    except PackageNotFoundError:
        return Build("unknown", "unknown", platform.python_version())
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    revision = origin.get("vcs_info", {}).get("commit_id", "unknown")
    return Build(installed.version, revision, platform.python_version())


def _stop(timer: Timer, poller: Poller, cycle: Cycle, history: Recorder | None, server: WebServer, code: int) -> None:
    """Stop in order, but not for longer than anybody waits: a hung broker or a JVM must not keep the process."""
    log.info("stopping")
    last_resort = threading.Timer(STOP_WITHIN, os._exit, (code,))
    last_resort.daemon = True
    last_resort.start()
    timer.stop()
    poller.close()
    timer.join()
    cycle.save()
    if history is not None:
        history.stop(HISTORY_WITHIN)
    server.stop(1.0)
    # The last resort stays armed: a look-up that hangs would hold the interpreter at its end. It dies with the process.
    log.info("stopped")
