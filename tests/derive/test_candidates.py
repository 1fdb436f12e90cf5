"""Which replicas may lead partitions without a leader (KIP-966)."""

from typing import Any, Final

import pytest

from kafka_warden.derive.cluster import Candidacy
from kafka_warden.model import IN_ELR, LAST_KNOWN_ELR, UNKNOWN
from tests.building import Partition, judge, snapshot

ISR, ELR, LAST = Candidacy.ISR, Candidacy.ELR, Candidacy.LAST_KNOWN_ELR
LEADS: Final = Partition(replicas=(1, 2, 3))


def offline(eligible: dict[int, int] | None, *in_isr: int) -> Partition:
    return Partition(leader=UNKNOWN, out=tuple({1, 2, 3} - set(in_isr)), eligible=eligible)


@pytest.mark.parametrize(
    ("partitions", "members", "counts"),
    [
        ([LEADS], {}, [0, 0, 0]),
        ([offline({}, 3)], {(0, 3): {ISR}}, [0, 0, 1]),
        ([offline({2: IN_ELR + LAST_KNOWN_ELR, 3: IN_ELR})], {(0, 2): {ELR, LAST}, (0, 3): {ELR}}, [0, 1, 1]),
        ([offline({2: LAST_KNOWN_ELR})], {(0, 2): {LAST}}, [0, 0, 0]),
        ([offline(None, 3)], {(0, 3): {ISR}}, [0, 0, 1]),
        ([offline(None)], {}, None),
        ([offline(None), offline({}, 3)], {(1, 3): {ISR}}, None),
        ([offline({}, 3), LEADS, offline({3: IN_ELR})], {(0, 3): {ISR}, (2, 3): {ELR}}, [0, 0, 2]),
    ],
    ids=[
        "all have leaders",
        "no ELR: the ISR keeps its last member",
        "ELR, and the last leader among it",
        "the last leader stopped uncleanly",
        "no answer, but an ISR",
        "no answer and no ISR: unknown",
        "no partial sum",
        "counted by broker",
    ],
)
def test_candidates(partitions: list[Partition], members: Any, counts: list[int] | None) -> None:
    found = judge(snapshot({"t": partitions}))
    replicas = found.indexed.snapshot.replicas
    by_replica: dict[tuple[int, int], set[Candidacy]] = {}
    for candidacy, rows in found.candidates.rows.items():
        for row in rows.tolist():
            key = int(replicas.partition[row]), int(replicas.broker[row])
            by_replica.setdefault(key, set()).add(candidacy)
    assert by_replica == members
    assert (found.candidates.partitions is None) == (counts is None)
    assert found.candidates.partitions is None or found.candidates.partitions.tolist() == counts
