"""Throttle problems that users of other tools reported, each detected here. Numbers are their issues'."""

import pytest

from kafka_warden.model import Limit, Origin, Side, TopicConfig
from kafka_warden.sources.configs import parse_broker_config
from tests.building import Partition, Topics
from tests.derive.throttled import MB, Watch, of, rates

TOOL = TopicConfig(leader_throttled="0:1,0:2,1:1,1:2", follower_throttled="0:3,1:4")
RATES = {1: 2 * MB, 2: 2 * MB, 3: 2 * MB, 4: 2 * MB}


def moves(*targets: int, end: int = 200_000, lag: int = 100_000) -> Topics:
    return {
        "t": [
            Partition(replicas=(1, 2, target), adding=(target,), removing=(2,), end=end, lag={target: lag})
            for target in targets
        ]
    }


REST: Topics = {"t": [Partition(replicas=(1, 3), end=200_000), Partition(replicas=(1, 4), end=200_000)]}


class Entry:
    """One configuration entry of DescribeConfigs, its layers as synonyms."""

    def __init__(self, value: str, source: int, *synonyms: "Entry") -> None:
        self.value, self.source, self.config_source, self.synonyms = value, source, source, list(synonyms)


BROKER, DEFAULT, STATIC = 2, 3, 4
KEY = "leader.replication.throttled.rate"


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (Entry("5", STATIC), Limit()),
        (Entry("5", DEFAULT, Entry("5", DEFAULT), Entry("9", STATIC)), Limit(5.0, Origin.CLUSTER_DEFAULT)),
        (Entry("7", BROKER, Entry("7", BROKER), Entry("5", DEFAULT)), Limit(7.0, Origin.BROKER)),
        (Entry("0", BROKER, Entry("0", BROKER), Entry("5", DEFAULT)), Limit(0.0, Origin.BROKER)),
    ],
)
def test_cruise_control_2078_2385_static_and_default_throttles(entry: Entry, expected: Limit) -> None:
    """A static line is ignored as brokers do, a cluster default counts, a broker's own wins; its origin is shown."""
    assert parse_broker_config({KEY: entry}).limits[Side.LEADER] == expected


def test_cruise_control_748_half_removed_throttle() -> None:
    """The replica lists stay, the brokers' rates are gone: old sources that host nothing any more are shown, too."""
    watch = Watch()
    watch.problems(moves(3, 4), polls=3, broker_configs=rates(RATES), topic_configs={"t": TOOL})
    raised = watch.problems(REST, polls=3, topic_configs={"t": TOOL})
    assert raised == of("lopsided", (1, "leader"), (2, "leader"), (3, "follower"), (4, "follower"))
