"""Resets a cluster to its state after `open`, so that the next test finds nothing of the last one."""

from collections.abc import Mapping

from sandbox.admin import Admin
from sandbox.admin_moves import FOLLOWER_REPLICAS, LEADER_REPLICAS
from sandbox.waiting import wait_for

Configs = Mapping[str, str | None]


def clear(admin: Admin, defaults: Configs) -> None:
    """Cancel moves, delete topics, quotas and dynamic broker configs.

    Args:
        admin: Of a cluster with all nodes up.
        defaults: The dynamic defaults of all brokers to restore: Kafka sets some itself.
    """
    admin.cancel()
    topics = admin.topics()
    for topic in topics:
        _unlist(admin, topic)
    admin.delete_topic(*topics)
    admin.clear_client_quotas()
    for broker in admin.running():
        _restore(admin, broker, admin.dynamic_broker_config(broker), {})
    # A broker that was paused or killed learns them late.
    for broker in admin.running():
        _restore(admin, "", admin.default_broker_config(broker), defaults)
    wait_for(
        lambda: all(admin.default_broker_config(broker) == defaults for broker in admin.running()),
        what="every broker has the defaults again",
    )


def _unlist(admin: Admin, topic: str) -> None:
    """Remove the throttled lists: on Kafka 4.1.1, a new topic had those of a deleted topic of the same name."""
    lists = admin.topic_config(topic, (LEADER_REPLICAS, FOLLOWER_REPLICAS))
    if any(lists.values()):
        admin.alter_topic_config(topic, dict.fromkeys(lists))


def _restore(admin: Admin, broker: int | str, now: Configs, wanted: Configs) -> None:
    changes = {key: wanted.get(key) for key in {*now, *wanted} if now.get(key) != wanted.get(key)}
    if changes:
        admin.alter_broker_config(broker, changes)
