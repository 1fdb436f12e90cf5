"""Bringing a cluster back to where it was when it opened, so that the next test finds nothing of the last one."""

from collections.abc import Mapping

from sandbox.admin import Admin
from sandbox.admin_moves import FOLLOWER_REPLICAS, LEADER_REPLICAS

Configs = Mapping[str, str | None]


def clear(admin: Admin, defaults: Configs) -> None:
    """Cancel moves, delete topics, quotas and dynamic broker configs.

    Args:
        admin: Of a cluster whose nodes all run.
        defaults: The dynamic defaults of all brokers to come back to: Kafka sets some itself.
    """
    admin.cancel()
    topics = admin.topics()
    for topic in topics:
        _unlist(admin, topic)
    admin.delete_topic(*topics)
    admin.clear_client_quotas()
    for broker in admin.running():
        _restore(admin, broker, admin.dynamic_broker_config(broker), {})
    _restore(admin, "", admin.default_broker_config(), defaults)


def _unlist(admin: Admin, topic: str) -> None:
    """Take the throttled lists away: seen on Kafka 4.1.1, a new topic had those of a deleted one of the same name."""
    lists = admin.topic_config(topic, (LEADER_REPLICAS, FOLLOWER_REPLICAS))
    if any(lists.values()):
        admin.alter_topic_config(topic, dict.fromkeys(lists))


def _restore(admin: Admin, broker: int | str, now: Configs, wanted: Configs) -> None:
    changes = {key: wanted.get(key) for key in {*now, *wanted} if now.get(key) != wanted.get(key)}
    if changes:
        admin.alter_broker_config(broker, changes)
