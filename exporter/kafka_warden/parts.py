"""Makes the parts of the exporter from its configuration, and reads what they count."""

import json
import platform
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

from kafka_warden.catalogue import Build, Figures
from kafka_warden.clients.agents.session import AgentSession
from kafka_warden.clients.jmx.protocol import BeanQueries, Kind
from kafka_warden.clients.jmx.session import JmxSession
from kafka_warden.clients.kafka.librdkafka import librdkafka
from kafka_warden.config import Config
from kafka_warden.config.types import RMI
from kafka_warden.history.recorder import Recorder, Sink
from kafka_warden.installed import version
from kafka_warden.model import OptionalQuestion
from kafka_warden.poller import Poller, PollerSettings
from kafka_warden.poller.beans import JmxQuestions
from kafka_warden.reload import Reloader
from kafka_warden.replies import ControllerWindow
from kafka_warden.settings.tls import validity
from kafka_warden.sources.jmx import QUESTIONS
from kafka_warden.web.server import WebServer


def figures(reloader: Reloader, server: WebServer) -> Figures:
    """Return what the parts count and how long their certificates are valid. Read for every page."""
    current, config = server.current, reloader.config
    tls = config.kafka.settings.tls
    certificates = {
        **current.loaded.certificates,
        "kafka_client": tls.validity() if tls is not None else None,
        "jmx_client": validity(config.jmx.tls.cert_file),
    }
    known = {(name,): each for name, each in certificates.items() if each is not None}
    return {
        "web_connections": {(): server.connections},
        "web_connections_closed_total": {(reason,): count for reason, count in server.closed.items()},
        "web_logins_refused_total": {("wrong",): server.logins.failed, ("overload",): server.logins.refused},
        "web_config_in_use": {(): current.problem is None if config.web.config_file is not None else None},
        "config_last_reload_successful": {(): reloader.problem is None},
        "config_last_reload_success_timestamp_seconds": {(): reloader.in_force_since},
        "certificate_expiry_timestamp_seconds": {name: each.end for name, each in known.items()},
        "certificate_lifetime_seconds": {name: each.lifetime for name, each in known.items()},
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
        disabled=frozenset(map(OptionalQuestion, config.sources.disable)),
    )


def make_jmx(config: Config) -> JmxQuestions | None:
    """Make the JMX questions, if there is an address to ask. The JVM starts with the first poll."""
    return jmx_questions(config, QUESTIONS) if config.jmx.enabled else None


def make_poller(config: Config, lost: Callable[[], None], turn: int = 0) -> Poller:
    """Make the poller. `lost` and `turn`: as of `Poller`."""
    return Poller(poller_settings(config), config.kafka.settings, make_jmx(config), lost=lost, turn=turn)


def jmx_questions(config: Config, questions: Mapping[Kind, BeanQueries]) -> JmxQuestions:
    """Make what reads beans, in a JVM over RMI or from the HTTP servers of agents: where, and as which user."""
    jmx, tls = config.jmx, config.jmx.tls
    if jmx.source == RMI:
        session: JmxSession | AgentSession = JmxSession(questions, tls=tls.files())
    else:
        session = AgentSession(questions, jmx.path, tls.context if tls.ca_file is not None else None)
    named = frozenset(address.host for address in config.kafka.settings.bootstrap)
    return JmxQuestions(session, jmx.port, jmx.brokers, jmx.controllers, jmx.user, jmx.password, named)


def make_history(config: Config) -> Recorder | None:
    """Make the recorder, if history is configured. Its libraries are loaded only then."""
    sinks: list[Sink] = []
    if (parquet := config.history.parquet).path is not None:
        from kafka_warden.history.parquet.sink import ParquetSink  # noqa: PLC0415  # brings pyarrow

        sinks.append(ParquetSink(parquet.path, parquet.roll, parquet.retention))
    if config.history.kafka.topic is not None:
        from kafka_warden.history.kafka import KafkaSink  # noqa: PLC0415  # brings librdkafka

        sinks.append(KafkaSink(config.history.kafka.topic, lambda: librdkafka(config.kafka.settings)))
    return Recorder(sinks, config.history.interval) if sinks else None


def build() -> Build:
    """Return the version, and the commit if the program was installed from one."""
    origin: dict[str, Any] = {}
    with suppress(PackageNotFoundError):
        origin = json.loads(distribution("kafka-warden").read_text("direct_url.json") or "{}")
    revision = origin.get("vcs_info", {}).get("commit_id", "unknown")
    return Build(version(), revision, platform.python_version())
