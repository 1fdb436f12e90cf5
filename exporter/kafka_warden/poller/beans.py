"""Asking JMX beside the Kafka protocol: which processes, and keeping their answers for as long as they are shown."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar

from kafka_warden.clients.agents.session import AgentSession
from kafka_warden.clients.jmx.protocol import RawBeans
from kafka_warden.clients.jmx.session import JmxSession, JmxTarget
from kafka_warden.clock import monotonic
from kafka_warden.errors import AnswerTimeoutError, ProtocolError, SourceError
from kafka_warden.model import Broker, ProcessBeans, Source
from kafka_warden.poller.answers import LastAnswers
from kafka_warden.poller.status import StatusBook
from kafka_warden.settings.secrets import SecretSource
from kafka_warden.sources.jmx import parse_beans

Key = TypeVar("Key")

SHOWN_FOR: Final = 3
"""Intervals for which an answer is shown without a newer one."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question to some processes, under way."""

    targets: Sequence[JmxTarget]
    controller: int | None
    """As of `JmxQuestions.targets`."""
    asked_at: float
    """Monotonic seconds."""
    answers: Future[dict[str, RawBeans | SourceError]]


@dataclass(frozen=True, slots=True)
class JmxQuestions:
    """Asks all processes at once on a thread of its own, so that neither side waits for the other.

    Where JMX is, is as configured. Addresses are `(host, port)`.
    """

    session: JmxSession | AgentSession
    port: int | None = None
    """The same port on every broker's advertised host, for brokers that `addresses` does not name."""
    addresses: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    """Of brokers."""
    controllers: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """By node id as text, or by address where the id is not configured."""
    user: str | None = None
    password: SecretSource | None = None
    hosts: frozenset[str] = frozenset()
    """Other hosts that the configuration names."""

    def start(
        self,
        brokers: Mapping[int, Broker],
        controller: int | None,
        deadline_at: float,
        before: Iterable[Question] = (),
    ) -> Question | None:
        """Ask the processes that were not asked `before`; `None` when there are none. `controller` as of `targets`.

        The answers are complete at the deadline at the latest.
        """
        asked = {target.place for question in before for target in question.targets}
        targets = [target for target in self.targets(brokers, controller) if target.place not in asked]
        if not targets:
            return None
        thread = ThreadPoolExecutor(1, thread_name_prefix="jmx")
        try:
            answers = thread.submit(self.session.ask, targets, deadline_at)
        except RuntimeError:  # no thread can start now
            answers = Future()
            answers.set_result(
                {target.key: AnswerTimeoutError("no thread could start to ask it") for target in targets}
            )
        question = Question(targets, controller, monotonic(), answers)
        thread.shutdown(wait=False)
        return question

    def keep(self, questions: Iterable[Question], answers: LastAnswers, book: StatusBook) -> None:
        """Wait for the answers of a poll, and keep them. Note one outcome by name: a node has the beans of both kinds.

        Processes that moved meanwhile according to the metadata are left out.
        """
        failed: dict[str, tuple[float, SourceError]] = {}
        answered: dict[str, tuple[float, float]] = {}
        for question in questions:
            replies = {**question.answers.result(), **shared_places(question.targets)}
            places = {target.place for target in self.targets(answers.brokers, question.controller)}
            for key in (target.key for target in question.targets if target.place in places):
                (kind, _, name), found = key.partition(" "), _parsed(replies[key])
                if isinstance(found, SourceError):
                    failed.setdefault(name, (monotonic() - question.asked_at, found))
                    continue
                beans, took = found
                took = beans.at - question.asked_at if took is None else took
                answered[name] = took, time.time() - (monotonic() - beans.at)
                if kind == "broker":
                    answers.broker_beans[int(name)] = beans
                else:
                    answers.controller_beans[name] = beans
        for name, fault in failed.items():
            book.failed(Source.JMX, name, *fault)
        for name, reply in answered.items():
            if name not in failed:
                book.answered(Source.JMX, name, *reply)

    def close(self) -> None:
        """End the child process, and with it the questions under way."""
        self.session.close()

    def targets(self, brokers: Mapping[int, Broker], controller: int | None = None) -> Sequence[JmxTarget]:
        """Return the processes to ask, by `broker ID` or `controller NAME`.

        `controller`: the broker that is the active controller, in ZooKeeper mode. It has the beans of both.
        """
        named = dict(self.addresses)
        if self.port is not None:
            named = {broker.id: (broker.host, self.port) for broker in brokers.values() if broker.host} | named
        hosts = {host.lower() for host in self.hosts}
        targets = []
        for broker, address in named.items():
            known = broker in self.addresses or address[0].lower() in hosts
            targets.append(self._target(f"broker {broker}", address, "broker", named=known))
            if broker == controller and str(broker) not in self.controllers:
                targets.append(self._target(f"controller {broker}", address, "controller", named=known))
        for name, address in self.controllers.items():
            targets.append(self._target(f"controller {name}", address, "controller"))
        return targets

    def _target(
        self, key: str, address: tuple[str, int], kind: Literal["broker", "controller"], *, named: bool = True
    ) -> JmxTarget:
        return JmxTarget(key, *address, self.user, self.password, kind, named)


def _parsed(reply: RawBeans | SourceError) -> tuple[ProcessBeans, float | None] | SourceError:
    """Return the beans, and how long their reading took as of `RawBeans`; or why there are none."""
    if isinstance(reply, SourceError):
        return reply
    try:
        return parse_beans(reply), reply.took
    except Exception as failure:  # noqa: BLE001  # whatever it is, it costs no other process its numbers
        return ProtocolError(f"its beans cannot be read: {type(failure).__name__}")


def shared_places(targets: Iterable[JmxTarget]) -> dict[str, ProtocolError]:
    """Return why targets with one address have no answer, by key: it is not known which one of them answers there."""
    sharing: dict[tuple[str, str, int], list[str]] = defaultdict(list)
    for target in targets:
        sharing[target.kind, target.host.lower(), target.port].append(target.key)
    return {
        key: ProtocolError(f"{', '.join(keys)} have the same JMX address {host}:{port}; correct jmx.brokers")
        for (_, host, port), keys in sharing.items()
        if len(keys) > 1
        for key in keys
    }


def fresh(beans: Mapping[Key, ProcessBeans], clock: float, interval: float) -> dict[Key, ProcessBeans]:
    """Drop old answers: one without a newer one is shown for three polls, or readings where these are rarer.

    `clock`: monotonic seconds. `interval`: seconds between two polls.
    """
    return {key: each for key, each in beans.items() if each.at >= clock - SHOWN_FOR * max(interval, each.every)}
