"""A poller of a small cluster that answers."""

from collections.abc import Iterator

import pytest

from tests.poller.polling import Polling, polling
from tests.support.scripted import ScriptedCluster, VirtualClock


@pytest.fixture
def polled(brokers: ScriptedCluster, clock: VirtualClock) -> Iterator[Polling]:
    """After the first poll. Each broker leads one partition and follows two."""
    brokers.controller()
    brokers.topic("a", [[1, 2, 3], [2, 3, 1], [3, 1, 2]], end=100, rate=10.0, config={"min.insync.replicas": "2"})
    brokers.do("quotas", quotas=[{"entity": {"user": "alice"}, "values": {"controller_mutation_rate": 5}}])
    with polling(brokers, clock) as made:
        made.poll()
        assert made.down() == {}
        yield made
