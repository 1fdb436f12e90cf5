"""One poll of the cluster, as `kafka-warden run` makes it, with what each failure means and what to do.

Three questions are of this command. A right on topics is asked for by name: a broker refuses a name that the principal
may not describe, also if there is no such topic, and leaves it out of a list without an error. So are the operations
that it may do on the history topic.
"""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from kafka_warden.check.connection import LOG, Diagnosis, Servers
from kafka_warden.check.results import Report
from kafka_warden.clients.kafka.faults import error_code_fault
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.requests import QUORUM, QUOTAS, REASSIGNMENTS, Since, request_metadata
from kafka_warden.config import Config
from kafka_warden.errors import (
    AnswerTimeoutError,
    AuthorizationError,
    MisdirectedError,
    ProtocolError,
    SourceError,
    StateError,
    UnsupportedError,
)
from kafka_warden.formatting import in_count
from kafka_warden.model import NO_BROKER, Broker, OptionalQuestion, Snapshot, Source
from kafka_warden.poller import Poller
from kafka_warden.poller.asking import SourceOutcome
from kafka_warden.poller.cluster import FORWARDED
from kafka_warden.settings.strict import Address
from kafka_warden.sources.configs import read_topic_configs
from kafka_warden.sources.metadata import shared_addresses, topic_errors
from kafka_warden.state import StateFile, watched_cluster

LOST: Final[Mapping[Since, tuple[str, OptionalQuestion]]] = {
    REASSIGNMENTS: ("moves", OptionalQuestion.REASSIGNMENTS),
    QUOTAS: ("mutation quotas", OptionalQuestion.QUOTAS),
    QUORUM: ("the quorum and the active controller", OptionalQuestion.QUORUM),
}
"""What is missing without a request, and how to do without it."""

PER_BROKER: Final = OptionalQuestion.LOG_DIRS, OptionalQuestion.BROKER_CONFIGS
RIGHTS: Final = {
    "KW-ACL-CLUSTER-DESCRIBE": (
        "Describe",
        (OptionalQuestion.LOG_DIRS, OptionalQuestion.REASSIGNMENTS, OptionalQuestion.QUORUM),
    ),
    "KW-ACL-CLUSTER-CONFIGS": ("DescribeConfigs", (OptionalQuestion.BROKER_CONFIGS, OptionalQuestion.QUOTAS)),
}
"""Code of a right on the cluster to its operation, and to what needs it."""

SAMPLE: Final = 1000
"""Topics that are asked for by name."""

ALL_TOPICS: Final = "--topic", "*"
NO_TOPIC: Final = "kafka-warden-check"
"""A name to ask about while no topic is known. It is not created."""

SKEW: Final = 5.0
"""Seconds between two clocks from which ages that are computed from both are wrong."""

WRITE, NOT_GIVEN = 4, 31
"""AclOperation.WRITE in the set of authorized operations of a topic, and what an unknown set contains."""

Outcomes = Mapping[tuple[Source, str], SourceOutcome]


def poll(config: Config, poller: Poller) -> tuple[Snapshot | None, Outcomes]:
    """Poll once. After a time-out poll twice more: the first poll makes all connections, too.

    The second asks last what timed out before, and the third what depends on that.
    """
    with suppress(OSError, StateError):  # KW-STATE reports it
        bootstrap = [str(each) for each in config.kafka.settings.bootstrap]
        if (cluster := watched_cluster(StateFile(config.state.path).read(), bootstrap)) is not None:
            poller.watch(cluster)
    results, outcomes = [poller.poll()], poller.outcomes
    late = any(isinstance(outcome.fault, AnswerTimeoutError) for outcome in outcomes.values())
    for _ in range(2 if late else 0):
        results, outcomes = [poller.poll(), *results], {**outcomes, **poller.outcomes}
    return next((result for result in results if isinstance(result, Snapshot)), None), outcomes


