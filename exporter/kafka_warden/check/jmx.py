"""The checks of JMX: the JVM, each process, and jmxquery as a second opinion."""

import logging
from collections.abc import Container, Sequence
from dataclasses import replace
from subprocess import CalledProcessError
from typing import Final

from kafka_warden.check.results import Report
from kafka_warden.clients.agents.session import PROMETHEUS
from kafka_warden.clients.jmx.protocol import BeanQuery, RawBeans
from kafka_warden.clients.jmx.session import JmxTarget
from kafka_warden.clock import monotonic
from kafka_warden.config import Config
from kafka_warden.config.types import RMI
from kafka_warden.errors import SourceError, UnsupportedError
from kafka_warden.model import Broker, Snapshot
from kafka_warden.parts import jmx_questions
from kafka_warden.poller.beans import shared_places
from kafka_warden.sources.bean_list import CLIENTS, GROUPS, When
from kafka_warden.sources.jmx import QUESTIONS

WITHIN: Final = 60.0
"""Seconds for a JVM to start and all processes to answer. A reading has time limits of its own, of some seconds."""
JMXQUERY_WITHIN: Final = 30.0
"""Seconds for jmxquery, which starts a JVM of its own."""

REPORTER: Final = ("kafka.server:type=kafka-metrics-count", "count")
"""A process has it, and all other beans of Kafka's own metrics, if its `metric.reporters` include JmxReporter."""


def compares(config: Config) -> bool:
    """Return whether jmxquery can be asked: it has no TLS, and shows a password to `ps`."""
    jmx = config.jmx
    return jmx.source == RMI and jmx.user is None and jmx.tls.ca_file is None


def check_jmx(config: Config, snapshot: Snapshot | None, unreachable: Container[str], report: Report) -> None:
    """Ask each process once. Processes on hosts that cannot be reached are skipped: that has been reported."""
    reporter = BeanQuery(REPORTER[0], (REPORTER[1],))
    questions = {kind: replace(asked, beans=(*asked.beans, reporter)) for kind, asked in QUESTIONS.items()}
    jmx, active, followed = jmx_questions(config, questions), dict[int, Broker](), frozenset[str]()
    if snapshot is not None:
        active = {id_: each for id_, each in snapshot.brokers.items() if each.active}
        replicas, leaders = snapshot.replicas, snapshot.partitions.leader[snapshot.replicas.partition]
        fetched = leaders[replicas.in_isr & (replicas.broker != leaders)]
        followed = frozenset(f"broker {broker}" for broker in fetched.tolist())
    targets = jmx.targets(active)
    asked = [target for target in targets if target.host not in unreachable]
    try:
        answers = {**jmx.session.ask(asked, monotonic() + WITHIN), **shared_places(asked)} if asked else {}
    finally:
        jmx.close()
    for target in targets:
        if target.key not in answers:
            report.skip("KW-JMX", target.key, f"not checked: {target.host} cannot be reached")
    if asked and config.jmx.source == RMI:
        missing = next((str(answer) for answer in answers.values() if isinstance(answer, UnsupportedError)), None)
        if missing is not None:
            fix = "install what is missing, or remove jmx from the configuration"
            report.error("KW-JMX-JVM", "", missing, fix)
            return
        report.ok("KW-JMX-JVM", "", "started")
    for target in asked:
        answer, subject = answers[target.key], f"{target.key} ({target.host}:{target.port})"
        if isinstance(answer, SourceError):
            text, _, fix = str(answer).partition("; ")
            report.error("KW-JMX", subject, text, fix or "look into its log")
        elif any(name.startswith("kafka.") for name, _ in answer.values.keys() - {REPORTER}):
            _report_groups(jmx.session.source, target, answer, report, is_followed=target.key in followed)
            if compares(config):
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
            fix = "put rules for them before the others (docs/how-to/agents.md)"
            own = {group.name for group in groups if group.own}
            if own and own.issubset(missing):
                fix += "; if they are there, add JmxReporter to metric.reporters of that process"
        report.warning("KW-JMX", subject, f"{text}, none of: {', '.join(missing)}", fix)
    else:
        report.ok("KW-JMX", subject, text)


def _compare(target: JmxTarget, ours: RawBeans, subject: str, report: Report) -> None:
    """Ask jmxquery for the same attributes; it starts a JVM of its own."""
    code, theirs = "KW-JMX-JMXQUERY", _read_by_jmxquery(target, list(ours.values))
    missing = ours.values.keys() - theirs
    if missing:
        name, attribute = min(missing)
        read, all_ = len(ours.values) - len(missing), len(ours.values)
        text = f"jmxquery reads {read} of {all_} attributes, not {name}/{attribute}"
        report.warning(code, subject, text, "run it by hand; what kafka-warden reads does not depend on it")
    else:
        report.ok(code, subject, f"the same {len(theirs)} attributes")


def _read_by_jmxquery(target: JmxTarget, attributes: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return those of the attributes, each with its bean, that jmxquery can read; none after a failure."""
    import jmxquery  # noqa: PLC0415  # for this check only

    logging.getLogger(jmxquery.__name__).setLevel(logging.CRITICAL)
    host = f"[{target.host}]" if ":" in target.host else target.host
    connection = jmxquery.JMXConnection(f"service:jmx:rmi:///jndi/rmi://{host}:{target.port}/jmxrmi")
    asked = [jmxquery.JMXQuery(f"{name}/{attribute}") for name, attribute in attributes]
    try:
        found = connection.query(asked, timeout=JMXQUERY_WITHIN)
    except (CalledProcessError, OSError, ValueError, AttributeError):  # the last is what a time-out raises there
        return set()
    return {(each.mBeanName, each.attribute) for each in found}
