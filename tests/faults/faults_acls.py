"""F15: the ACLs of docs/security.md, taken away one by one: each costs the numbers that are listed there, and no others."""

from collections.abc import Iterator
from typing import Final

from sandbox.admin_principals import CLUSTER_NAME, Acl
from sandbox.protection import MONITOR
from tests.alerts.stage import Fired, fired
from tests.cluster.page import Page
from tests.faults.witness import Witness

POLLS: Final = 5
"""Until a new sidecar shows all that it can."""
"""LISTS"""


def without_describe_of_cluster(witness: Witness) -> Iterator[set[Fired]]:
    """No log directories, no moves, no quorum."""
    down = {*_each("log_dirs", witness.cluster.broker_ids), ("reassignments", ""), ("quorum", "")}
    yield from _without(witness, ("cluster", CLUSTER_NAME, "describe"), down, LOG_DIRS | MOVES | QUORUM)


def without_configs_of_cluster(witness: Witness) -> Iterator[set[Fired]]:
    """No limits and no window of brokers and controller, no quotas."""
    cluster = witness.cluster
    down = {*_each("configs", (*cluster.broker_ids, *cluster.controller_ids)), ("quotas", "")}
    yield from _without(witness, ("cluster", CLUSTER_NAME, "describe_configs"), down, LIMITS | QUOTAS)


def without_describe_of_topics(witness: Witness) -> Iterator[set[Fired]]:
    """No topic: Kafka leaves it out of the answer, which is no error."""
    yield from _without(witness, ("topic", "*", "describe"), set(), TOPICS)


def without_configs_of_topics(witness: Witness) -> Iterator[set[Fired]]:
    """No throttled lists and no min.insync.replicas."""
    yield from _without(witness, ("topic", "*", "describe_configs"), {("configs", "")}, LISTS)


def _without(witness: Witness, acl: Acl, down: set[tuple[str, str]], names: set[str]) -> Iterator[set[Fired]]:
    """Assert what the sidecar that runs reports, and what one that starts does not know; yield the alerts."""
    admin = witness.cluster.admin
    before = _settled(witness)
    admin.revoke(MONITOR, [acl])
    try:
        page = witness.until(lambda page: page.down() == down, f"just these are down: {down}")
        assert all(page.errors(source, broker, before).keys() == {"authorization"} for source, broker in down)
        assert _settled(witness).down() == down
        assert before.names() - witness.page.names() == names
        yield {fired("KafkaWardenBlind")} if down else set()
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
