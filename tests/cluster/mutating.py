"""Mutations by a client of any name, one request each, with the times between which the controller saw it."""

import time
from dataclasses import dataclass

from kafka.protocol.admin import CreateTopicsRequest

from sandbox import Cluster, link
from tests.cluster.page import Page

TIMEOUT = 60.0
RATE = 5
WINDOW = 11
"""Seconds: `controller.quota.window.num` x `controller.quota.window.size.seconds` by default."""


@dataclass(frozen=True)
class Mutation:
    """One request: Kafka's error code, and between which two Unix times it was worked on."""

    error_code: int
    after: float
    before: float


def create_topic(
    cluster: Cluster, client_id: str, topic: str, partitions: int, user: str = "admin", address: str | None = None
) -> Mutation:
    """Create a topic of replication factor 1 as this client, and ask for nothing else; `address` is of the broker."""
    creatable = CreateTopicsRequest.CreatableTopic(
        name=topic, num_partitions=partitions, replication_factor=1, assignments=[], configs=[]
    )
    request = CreateTopicsRequest(topics=[creatable], timeout_ms=int(1000 * TIMEOUT), validate_only=False)
    config = {**cluster.protection.python_config(user), "client_id": client_id}
    after = time.time()
    reply = link.ask(address or cluster.bootstrap.split(",")[0], request, config, TIMEOUT)
    return Mutation(reply.topics[0].error_code, after, time.time())


def assert_tokens_follow(page: Page, mutation: Mutation, left: float, controller: int, **client: str) -> None:
    """The page's tokens are what the mutation left plus RATE a second since, up to a full bucket, within the times."""
    read = page.one("source_last_success_timestamp_seconds", source="jmx", broker=controller)
    took = page.one("source_duration_seconds", source="jmx", broker=controller)
    tokens = page.one("controller_mutation_tokens", **client)
    # On a busy machine the page may come when the bucket is full.
    least = min(left + RATE * (read - took - mutation.before), RATE * WINDOW)
    most = min(left + RATE * (read - mutation.after), RATE * WINDOW)
    print(f"tokens of {client}: {tokens:.2f}, by the formula {least:.2f} to {most:.2f}")
    assert least <= tokens <= most
    assert page.one("controller_mutation_quota_per_second", **client) == RATE
    assert page.one("controller_mutation_burst_tokens", **client) == RATE * WINDOW
    assert page.one("controller_mutation_admission_delay_seconds", **client) == max(0, -tokens / RATE)
