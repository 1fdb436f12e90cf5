"""What each broker is asked about its own replicas, over links that answer from tables instead of sockets."""

import asyncio
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kafka_warden.clients.kafka.network import Network
from kafka_warden.clients.kafka.repeated import Repeated
from kafka_warden.clients.kafka.requests import DescribeConfigsRequest, DescribeLogDirsRequest
from kafka_warden.errors import AnswerTimeoutError
from kafka_warden.formulas.tiered import NOTHING_TIERED
from kafka_warden.model import UNKNOWN, Source, TopicConfig
from kafka_warden.poller.answers import Cadence, LastAnswers
from kafka_warden.poller.asking import PollContext, PollerState
from kafka_warden.poller.brokers import BrokerQuestions
from kafka_warden.poller.status import StatusBook
from kafka_warden.sources.offsets import EARLIEST_LOCAL, LATEST, LATEST_TIERED
from tests.building import Partition, layout

TOPICS = {"local": [Partition(replicas=(1, 2))], "remote": [Partition(replicas=(1, 2)), Partition(replicas=(2, 1))]}
OFFSETS = {LATEST: 1000, EARLIEST_LOCAL: 0, LATEST_TIERED: 499}

Question = tuple[int, tuple[tuple[str, int], ...]]
"""Timestamp, and the partitions asked about."""


