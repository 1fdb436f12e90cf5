"""Where copies of replicas begin: with the leader's local log, or behind what is in remote storage (KIP-1023)."""

import numpy as np

from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.formulas.tiered import first_copied
from kafka_warden.model import Longs, skips_tiered


def first_offsets(indexed: IndexedSnapshot) -> Longs:
    """Return (R,) the first offset that a replica copies if it is empty, `UNKNOWN` where the leader's start is."""
    snapshot, start = indexed.snapshot, indexed.snapshot.partitions.start
    partitions, replicas = snapshot.partitions, snapshot.replicas
    first = start[replicas.partition]
    if not any(config.follower_fetch_last_tiered for config in snapshot.broker_configs.values()):
        return first
    # From the start of a whole log a follower copies all of it.
    empty = np.flatnonzero((replicas.end == 0) & (first > 0))
    configs, brokers = snapshot.topic_configs, snapshot.broker_configs
    topics = [snapshot.topics[place] for place in partitions.topic[replicas.partition[empty]].tolist()]
    hosts = replicas.broker[empty].tolist()
    skips = [skips_tiered(configs.get(topic), brokers.get(host)) for topic, host in zip(topics, hosts, strict=True)]
    rows = empty[np.array(skips, bool)]
    first[rows] = first_copied(start, partitions.tiered)[replicas.partition[rows]]
    return first