@dataclass(slots=True)
class Explanation:
    """Reports one poll. `servers`: what was found at the bootstrap servers, and is not reported again."""

    config: Config
    poller: Poller
    diagnosis: Diagnosis
    report: Report
    servers: Servers
    snapshot: Snapshot
    outcomes: Outcomes
    links: dict[int, BrokerLink] = field(default_factory=dict)
    """Of the brokers that answer at their advertised listeners."""
    silent: set[str] = field(default_factory=set)
    """Hosts that do not resolve, or drop packets."""

    @property
    def principal(self) -> str:
        """The one that needs the rights."""
        return self.config.kafka.settings.principal

    async def check(self) -> frozenset[str]:
        """Report the cluster, its brokers, its controller and all rights; return hosts that are silent."""
        await self._brokers()
        self._versions()
        failures = defaultdict[tuple[str, str], list[str]](list)
        for (source, broker), outcome in self.outcomes.items():
            if broker == NO_BROKER and not _expected(outcome.fault):
                code = "KW-CONTROLLER" if source in FORWARDED else "KW-CLUSTER"
                failures[code, str(outcome.fault)].append(source)
        for (code, text), sources in failures.items():
            self.report.error(code, "", f"{', '.join(sources)}: {text}", LOG)
        refused = [code for code in RIGHTS if self._refused(code)]
        self._controller(window="KW-ACL-CLUSTER-CONFIGS" not in refused)
        for lead in list(self.links.values())[:1]:
            try:
                await self._topics(lead)
                if self.config.history.kafka.topic is not None:
                    await self._history_topic(lead, self.config.history.kafka.topic)
            except SourceError as fault:
                self.report.error("KW-CLUSTER", lead.address, str(fault), LOG)
        return frozenset(self.silent)

    async def _brokers(self) -> None:
        """Name brokers that do not answer, and why. What failed as a bootstrap server was reported there."""
        active = {id_: each for id_, each in self.snapshot.brokers.items() if each.active}
        subject = f"cluster {self.snapshot.cluster_id}"
        text = f"{in_count(len(active), 'broker')}, {in_count(len(self.snapshot.topics), 'topic')}"
        self.report.ok("KW-CLUSTER", subject, text)
        shared = shared_addresses(active.values())
        for text in dict.fromkeys(shared.values()):
            fix = "set advertised.listeners of each broker to an address of its own"
            self.report.error("KW-BROKER", "", text, fix)
        for broker in self.snapshot.brokers.values():
            failed = self.servers.get(Address(broker.host, broker.port))
            if failed is not None:
                self.silent |= {broker.host} if failed.silent else set()
            elif broker.id not in active:
                state = "has replicas and is not registered" if broker.gone else "is registered and fenced"
                fix = f"start that broker, or {'move its replicas' if broker.gone else 'unregister it'}"
                self.report.warning("KW-CLUSTER", subject, f"broker {broker.id} {state}", fix)
            elif broker.id not in shared and await self._answers(broker):
                self.links[broker.id] = self.poller.links.broker(broker)
        if self.links:
            text = f"{len(self.links)} of {len(active)} brokers answer at their advertised listeners"
            self.report.ok("KW-BROKER", "", text)

    def _fault(self, source: Source, broker: int | str) -> SourceError | None:
        """Return what a broker failed with."""
        outcome = self.outcomes.get((source, str(broker)))
        return None if outcome is None else outcome.fault

    async def _answers(self, broker: Broker) -> bool:
        """Return whether a broker answered all that it may; explain why not."""
        link, subject = self.poller.links.broker(broker), f"broker {broker.id}"
        faults = (self._fault(source, broker.id) for source in (Source.OFFSETS, Source.CONFIGS, Source.LOG_DIRS))
        fault = next((fault for fault in faults if not _expected(fault)), None)
        if fault is None and link.connected:
            return True
        # A poll may ask nothing of a broker without replicas.
        found = await (self.diagnosis.connect(link) if fault is None else self.diagnosis.explain(link, fault))
        if found is None:
            return True
        fix = found.fix
        if found.code in ("KW-DNS", "KW-TCP") or isinstance(fault, MisdirectedError):
            fix = f"correct advertised.listeners of {subject}, the DNS or the network"
        self.report.error("KW-BROKER", subject, found.text, fix)
        self.silent |= {broker.host} if found.silent else set()
        return False

    def _versions(self) -> None:
        releases, missing = defaultdict[str, list[int]](list), False
        for broker, link in self.links.items():
            release = link.kafka_version or "unknown"
            releases[release].append(broker)
            for since, (lost, question) in LOST.items():
                if link.knows(since) is False and question not in self.config.sources.disable:
                    missing = True
                    text = f"Kafka {release} does not know {since.request.__name__.removesuffix('Request')}: no {lost}"
                    fix = f"upgrade to Kafka {since.release} or later to have them"
                    self.report.warning("KW-VERSION", f"broker {broker}", text, fix)
        if self.links and not missing:
            listed = (f"Kafka {release} on {in_count(len(brokers), 'broker')}" for release, brokers in releases.items())
            self.report.ok("KW-VERSION", "", ", ".join(listed))

    def _refused(self, code: str) -> bool:
        """Report a right on the cluster; return whether it was refused."""
        operation, questions = RIGHTS[code]
        asked = [question for question in questions if question not in self.config.sources.disable]
        places = [(each, broker) for each in asked for broker in (self.links if each in PER_BROKER else [NO_BROKER])]
        answers = [
            self.outcomes[each.source, str(at)] for each, at in places if (each.source, str(at)) in self.outcomes
        ]
        refused = [each for each, at in places if isinstance(self._fault(each.source, at), AuthorizationError)]
        if refused:
            fix = f"{self._acl(['--cluster'], operation)}{_or_disable(refused)}"
            self.report.error(code, self.principal, f"refused: {', '.join(dict.fromkeys(refused))}", fix)
        elif any(outcome.fault is None for outcome in answers):
            self.report.ok(code, "", "granted")
        elif not asked:
            self.report.ok(code, "", f"not asked: sources.disable lists {', '.join(questions)}")
        return bool(refused)

    async def _topics(self, lead: BrokerLink) -> None:
        """Ask for Describe of topics that have a log and are not listed, for DescribeConfigs of what has no answer."""
        visible, matches = self.snapshot.topics, self.config.topics.matches
        on_disk = {log.topic for gaps in self.snapshot.log_gaps.values() for log in gaps.stray or ()}
        hidden = sorted(filter(matches, on_disk.difference(visible)))[:SAMPLE]
        errors = await topic_errors(lead, self.diagnosis.until(), hidden or ([] if visible else [NO_TOPIC]))
        refused = [name for name, fault in errors.items() if isinstance(fault, AuthorizationError)]
        code, fix = "KW-ACL-TOPIC-DESCRIBE", self._acl(ALL_TOPICS, "Describe")
        if not refused:
            self.report.ok(code, "", f"topics listed: {len(visible)}")
        elif visible:
            text = f"topics with logs that may not be described: {len(refused)}, such as {refused[0]}"
            self.report.warning(code, self.principal, text, f"{fix} (or list them in topics.deny)")
        else:
            self.report.error(code, self.principal, "no topic may be described: no lag, no bytes in", fix)

        code, fix = "KW-ACL-TOPIC-CONFIGS", self._acl(ALL_TOPICS, "DescribeConfigs")
        if OptionalQuestion.TOPIC_CONFIGS in self.config.sources.disable:
            self.report.ok(code, "", "not asked: sources.disable lists topic_configs")
            return
        wanted = list(filter(matches, visible))
        lacking = [topic for topic in wanted if topic not in self.snapshot.topic_configs]
        names = lacking[:SAMPLE] if wanted else hidden or [NO_TOPIC]
        answer = await read_topic_configs(lead, self.diagnosis.until(), names) if names else None
        if answer is None or not isinstance(answer.refused, AuthorizationError):
            self.report.ok(code, "", "the configuration of topics is answered")
        elif len(lacking) < len(wanted):
            text = f"topics that return their configuration: {len(wanted) - len(lacking)} of {len(wanted)}"
            self.report.warning(code, self.principal, text, fix)
        else:
            text = "refused for all topics: no throttled lists, no min ISR"
            fix += _or_disable([OptionalQuestion.TOPIC_CONFIGS])
            self.report.error(code, self.principal, text, fix)

    async def _history_topic(self, lead: BrokerLink, topic: str) -> None:
        """Check that the topic exists, and that its authorized operations contain Write. Nothing is written."""
        code, fix = "KW-HISTORY-TOPIC", self._acl(["--topic", topic], "Write", "Describe")
        reply = await lead.ask(request_metadata([topic], operations=True), self.diagnosis.until())
        found = reply.topics[0]
        fault = error_code_fault(found.error_code, None, lead.address)
        if isinstance(fault, AuthorizationError):
            self.report.error(code, topic, f"{self.principal} may not describe it", fix)
        elif isinstance(fault, ProtocolError):
            create = self._line("kafka-topics.sh", ["--create", "--topic", topic])
            self.report.error(code, topic, f"it cannot be used ({fault})", f"create it: {create}")
        elif fault is not None:
            raise fault
        elif not {WRITE, NOT_GIVEN} & set(found.authorized_operations or [NOT_GIVEN]):
            self.report.error(code, topic, f"{self.principal} may not write to it", fix)
        else:
            self.report.ok(code, topic, "exists and can be written")

    def _controller(self, *, window: bool) -> None:
        """Report the active controller, its clock, and the `window` of the mutation quota at its own listener."""
        outcome, quorum = self.outcomes.get((Source.QUORUM, NO_BROKER)), self.snapshot.quorum
        if outcome is None or isinstance(outcome.fault, UnsupportedError):
            self.report.absent |= {"KW-CONTROLLER", "KW-CLOCK"}  # ZooKeeper mode, see KW-VERSION; or not asked
        if outcome is None or outcome.fault is not None or quorum is None:
            return
        code, subject = "KW-CONTROLLER", f"controller {quorum.leader}"
        # The leader caught up with itself when it answered.
        at = next((each.last_caught_up_time for each in quorum.replicas if each.node == quorum.leader), None)
        skew = max(outcome.answered_at - outcome.duration - at, at - outcome.answered_at) if at is not None else 0.0
        if at is None:
            self.report.absent.add("KW-CLOCK")
        elif skew > SKEW:
            fix = "synchronise both clocks (NTP)"
            self.report.warning("KW-CLOCK", subject, f"its clock and this one differ by {skew:.0f} s", fix)
        else:
            self.report.ok("KW-CLOCK", subject, f"less than {SKEW:g} s apart")
        disabled = OptionalQuestion.CONTROLLER_CONFIGS in self.config.sources.disable
        if self.report.failed(code):
            return
        if disabled or not window or self.config.controllers.quota_window is not None:
            self.report.ok(code, subject, "answers what brokers forward to it")
        elif self.snapshot.controller_window is not None:
            self.report.ok(code, subject, f"answers at {quorum.controllers.get(quorum.leader, 'its own listener')}")
        else:
            asked = self.outcomes.get((Source.CONTROLLER_CONFIGS, str(quorum.leader)))
            why = "its address is not known" if asked is None else asked.fault
            fix = (
                "set controllers.quota_window to controller.quota.window.num x controller.quota.window.size.seconds, or"
                " let clients reach that listener"
            )
            self.report.warning(code, subject, f"its own listener does not answer ({why})", fix)

    def _acl(self, resource: Sequence[str], *operations: str) -> str:
        """Return the command that adds an ACL."""
        words = [word for operation in operations for word in ("--operation", operation)]
        return self._line("kafka-acls.sh", ["--add", "--allow-principal", self.principal, *resource, *words])

    def _line(self, tool: str, options: Sequence[str]) -> str:
        """Return the command line of a tool, with the administrator's properties where the cluster is secured."""
        settings = self.config.kafka.settings
        secured = ["--command-config", "admin.properties"] if settings.security_protocol != "PLAINTEXT" else []
        return shlex.join([tool, "--bootstrap-server", ",".join(map(str, settings.bootstrap)), *secured, *options])


def _expected(fault: SourceError | None) -> bool:
    """Return whether other checks report a fault: those of rights and versions."""
    return fault is None or isinstance(fault, AuthorizationError | UnsupportedError)


def _or_disable(refused: Iterable[OptionalQuestion]) -> str:
    """Return what to do where a right cannot be granted: from the start on, it is no failure."""
    return f" (or, where it cannot be granted, sources.disable: [{', '.join(dict.fromkeys(refused))}])"