class Link:
    """A broker. `silent_to`: timestamps that it does not answer."""

    def __init__(self, newest: int = 10, tiered: int = 499, silent_to: tuple[int, ...] = ()) -> None:
        self.address = "broker.example:9092"
        self.busy = False
        self.asked: list[Question] = []
        self.logs = [("remote", 0), ("remote", 1), ("stray", 0)]
        self._newest = newest
        self._silent_to = silent_to
        self._offsets = {**OFFSETS, LATEST_TIERED: tiered}

    async def supports(self, _: Any, version: int, timeout_at: float) -> bool:
        """Tell whether it knows a version."""
        assert timeout_at > 0
        return version <= self._newest

    async def ask(self, request: Any, timeout_at: float) -> Any:
        """Answer whatever it is asked."""
        assert timeout_at > 0
        if isinstance(request, Repeated):
            return self._list_offsets(request._build())
        if isinstance(request, DescribeLogDirsRequest):
            return self._log_dirs()
        assert isinstance(request, DescribeConfigsRequest)
        results = [
            SimpleNamespace(error_code=0, error_message=None, resource_name=resource.resource_name, configs=[])
            for resource in request.resources
        ]
        return SimpleNamespace(results=results)

    def _list_offsets(self, request: Any) -> Any:
        wanted = [(topic.name, part) for topic in request.topics for part in topic.partitions]
        timestamp = wanted[0][1].timestamp if wanted else LATEST
        self.asked.append((timestamp, tuple((name, part.partition_index) for name, part in wanted)))
        if timestamp in self._silent_to:
            raise AnswerTimeoutError("no answer")
        offset = self._offsets[timestamp]
        return SimpleNamespace(
            topics=[
                SimpleNamespace(
                    name=topic.name,
                    partitions=[
                        SimpleNamespace(partition_index=part.partition_index, error_code=0, offset=offset)
                        for part in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def _log_dirs(self) -> Any:
        topics = [
            SimpleNamespace(
                name=name,
                partitions=[
                    SimpleNamespace(partition_index=number, partition_size=5, offset_lag=0, is_future_key=False)
                ],
            )
            for name, number in self.logs
        ]
        directory = SimpleNamespace(error_code=0, log_dir="/d", topics=topics, usable_bytes=1, total_bytes=2)
        return SimpleNamespace(error_code=0, results=[directory])


@pytest.fixture
def network() -> Iterator[Network]:
    """A loop."""
    made = Network()
    yield made
    made.close()


def polling(network: Network, links: dict[int, Link], remote: bool = True) -> PollerState:
    """What polls share, of a cluster whose metadata and topic configurations are known."""
    answers = LastAnswers()
    seen = layout(TOPICS)
    answers.adopt(seen)
    answers.update_brokers(seen.brokers, {}, frozenset(links))
    answers.topic_configs = {"local": TopicConfig(), "remote": TopicConfig(remote_storage=remote)}
    book: Any = SimpleNamespace(
        closed=False,
        broker=lambda broker: links[broker.id],
        refused=lambda *_: None,
        note=lambda *_: None,
    )
    return PollerState(network, book, answers, StatusBook(), log_dirs_due=Cadence(60.0), slow_due=Cadence(60.0))


def ask(shared: PollerState) -> PollContext:
    """One poll of the brokers' own questions."""

    async def run() -> PollContext:
        clock = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            asked = PollContext(shared, clock, clock + 5.0, tasks, layout=shared.answers.layout)
            asked.ends, asked.tiered = np.full(6, UNKNOWN, np.int64), np.full(6, UNKNOWN, np.int64)
            assert asked.layout is not None
            assert shared.answers.rows is not None
            cluster_known = asyncio.Event()
            cluster_known.set()
            BrokerQuestions(asked, asked.layout, shared.answers.rows, cluster_known).start()
        asked.publish()
        return asked

    return shared.network.run(run)


def tiered_questions(link: Link) -> list[Question]:
    """What a broker was asked of remote storage."""
    return [question for question in link.asked if question[0] == LATEST_TIERED]


def test_leaders_tell_what_is_in_remote_storage_in_every_poll(network: Network) -> None:
    """Each for what it leads of that topic, after the ends that it is compared with."""
    links = {1: Link(), 2: Link(tiered=-1)}
    shared = polling(network, links)
    for _ in range(2):
        asked = ask(shared)

    assert tiered_questions(links[1]) == [(LATEST_TIERED, (("remote", 0),))] * 2
    assert tiered_questions(links[2]) == [(LATEST_TIERED, (("remote", 1),))] * 2
    timestamps = [timestamp for timestamp, _ in links[1].asked]
    assert timestamps[:4] == [LATEST, LATEST, LATEST_TIERED, EARLIEST_LOCAL]
    assert asked.tiered.tolist() == [UNKNOWN, UNKNOWN, 499, UNKNOWN, NOTHING_TIERED, UNKNOWN]


@pytest.mark.parametrize(("newest", "remote"), [(8, True), (10, False)])
def test_nobody_is_asked_in_vain(network: Network, newest: int, remote: bool) -> None:
    """A broker before Kafka 3.9, and a cluster without remote storage."""
    links = {1: Link(newest), 2: Link(newest)}
    asked = ask(polling(network, links, remote=remote))

    assert tiered_questions(links[1]) + tiered_questions(links[2]) == []
    assert set(asked.tiered.tolist()) == {UNKNOWN}
    assert asked.ends.tolist() == [1000] * 6


def test_a_broker_that_stops_answering_there_is_down_and_keeps_its_ends(network: Network) -> None:
    """Its ends were told; what is in remote storage is unknown, and nothing more is asked of it."""
    links = {1: Link(silent_to=(LATEST_TIERED,)), 2: Link()}
    shared = polling(network, links)
    asked = ask(shared)

    status = shared.book.publish()
    assert asked.tiered.tolist() == [UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, 499, UNKNOWN]
    assert asked.ends.tolist() == [1000] * 6
    assert not status[Source.OFFSETS, "1"].up
    assert not status[Source.LOG_DIRS, "1"].up
    assert status[Source.OFFSETS, "2"].up


def test_logs_are_compared_when_all_are_asked_about(network: Network) -> None:
    """Both brokers show the logs of `remote` and a stray one, and none of `local`; once a minute, not every poll."""
    links = {1: Link(), 2: Link()}
    shared = polling(network, links)
    first = ask(shared)
    assert first.layout is not None
    expected = frozenset({("local", first.layout.topic_ids[0], 0)})
    told = dict(shared.answers.log_gaps)
    assert [gaps.missing for gaps in told.values()] == [expected] * 2
    assert [gaps.stray for gaps in told.values()] == [{("stray", 0)}] * 2
    assert {gaps.at for gaps in told.values()} == {first.clock}

    ask(shared)
    assert shared.answers.log_gaps == told
