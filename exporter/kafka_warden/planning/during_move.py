"""The cluster while a plan runs: its replicas beside the arriving ones, listed as kafka-reassign-partitions does.

The tool sets the lists of every topic that moves: the old replicas on the leader's, the arriving ones on the follower's
(`calculateLeaderThrottles`, `calculateFollowerThrottles`). Lists of other topics stay as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kafka_warden.formulas import throttle
from kafka_warden.formulas.ops import as_known
from kafka_warden.model import SIDES, UNKNOWN, Bools, Floats, Ints, Side, Snapshot
from kafka_warden.planning.moving import Moving


@dataclass(frozen=True, slots=True)
class During:
    """B brokers, P partitions; the rows of `replicas` are those of the snapshot, then the arriving ones."""

    brokers: Ints
    """(B,) ids, ascending."""
    replicas: throttle.Replicas
    bytes_in: Floats
    """(P,)"""

    def floors(self) -> dict[Side, dict[int, float]]:
        """In-sync traffic that counts against the limit of each broker and side, NaN where a rate is unknown."""
        floors = throttle.floors(self.replicas, self.bytes_in, len(self.brokers))
        return {side: self._by_broker(column) for side, column in zip(SIDES, floors, strict=True)}

    def lower_bounds(self) -> dict[int, float | None]:
        """KIP-73's least throttle of each broker, `None` where it is not known."""
        found = throttle.lower_bound(self.replicas, self.bytes_in, len(self.brokers)).values
        return {broker: as_known(value) for broker, value in self._by_broker(found).items()}

    def upper_bounds(self, network: float) -> dict[int, float | None]:
        """KIP-73's greatest throttle of each broker, `None` where it is not known. `network`: bytes per second."""
        found = throttle.upper_bound(self.replicas, self.bytes_in, len(self.brokers), network).values
        return {broker: as_known(value) for broker, value in self._by_broker(found).items()}

    def _by_broker(self, column: Floats) -> dict[int, float]:
        return dict(zip(self.brokers.tolist(), column.tolist(), strict=True))


def during_move(snapshot: Snapshot, moving: Sequence[Moving], bytes_in: Floats) -> During:
    """Lay the plan over the snapshot. `bytes_in`: (P,) bytes per second, NaN where unknown."""
    partitions, replicas = snapshot.partitions, snapshot.replicas
    new = [(p.row, one.broker) for p in moving for one in p.arriving if not one.under_way]
    rows = np.array([row for row, _ in new], replicas.partition.dtype)
    hosts = np.array([broker for _, broker in new], replicas.broker.dtype)
    broker = np.concatenate([replicas.broker, hosts])
    brokers = np.unique(np.concatenate([np.fromiter(snapshot.brokers, np.int32), broker])).astype(np.int32)
    is_leader = np.zeros(len(broker), bool)
    is_leader[partitions.leader_row[partitions.leader_row != UNKNOWN]] = True
    nothing = np.zeros(len(new), bool)
    listed = _listed(snapshot, moving)
    return During(
        brokers,
        throttle.Replicas(
            partition=np.concatenate([replicas.partition, rows]),
            broker=np.searchsorted(brokers, broker).astype(np.int32),
            is_leader=is_leader,
            in_isr=np.concatenate([replicas.in_isr, nothing]),
            leader_listed=np.concatenate([listed[Side.LEADER], nothing]),
            follower_listed=np.concatenate([listed[Side.FOLLOWER], ~nothing]),
        ),
        bytes_in,
    )


def _listed(snapshot: Snapshot, moving: Sequence[Moving]) -> dict[Side, Bools]:
    """(R,) replicas of the snapshot that the lists name once the tool has set its own."""
    replicas = snapshot.replicas
    planned = np.zeros(len(snapshot.partitions), bool)
    planned[[partition.row for partition in moving]] = True
    ours = planned[replicas.partition]
    rewritten = {partition.topic for partition in moving}
    return {
        Side.LEADER: _standing(snapshot, rewritten, Side.LEADER) | (ours & ~replicas.adding),
        Side.FOLLOWER: _standing(snapshot, rewritten, Side.FOLLOWER) | (ours & replicas.adding),
    }


def _standing(snapshot: Snapshot, rewritten: set[str], side: Side) -> Bools:
    """(R,) replicas that the lists of topics name which the tool does not write."""
    values = [
        (index, config.leader_throttled if side is Side.LEADER else config.follower_throttled)
        for index, topic in enumerate(snapshot.topics)
        if topic not in rewritten and (config := snapshot.topic_configs.get(topic)) is not None
    ]
    lists = throttle.lists_of(values)
    partition = snapshot.replicas.partition
    topic, number = snapshot.partitions.topic[partition], snapshot.partitions.number[partition]
    return throttle.listed_rows(lists, topic, number, snapshot.replicas.broker)
