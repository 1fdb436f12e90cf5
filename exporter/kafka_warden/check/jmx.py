"""The checks of JMX: the JVM, each process, and jmxquery as a second opinion."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Final

from kafka_warden.check.results import Report
from kafka_warden.clients.agents.session import PROMETHEUS, AgentSession
from kafka_warden.clients.jmx.protocol import BeanQuery
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
from kafka_warden.parts import jmx_plan, jmx_session
from kafka_warden.poller.beans import JmxQuestions, shared_places
from kafka_warden.sources.bean_list import CLIENTS, GROUPS, When
from kafka_warden.sources.jmx import QUESTIONS
from kafka_warden.sources.metadata import Layout

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

REPORTER: Final = ("kafka.server:type=kafka-metrics-count", "count")
"""A process has it, and all other beans of Kafka's own metrics, if its `metric.reporters` include JmxReporter."""


def compares(config: Config) -> bool:
    """Return whether jmxquery can be asked: it has no TLS, and shows a password to `ps`."""
    jmx = config.jmx
    return find_spec("jmxquery") is not None and jmx.source == RMI and jmx.user is None and jmx.tls.ca_file is None


def check_jmx(config: Config, layout: Layout | None, unreachable: Container[str], report: Report) -> None:
    """Ask each process once. Processes on hosts that cannot be reached are skipped: that has been reported."""
    reporter = BeanQuery(REPORTER[0], (REPORTER[1],))
    questions = {kind: replace(asked, beans=(*asked.beans, reporter)) for kind, asked in QUESTIONS.items()}
    session = jmx_session(config, questions)
    brokers = {} if layout is None else layout.brokers
    targets = []
    for target in JmxQuestions(jmx_plan(config), session).targets(brokers):
        if target.host in unreachable:
            report.skip("KW-JMX", target.key, f"not checked: {target.host} cannot be reached")
        else:
            targets.append(target)
    try:
        if targets:
            _ask(session, targets, report, _followed(layout), compare=compares(config))
    finally:
        session.close()


def _followed(layout: Layout | None) -> frozenset[str]:
    """Return the keys of the brokers from which an in-sync follower fetches."""
    if layout is None:
        return frozenset()
    leaders = layout.leader[layout.partition]
    return frozenset(f"broker {leader}" for leader in leaders[layout.in_isr & (layout.broker != leaders)].tolist())


def _ask(
    session: JmxSession | AgentSession,
    targets: Sequence[JmxTarget],
    report: Report,
    followed: Container[str],
    *,
    compare: bool,
) -> None:
    answers = {**session.ask(targets, monotonic() + WITHIN), **shared_places(targets)}
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
        if any(name.startswith("kafka.") for name, _ in answer.values.keys() - {REPORTER}):
            _report_groups(session.source, target, answer, report, is_followed=target.key in followed)
            if compare:
                _compare(target, answer, subject, report)
        else:
            fix = "correct jmx.port, jmx.brokers or jmx.controllers"
            report.error("KW-JMX", subject, f"it has no beans of a Kafka {target.kind}", fix)


def _report_groups(source: str, target: JmxTarget, answer: RawBeans, report: Report, *, is_followed: bool) -> None:
    """Name the groups of beans that this process lacks, of those that each such process has."""
    subject, agent = f"{target.key} ({target.host}:{target.port})", source == PROMETHEUS
    groups = [group for group in GROUPS if group.where == target.kind]
    clients = [each for each in CLIENTS if each.where == target.kind]
    text = f"{len(answer.values)} attributes"
    if not agent and REPORTER not in answer.values:
        lost = ", ".join([*(group.name for group in groups if group.own), *(each.name for each in clients)])
        fix = "add org.apache.kafka.common.metrics.JmxReporter to metric.reporters of that process"
        report.warning("KW-JMX", subject, f"{text}, none of Kafka's own metrics: {lost}", fix)
        return
    expected = {When.ALWAYS, *([When.FOLLOWED] if is_followed else [])}
    missing = [
        group.name
        for group in groups
        if group.when in expected
        and answer.values.keys().isdisjoint((bean.object_name, bean.attribute) for bean in group.beans)
    ]
    missing += [each.name for each in clients if each.pattern in answer.unreadable]
    if missing:
        fix = "let the user read these beans"
        if agent:
            fix = "put rules for them before the others (docs/agents.md)"
            own = {group.name for group in groups if group.own}
            if own and own.issubset(missing):
                fix += "; if they are there, add JmxReporter to metric.reporters of that process"
        report.warning("KW-JMX", subject, f"{text}, none of: {', '.join(missing)}", fix)
    else:
        report.ok("KW-JMX", subject, text)


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
