"""The checks of the rights, each by itself, and of what the active controller answers.

A right on topics is asked for by name: a broker refuses a name that the principal may not describe, also if there is
no such topic, and leaves it out of a list without an error.
"""

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from kafka_warden.check.commands import Commands
from kafka_warden.check.diagnosis import LOG, Connector
from kafka_warden.check.kafka import Reached
from kafka_warden.check.results import Report
from kafka_warden.clients.kafka.faults import error_code_fault
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.requests import DescribeQuorumRequest, MetadataRequest
from kafka_warden.config import Config
from kafka_warden.errors import AuthorizationError, MisdirectedError, ProtocolError, SourceError, UnsupportedError
from kafka_warden.model import OptionalQuestion, Quorum
from kafka_warden.sources.configs import read_broker_config, read_controller_window, read_topic_configs
from kafka_warden.sources.log_dirs import read_log_dirs
from kafka_warden.sources.metadata import MetadataQuestion, topic_errors
from kafka_warden.sources.quorum import read_quorum
from kafka_warden.sources.quotas import read_quotas
from kafka_warden.sources.reassignments import read_reassignments
from kafka_warden.sources.replies import RowIndex

SAMPLE: Final = 1000
"""Topics that are asked for by name."""

NO_TOPIC: Final = "kafka-warden-check"
"""A name to ask about while no topic is known. It is not created."""

SKEW: Final = 5.0
"""Seconds between two clocks from which ages that are computed from both are wrong."""

WRITE, NOT_GIVEN = 4, 31
"""AclOperation.WRITE in the set of authorized operations of a topic, and what an unknown set contains."""

Ask = Callable[[float], Awaitable[Any]]


