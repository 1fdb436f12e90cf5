"""F15: the ACLs of docs/reference/acls.md, taken away one by one: each costs the numbers that are listed there only."""

from collections.abc import Iterator
from typing import Final

from sandbox.admin_principals import CLUSTER_NAME, Acl
from sandbox.protection import MONITOR
from tests.alerts.stage import Fired, fired
from tests.cluster.page import Page
from tests.faults.faults_brokers import blind, names, no_numbers
from tests.faults.witness import Witness

POLLS: Final = 5
"""Until a new sidecar shows all that it can."""
LOG_DIRS: Final = {
    *(f"log_dir_{what}" for what in ("bytes", "cordoned", "online", "total_bytes", "usable_bytes")),
    *("broker_replicas_without_log", "broker_stray_replicas", "topic_bytes"),
}
MOVES: Final = {
    *("reassigning_partitions", "reassignment_replicas"),
    *("reassignment_move_ratio", "reassignment_total_bytes_remaining"),
}
QUORUM: Final = {
    *("controller_info", "quorum_lag_offsets", "quorum_last_caught_up_timestamp_seconds"),
    "broker_metadata_stale_seconds",
}
LIMITS: Final = {
    f"replication_throttle_{what}" for what in ("bytes_per_second", "headroom_bytes_per_second", "origin_info")
}
QUOTAS: Final = {"controller_mutation_quota_config_per_second"}
TOPICS: Final = {
    *("partition_bytes_in_per_second", "partition_end_offset_total"),
    *(f"topic_{what}_partitions" for what in ("offline", "under_min_isr", "non_preferred_leader")),
    *("topic_isr_shrinks_total", "topic_isr_expands_total", "topic_bytes", "topic_messages_in_per_second"),
}
LISTS: Final = {
    *("replication_throttle_floor_bytes_per_second", "replication_throttled_replicas"),
    *("at_min_isr_partitions", "broker_under_min_isr_partitions", "topic_under_min_isr_partitions"),
}
"""Metrics that a quiet cluster has, by what docs/reference/acls.md calls them. A lag of no messages has no bytes."""

REFUSED: Final = fired("KafkaWardenAccessRefused")


def without_describe_of_cluster(witness: Witness) -> Iterator[set[Fired]]:
    """No log directories, no moves, no quorum; and no request that the controller answers."""
    down = {*_each("log_dirs", witness.cluster.broker_ids), ("reassignments", ""), ("quorum", "")}
    lost = LOG_DIRS | MOVES | QUORUM | {"controller_reachable"}
    yield from _without(witness, ("cluster", CLUSTER_NAME, "describe"), down, lost, REFUSED)


def without_configs_of_cluster(witness: Witness) -> Iterator[set[Fired]]:
    """No limits and no window of brokers and controller, no quotas."""
    cluster = witness.cluster
    down = {*_each("configs", (*cluster.broker_ids, *cluster.controller_ids)), ("quotas", "")}
    yield from _without(witness, ("cluster", CLUSTER_NAME, "describe_configs"), down, LIMITS | QUOTAS, REFUSED)


def without_describe_of_topics(witness: Witness) -> Iterator[set[Fired]]:
    """No topic: Kafka leaves it out of the answer, without an error. What was known ages; a new sidecar knows none."""
    acl, admin = ("topic", "*", "describe"), witness.cluster.admin
    before = _settled(witness)
    admin.revoke(MONITOR, [acl])
    try:
        page = witness.until_shown(lambda page: page.get("undescribed_topics"), "the topics are refused")
        assert page.up()["metadata", ""] is False
        assert page.errors("metadata").keys() == {"authorization"}
        witness.until_shown(no_numbers, "old numbers are removed")
        yield blind()
        gone = names(before) - names(_settled(witness))
        assert gone == TOPICS, f"these only on one side: {gone ^ TOPICS}"
    finally:
        admin.grant(MONITOR, [acl])


def without_configs_of_topics(witness: Witness) -> Iterator[set[Fired]]:
    """No throttled lists and no min.insync.replicas."""
    yield from _without(witness, ("topic", "*", "describe_configs"), {("configs", "")}, LISTS, REFUSED)


def _without(
    witness: Witness, acl: Acl, down: set[tuple[str, str]], lost: set[str], *alerts: Fired
) -> Iterator[set[Fired]]:
    """Assert what the sidecar that runs reports, and what one that starts does not know; yield the alerts."""
    admin = witness.cluster.admin
    before = _settled(witness)
    admin.revoke(MONITOR, [acl])
    try:
        page = witness.until(lambda page: page.down() == down, f"just these are down: {down}")
        assert all(page.errors(source, broker, before).keys() == {"authorization"} for source, broker in down)
        assert _settled(witness).down() == down
        gone = names(before) - names(witness.page)
        assert gone == lost, f"these only on one side: {gone ^ lost}"
        yield set(alerts)
    finally:
        admin.grant(MONITOR, [acl])


def _settled(witness: Witness) -> Page:
    """A page of a sidecar that has no number from before."""
    witness.restart()
    for _ in range(POLLS):
        witness.until(lambda _: True, "a poll")
    return witness.page


def _each(source: str, nodes: tuple[int, ...]) -> set[tuple[str, str]]:
    return {(source, str(node)) for node in nodes}
