"""The checks of JMX: the JVM, each process, and jmxquery as a second opinion."""

from collections.abc import Container, Mapping, Sequence
from importlib.util import find_spec
from typing import Final

from kafka_warden.check.results import Report
from kafka_warden.clients.agents.session import AgentSession
from kafka_warden.clients.jmx.session import JmxSession, JmxTarget, RawBeans
from kafka_warden.clock import monotonic
from kafka_warden.config import Config
from kafka_warden.config.types import RMI
from kafka_warden.errors import (
    AnswerTimeoutError,
    AuthenticationError,
    AuthorizationError,
    ConnectTimeoutError,
    ProtocolError,
    RefusedError,
    SourceError,
    TlsError,
    UnsupportedError,
)
from kafka_warden.model import Broker
from kafka_warden.parts import jmx_plan, jmx_session
from kafka_warden.poller.beans import JmxQuestions

WITHIN: Final = 60.0
"""Seconds for a JVM to start and all processes to answer. A reading has time limits of its own, of some seconds."""

FIXES: Final[Mapping[type[SourceError], str]] = {
    RefusedError: "start the process with JMX_PORT, and set jmx.port or jmx.brokers to that port",
    ConnectTimeoutError: "let this machine reach the JMX port and the RMI port (com.sun.management.jmxremote.rmi.port)",
    AnswerTimeoutError: "look whether that process hangs, and whether the RMI port can be reached",
    AuthenticationError: "correct jmx.user, and the password in jmx.password_file",
    AuthorizationError: "give the user readonly in jmxremote.access of that process",
    TlsError: "correct jmx.tls.ca_file, or name the address in jmx.brokers",
    ProtocolError: "correct jmx.port or jmx.brokers: it is the port of com.sun.management.jmxremote.port",
}
AGENT_FIXES: Final = {
    **FIXES,
    RefusedError: "start the process with the agent, and set jmx.port or jmx.brokers to the port of its HTTP server",
    ConnectTimeoutError: "let this machine reach the port of the agent",
    AnswerTimeoutError: "give the agent rules that leave out partitions",
    AuthorizationError: "let the user read, in the configuration of the agent",
    ProtocolError: "correct jmx.port, jmx.brokers or jmx.path",
}


def compares(config: Config) -> bool:
    """Return whether jmxquery can be asked: it has no TLS, and shows a password to `ps`."""
    jmx = config.jmx
    return find_spec("jmxquery") is not None and jmx.source == RMI and jmx.user is None and jmx.tls.ca_file is None


def check_jmx(config: Config, brokers: Mapping[int, Broker], unreachable: Container[str], report: Report) -> None:
    """Ask each process once. Processes on hosts that cannot be reached are skipped: that has been reported."""
    session = jmx_session(config)
    targets = []
    for target in JmxQuestions(jmx_plan(config), session).targets(brokers):
        if target.host in unreachable:
            report.skip("KW-JMX", target.key, f"not checked: {target.host} cannot be reached")
        else:
            targets.append(target)
    try:
        if targets:
            _ask(session, targets, report, compare=compares(config))
    finally:
        session.close()


def _ask(session: JmxSession | AgentSession, targets: Sequence[JmxTarget], report: Report, *, compare: bool) -> None:
    answers = session.ask(targets, monotonic() + WITHIN)
    if isinstance(session, JmxSession):
        for answer in answers.values():
            if isinstance(answer, UnsupportedError):
                fix = "install what is missing, or remove jmx from the configuration"
                report.error("KW-JMX-JVM", "", str(answer), fix)
                return
        report.ok("KW-JMX-JVM", "", "started")
    fixes = FIXES if isinstance(session, JmxSession) else AGENT_FIXES
    for target in targets:
        answer, subject = answers[target.key], f"{target.key} ({target.host}:{target.port})"
        if isinstance(answer, SourceError):
            report.error("KW-JMX", subject, str(answer), fixes.get(type(answer), "look into its log"))
            continue
        kafka = sum(name.startswith("kafka.") for name, _ in answer.values)
        if kafka:
            report.ok("KW-JMX", subject, f"{len(answer.values)} attributes")
        else:
            fix = "correct jmx.port, jmx.brokers or jmx.controllers"
            report.error("KW-JMX", subject, f"it has no beans of a Kafka {target.kind}", fix)
        if kafka and compare:
            _compare(target, answer, subject, report)


def _compare(target: JmxTarget, ours: RawBeans, subject: str, report: Report) -> None:
    """Ask jmxquery for the same attributes; it starts a JVM of its own."""
    from kafka_warden.check.jmxquery_beans import read_attributes  # noqa: PLC0415  # an optional library

    code = "KW-JMX-JMXQUERY"
    theirs = read_attributes(target.host, target.port, list(ours.values))
    missing = ours.values.keys() - theirs
    if missing:
        name, attribute = min(missing)
        text = (
            f"jmxquery reads {len(ours.values) - len(missing)} of {len(ours.values)} attributes, not {name}/{attribute}"
        )
        report.warning(code, subject, text, "run it by hand; what kafka-warden reads does not depend on it")
    else:
        report.ok(code, subject, f"the same {len(theirs)} attributes")
