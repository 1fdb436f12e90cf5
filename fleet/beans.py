"""The beans of `exporter/kafka_warden/sources/bean_list.py` that have a value in a generated cluster."""

import numpy as np

from fleet.advance import TOKENS, TOKENS_A_SECOND
from fleet.moving import Campaign
from fleet.world import World
from kafka_warden.model import ClientBean, ProcessBeans


def broker_beans(world: World, campaign: Campaign | None, broker: int, clock: float) -> ProcessBeans:
    """Beans of a running broker."""
    leader, follower = _throttled(world, campaign, broker)
    values = {name: float(counts[broker]) for name, counts in world.counted.items()}
    values |= {
        "leader_replication_byte_rate": leader,
        "follower_replication_byte_rate": follower,
        "fetcher_failed_partitions_count": 0.0,
        "fetcher_dead_thread_count": 0.0,
        "broker_state": 3.0,
        "process_start_time": float(world.returned_at[broker]),
    }
    return ProcessBeans(clock, values)


def controller_beans(world: World, client: str, clock: float) -> ProcessBeans:
    """Beans of the active controller, also the tokens of the client that creates topics."""
    active = int(world.up[world.cluster.brokers].sum())
    values = {
        "active_controller_count": 1.0,
        "active_broker_count": float(active),
        "fenced_broker_count": float(len(world.cluster.brokers) - active),
        "offline_partitions_count": float((world.lead < 0).sum()),
        "process_start_time": world.settings.start - 30 * 86_400.0,
    }
    tokens = {
        "tokens": world.tokens,
        "mutation_rate": max(TOKENS - world.tokens, 0.0) / 11.0,
        "throttle_time": max(-world.tokens / TOKENS_A_SECOND, 0.0),
    }
    return ProcessBeans(clock, values, mutations=(ClientBean(client, None, tokens),))


def _throttled(world: World, campaign: Campaign | None, broker: int) -> tuple[float, float]:
    """Bytes per second that count against the two limits: moves, and in-sync traffic of listed replicas."""
    leader, follower = (float(each) for each in world.catching_up[broker])
    if campaign is not None:
        mine = world.rows(campaign.topic)
        rows = mine[np.isin(world.number[mine], list(campaign.listed))]
        led = rows[world.leaders()[rows] == broker]
        leader += float((world.rate[led] * (world.isr[led].sum(axis=1) - 1)).sum())
    return leader, follower
