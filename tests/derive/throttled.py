"""A cluster with a throttle, and its problems poll by poll."""

from collections.abc import Iterable, Mapping
from typing import Any

from kafka_warden.derive import Derived, Memory, derive
from kafka_warden.model import (
    UNLIMITED,
    Broker,
    BrokerConfig,
    Limit,
    Origin,
    Parameters,
    ProcessBeans,
    Side,
    Snapshot,
    TopicConfig,
)
from kafka_warden.replies import LogDir
from tests.building import Topics, snapshot

MB = 1e6
STEP = 10.0
ALL = (1, 2, 3, 4)

Found = set[tuple[int, str, str]]
"""(broker, side, problem)."""


def brokers(ids: Iterable[int] = ALL) -> dict[int, Broker]:
    return {broker: Broker(broker, f"broker-{broker}.example", 9092) for broker in ids}


def rates(leader: Mapping[int, float], follower: Mapping[int, float] | None = None, **config: Any) -> dict[int, Any]:
    """Configure brokers 1 to 4: rates in bytes per second, the follower's as the leader's when they are not given."""
    follower = leader if follower is None else follower
    return {
        broker: BrokerConfig(
            limits={
                Side.LEADER: _limit(leader.get(broker)),
                Side.FOLLOWER: _limit(follower.get(broker)),
                Side.LOG_DIRS: Limit(),
            },
            **config,
        )
        for broker in ALL
    }


def throttle(
    lists: TopicConfig, leader: Mapping[int, float], follower: Mapping[int, float] | None = None, **config: Any
) -> dict[str, Any]:
    """Configure rates as `rates` does, and the lists of the topic `t`."""
    return {"broker_configs": rates(leader, follower, **config), "topic_configs": {"t": lists}}


def everywhere(rate: float) -> dict[int, float]:
    return dict.fromkeys(ALL, rate)


def throttled_rates(**rates: float) -> ProcessBeans:
    return ProcessBeans(0.0, {f"{side}_replication_byte_rate": rate for side, rate in rates.items()})


def poll(topics: Topics, clock: float, **fields: Any) -> Snapshot:
    """Make a poll of a cluster of four brokers with known log directories."""
    made: dict[str, Any] = {
        "brokers": brokers(),
        "broker_configs": rates({}),
        "topic_configs": {name: TopicConfig() for name in topics},
        "log_dirs": tuple(
            LogDir(broker, "/data", online=True, bytes=0, usable_bytes=10**12, total_bytes=10**12) for broker in ALL
        ),
    }
    return snapshot(topics, clock=clock, **{**made, **fields})


class Watch:
    """Derives one poll after another."""

    def __init__(self, every: float = STEP, **parameters: Any) -> None:
        self._memory: Memory | None = None
        self._parameters = Parameters(**parameters)
        self._clock = 0.0
        self._every = every

    def see(self, topics: Topics, polls: int = 1, **fields: Any) -> Derived:
        for _ in range(polls):
            seen = poll(topics, self._clock, **fields)
            self._memory, derived = derive(seen, self._memory, self._parameters)
            self._clock += self._every
        return derived

    def problems(self, topics: Topics, polls: int = 1, **fields: Any) -> Found:
        return found(self.see(topics, polls, **fields))


def found(derived: Derived) -> Found:
    return {(broker, str(side), str(problem)) for broker, side, problem in derived.throttling.problems}


def of(problem: str, *places: tuple[int, str]) -> Found:
    return {(broker, side, problem) for broker, side in places}


def _limit(rate: float | None) -> Limit:
    return Limit() if rate is None or rate == UNLIMITED else Limit(rate, Origin.BROKER)