@dataclass(slots=True)
class Rights:
    """Asks what needs a right, and collects which were refused."""

    config: Config
    reached: Reached
    connector: Connector
    report: Report
    commands: Commands
    refused: dict[str, dict[OptionalQuestion, str]] = field(default_factory=dict)
    """Code to what was refused, and what it is called."""
    disabled: dict[str, list[OptionalQuestion]] = field(default_factory=dict)
    """Code to what is not asked."""
    answered: set[str] = field(default_factory=set)
    quorum: Quorum | None = None

    async def check(self) -> None:
        """Check all rights, and the controller."""
        on_disk = await self._describe_cluster()
        await self._cluster_configs()
        await self._topics(on_disk)
        if self.config.history.kafka.topic is not None:
            await self._history_topic(self.config.history.kafka.topic)
        await self._controller()

    def wants(self, code: str, optional: OptionalQuestion) -> bool:
        """Return whether a question that needs the right of a code is asked at all."""
        disabled = optional in self.config.sources.disable
        if disabled:
            self.disabled.setdefault(code, []).append(optional)
        return not disabled

    async def ask(self, code: str, optional: OptionalQuestion, what: str, ask: Ask, subject: str = "") -> Any:
        """Ask one question that needs the right of a code; `None` if it was not answered."""
        if not self.wants(code, optional):
            return None
        try:
            answer = await ask(self.connector.until())
        except AuthorizationError:
            self.refused.setdefault(code, {})[optional] = what
        except UnsupportedError:
            pass  # KW-VERSION reports it
        except SourceError as fault:
            asked = "KW-BROKER" if subject else "KW-CONTROLLER"
            misdirected = isinstance(fault, MisdirectedError)
            fix = f"correct advertised.listeners of {subject}" if misdirected else "look into its log"
            self.report.error(asked, subject, f"{what}: {fault}", fix)
        else:
            self.answered.add(code)
            return answer
        return None

    async def _describe_cluster(self) -> set[str]:
        """Ask for log directories, moves and quorum; return the topics that have a log."""
        code, lead, on_disk = "KW-ACL-CLUSTER-DESCRIBE", self.reached.lead, set[str]()
        for broker, link in sorted(self.reached.brokers.items()):

            async def directories(until: float, link: BrokerLink = link, broker: int = broker) -> Any:
                return await read_log_dirs(link, broker, None, RowIndex(), until, np.zeros(0, np.int64))

            answer = await self.ask(code, OptionalQuestion.LOG_DIRS, "log directories", directories, f"broker {broker}")
            on_disk |= {topic for topic, _ in answer.stray} if answer is not None else set()

        async def moves(until: float) -> Any:
            # In ZooKeeper mode brokers do not forward it to the active controller, which is one of them.
            kraft = await lead.supports(DescribeQuorumRequest, 0, until)
            controller = None if kraft else self.reached.brokers.get(self.reached.layout.controller)
            return await read_reassignments(controller or lead, until)

        await self.ask(code, OptionalQuestion.REASSIGNMENTS, "moves", moves)
        self.quorum = await self.ask(code, OptionalQuestion.QUORUM, "quorum", self._read_quorum)
        if self.quorum is None and not self.report.failed("KW-CONTROLLER") and not self.refused:
            self.report.absent |= {"KW-CONTROLLER", "KW-CLOCK"}  # ZooKeeper mode, see KW-VERSION; or not asked
        self._conclude(code, ["--cluster", "--operation", "Describe"])
        return on_disk

    async def _read_quorum(self, until: float) -> Quorum:
        """Ask for the quorum; compare the clocks on the way: the leader caught up with itself now."""
        before = time.time()
        quorum = await read_quorum(self.reached.lead, until)
        after = time.time()
        times = [each.last_caught_up_time for each in quorum.replicas if each.node == quorum.leader]
        if not times or times[0] is None:
            self.report.absent.add("KW-CLOCK")
        else:
            skew = max(before - times[0], times[0] - after, 0.0)
            subject = f"controller {quorum.leader}"
            if skew > SKEW:
                fix = "synchronise both clocks (NTP)"
                self.report.warning("KW-CLOCK", subject, f"its clock and this one differ by {skew:.0f} s", fix)
            else:
                self.report.ok("KW-CLOCK", subject, f"less than {SKEW:g} s apart")
        return quorum

    async def _cluster_configs(self) -> None:
        code = "KW-ACL-CLUSTER-CONFIGS"
        for broker, link in sorted(self.reached.brokers.items()):

            async def configuration(until: float, link: BrokerLink = link, broker: int = broker) -> Any:
                return await read_broker_config(link, broker, until)

            what = "configuration of brokers"
            await self.ask(code, OptionalQuestion.BROKER_CONFIGS, what, configuration, f"broker {broker}")
        await self.ask(code, OptionalQuestion.QUOTAS, "quotas", lambda until: read_quotas(self.reached.lead, until))
        self._conclude(code, ["--cluster", "--operation", "DescribeConfigs"])

    async def _topics(self, on_disk: set[str]) -> None:
        """Check Describe with the topics that have a log and are not listed, DescribeConfigs with all."""
        code, lead = "KW-ACL-TOPIC-DESCRIBE", self.reached.lead
        try:
            # Once more: a topic may be new.
            again = await MetadataQuestion().read(lead, self.connector.until())
            visible = {*self.reached.layout.topics, *again.topics}
            hidden = sorted(filter(self.config.topics.matches, on_disk - visible))[:SAMPLE]
            errors = await topic_errors(lead, self.connector.until(), hidden or ([] if visible else [NO_TOPIC]))
            refused = [name for name, fault in errors.items() if isinstance(fault, AuthorizationError)]
            fix = self.commands.acl(["--topic", "*", "--operation", "Describe"])
            if not refused:
                self.report.ok(code, "", f"topics listed: {len(visible)}")
            elif visible:
                text = f"topics with logs that may not be described: {len(refused)}, such as {refused[0]}"
                self.report.warning(code, self.commands.principal, text, f"{fix} (or list them in topics.deny)")
            else:
                self.report.error(code, self.commands.principal, "no topic may be described: no lag, no bytes in", fix)
            wanted = sorted(filter(self.config.topics.matches, visible))[:SAMPLE] or hidden or [NO_TOPIC]
            await self._topic_configs(wanted)
        except SourceError as fault:
            self.report.error("KW-CLUSTER", lead.address, str(fault), LOG)

    async def _topic_configs(self, topics: Sequence[str]) -> None:
        code = "KW-ACL-TOPIC-CONFIGS"
        if not self.wants(code, OptionalQuestion.TOPIC_CONFIGS):
            self._conclude(code, [])
            return
        answer = await read_topic_configs(self.reached.lead, topics, self.connector.until())
        fix = self.commands.acl(["--topic", "*", "--operation", "DescribeConfigs"])
        if not isinstance(answer.refused, AuthorizationError):
            self.report.ok(code, "", "the configuration of topics is answered")
        elif answer.configs:
            text = f"topics that return their configuration: {len(answer.configs)} of {len(topics)}"
            self.report.warning(code, self.commands.principal, text, fix)
        else:
            self.report.error(
                code,
                self.commands.principal,
                "refused for all topics: no throttled lists, no min ISR",
                f"{fix}{_or_disable([OptionalQuestion.TOPIC_CONFIGS])}",
            )

    async def _history_topic(self, topic: str) -> None:
        """Check that the topic exists, and that its authorized operations contain Write. Nothing is written."""
        code, lead = "KW-HISTORY-TOPIC", self.reached.lead
        fix = self.commands.acl(["--topic", topic, "--operation", "Write", "--operation", "Describe"])
        try:
            request = MetadataRequest(
                topics=[MetadataRequest.MetadataRequestTopic(topic_id=None, name=topic)],
                allow_auto_topic_creation=False,
                include_topic_authorized_operations=True,
            )
            found = (await lead.ask(request, self.connector.until())).topics[0]
            if fault := error_code_fault(found.error_code, None, lead.address):
                raise fault
        except AuthorizationError:
            self.report.error(code, topic, f"{self.commands.principal} may not describe it", fix)
        except ProtocolError as fault:
            create = self.commands.line("kafka-topics", ["--create", "--topic", topic])
            self.report.error(code, topic, f"it cannot be used ({fault})", f"create it: {create}")
        except SourceError as fault:
            self.report.error("KW-CLUSTER", lead.address, str(fault), LOG)
        else:
            if not {WRITE, NOT_GIVEN} & set(found.authorized_operations or [NOT_GIVEN]):
                self.report.error(code, topic, f"{self.commands.principal} may not write to it", fix)
            else:
                self.report.ok(code, topic, "exists and can be written")

    async def _controller(self) -> None:
        """Ask the active controller at its own listener for the window of the mutation quota, as a poll does."""
        code, quorum = "KW-CONTROLLER", self.quorum
        if quorum is None or self.report.failed(code):
            return
        subject = f"controller {quorum.leader}"
        wanted = self.wants(code, OptionalQuestion.CONTROLLER_CONFIGS) and self.config.controllers.quota_window is None
        if not wanted or self.refused.get("KW-ACL-CLUSTER-CONFIGS"):
            self.report.ok(code, subject, "answers what brokers forward to it")
            return
        places: Sequence[tuple[str, int]] = self.config.controllers.bootstrap
        if quorum.leader in quorum.controllers:
            name, _, number = quorum.controllers[quorum.leader].rpartition(":")
            places = [*dict.fromkeys([(name, int(number)), *places])]
        fault: object = "its listener is not known"
        for host, port in places:
            link = self.connector.link(host, port)
            try:
                await read_controller_window(link, quorum.leader, self.connector.until())
            except SourceError as failure:
                fault = failure
            else:
                self.report.ok(code, subject, f"answers at {link.address}")
                return
            finally:
                link.close()
        self.report.warning(
            code,
            subject,
            f"its own listener does not answer ({fault})",
            "set controllers.quota_window to controller.quota.window.num x controller.quota.window.size.seconds, or let"
            " clients reach that listener",
        )

    def _conclude(self, code: str, options: Sequence[str]) -> None:
        if refused := self.refused.get(code):
            what = ", ".join(refused.values())
            fix = f"{self.commands.acl(options)}{_or_disable(refused)}"
            self.report.error(code, self.commands.principal, f"refused: {what}", fix)
        elif code in self.answered:
            self.report.ok(code, "", "granted")
        elif code in self.disabled:
            self.report.ok(
                code, "", f"not asked: sources.disable lists {', '.join(dict.fromkeys(self.disabled[code]))}"
            )


def _or_disable(refused: Iterable[OptionalQuestion]) -> str:
    """Return what to do where a right cannot be granted: from the start on, it is no failure."""
    return f" (or, where it cannot be granted, sources.disable: [{', '.join(refused)}])"
