"""Hypothesis strategies: snapshots with any mixture of known and unknown values."""

from typing import Any

from hypothesis import strategies as st

from kafka_warden.model import (
    NOTHING_TIERED,
    UNKNOWN,
    UNLIMITED,
    Broker,
    BrokerConfig,
    ClientBean,
    Limit,
    Origin,
    ProcessBeans,
    QuotaEntity,
    Side,
    Snapshot,
    Source,
    SourceStatus,
    TopicConfig,
)
from kafka_warden.replies import (
    ControllerWindow,
    FutureReplica,
    LogDir,
    LogGaps,
    MissingLog,
    Quorum,
    QuorumReplica,
    StrayLog,
)
from tests.building import EPOCH, Partition, snapshot

BROKERS = [1, 2, 3, 4]
TOPICS = ["a", "b-b", "c.c"]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
OFFSETS = st.integers(0, 1000)
BYTES = st.integers(UNKNOWN, 1 << 40)
REALS = st.floats(allow_nan=False)
AMOUNTS = st.floats(0, allow_nan=False)
VALUES = st.dictionaries(TEXT, REALS, max_size=3)


@st.composite
def partitions(draw: st.DrawFn) -> Partition:
    """One partition, with or without a leader."""
    replicas = draw(st.lists(st.sampled_from(BROKERS), min_size=1, max_size=4, unique=True))
    some = st.lists(st.sampled_from(replicas), unique=True, max_size=2)
    return Partition(
        replicas=replicas,
        leader=draw(st.sampled_from([*replicas, UNKNOWN])),
        epoch=draw(st.integers(UNKNOWN, 3)),
        out=draw(some),
        offline=draw(some),
        adding=draw(some),
        removing=draw(some),
        start=draw(OFFSETS),
        end=draw(OFFSETS),
        tiered=draw(st.sampled_from([UNKNOWN, NOTHING_TIERED, 0, 17])),
        lag=draw(st.dictionaries(st.sampled_from(replicas), OFFSETS)),
        silent=draw(some),
        sizes=draw(st.dictionaries(st.sampled_from(replicas), BYTES)),
    )


LIMITS = st.builds(Limit, st.sampled_from([0.0, 1e6, 0.1, UNLIMITED]), st.sampled_from(Origin))
BROKER_CONFIGS = st.builds(
    BrokerConfig,
    limits=st.dictionaries(st.sampled_from(Side), LIMITS),
    remote_copy_quota=st.none() | AMOUNTS,
    replica_lag_time_max=st.floats(0.1, 100),
    kafka_version=st.none() | TEXT,
)
LISTS = st.sampled_from(["", "*", "0:1", "0:1,1:2"])
TOPIC_CONFIGS = st.builds(TopicConfig, LISTS, LISTS, st.booleans(), st.integers(1, 1 << 30), st.booleans())
CLIENTS = st.lists(st.builds(ClientBean, st.none() | TEXT, st.none() | TEXT, VALUES), max_size=2).map(tuple)
PROCESSES = st.builds(ProcessBeans, st.floats(0, 100), VALUES, CLIENTS, CLIENTS)
OUTCOMES = st.builds(
    SourceStatus, st.booleans(), AMOUNTS, st.none() | AMOUNTS, st.dictionaries(TEXT, st.integers(0, 9))
)
MEMBERS = st.builds(QuorumReplica, st.integers(0, 200), st.booleans(), BYTES, st.none() | AMOUNTS)
NAMED = st.tuples(st.sampled_from(TOPICS), st.integers(0, 2))
MISSING = st.builds(MissingLog, st.sampled_from(TOPICS), st.binary(min_size=16, max_size=16), st.integers(0, 2))
STRAY = st.builds(StrayLog, st.sampled_from(TOPICS), st.integers(0, 2))
GAPS = st.builds(
    LogGaps,
    st.floats(0, 100),
    st.none() | st.frozensets(MISSING, max_size=3),
    st.frozensets(STRAY, max_size=3),
)
HOSTS = st.builds(Broker, st.just(0), TEXT, st.integers(0, 65535), st.none() | TEXT, st.booleans(), st.booleans())
DIRECTORIES = st.builds(LogDir, st.sampled_from([*BROKERS, 9]), TEXT, st.booleans(), BYTES, BYTES, BYTES)


def by_broker(values: st.SearchStrategy[Any], *more: int) -> st.SearchStrategy[dict[int, Any]]:
    """Values by broker, also for brokers that the cluster does not list."""
    return st.dictionaries(st.sampled_from([*BROKERS, *more]), values, max_size=3)


@st.composite
def snapshots(draw: st.DrawFn, clock: float) -> Snapshot:
    topics = draw(st.dictionaries(st.sampled_from(TOPICS), st.lists(partitions(), min_size=1, max_size=2), max_size=3))
    hosts = {broker: draw(HOSTS) for broker in draw(st.sets(st.sampled_from([*BROKERS, 7]), min_size=1))}
    moving = draw(st.lists(st.tuples(NAMED, st.sampled_from(BROKERS)), max_size=2, unique=True))
    keys = st.tuples(st.sampled_from(Source), st.sampled_from(["", "1", "2", "101", "host:9"]))
    return snapshot(
        topics,
        clock=clock,
        time=EPOCH + draw(st.sampled_from([clock, clock - 4000.5, clock + 1e6])),
        brokers={id_: Broker(id_, h.host, h.port, h.rack, h.fenced, h.gone) for id_, h in hosts.items()},
        controller=draw(st.none() | st.integers(0, 200)),
        kafka_version=draw(st.none() | TEXT),
        offsets_at=draw(by_broker(st.floats(0, 100), 8)),
        metadata_ages=draw(by_broker(st.floats(0, 100), 8)),
        log_dirs=tuple(draw(st.lists(DIRECTORIES, max_size=3))),
        placed=draw(by_broker(st.dictionaries(NAMED, TEXT, max_size=2))),
        future_replicas=tuple(
            FutureReplica(*named, broker, draw(TEXT), draw(BYTES), draw(BYTES)) for named, broker in moving
        ),
        log_gaps=draw(by_broker(GAPS)),
        broker_configs=draw(by_broker(BROKER_CONFIGS, 8)),
        topic_configs=draw(st.dictionaries(st.sampled_from([*TOPICS, "gone"]), TOPIC_CONFIGS)),
        reassignments_known=draw(st.booleans()),
        quotas=draw(
            st.none() | st.lists(st.builds(QuotaEntity, st.none() | TEXT, st.none() | TEXT, VALUES)).map(tuple)
        ),
        quorum=draw(
            st.none()
            | st.builds(
                Quorum,
                st.integers(UNKNOWN, 200),
                st.integers(0, 9),
                OFFSETS,
                st.lists(MEMBERS, max_size=2).map(tuple),
                st.dictionaries(st.integers(0, 200), TEXT, max_size=2),
            )
        ),
        controller_window=draw(st.none() | st.builds(ControllerWindow, st.integers(1, 20), st.floats(0.1, 10))),
        broker_beans=draw(by_broker(PROCESSES, 8)),
        controller_beans=draw(st.dictionaries(st.sampled_from(["101", "1", "host:9"]), PROCESSES)),
        status=draw(st.dictionaries(keys, OUTCOMES)),
    )


def histories() -> st.SearchStrategy[list[Snapshot]]:
    """Some polls, ten seconds apart on the monotonic clock."""
    return st.integers(1, 4).flatmap(lambda n: st.tuples(*(snapshots(10.0 * i) for i in range(n)))).map(list)
