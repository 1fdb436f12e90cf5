"""Clients that exceed or use up their controller mutation quota (KIP-599)."""

import time
from collections.abc import Iterator
from itertools import count
from typing import Final

from tests.alerts.fault import fault
from tests.alerts.stage import QUOTAS, Fired, Stage, fired
from tests.cluster.mutating import WINDOW, create_topic
from tests.support.threads import repeating

PAUSE: Final = 0.5
LEFT: Final = 1.0
"""Tokens that the careful client leaves."""


@fault("mutations-refused", "A client creates topics above its mutation quota")
def throttled(stage: Stage) -> Iterator[set[Fired]]:
    """Creates topics of three bursts each, repeatedly: rejected until it waits long enough."""
    size, topics = round(3 * QUOTAS["batch"] * WINDOW), (f"batch-{number}" for number in count())

    def refused() -> None:
        create_topic(stage.cluster, "batch", next(topics), size)

    with repeating(refused, PAUSE):
        yield {
            fired("KafkaControllerMutationThrottled", client_id="batch"),
            fired("KafkaControllerMutationTokensDraining", client_id="batch"),
        }


@fault("tokens-draining", "A client creates as many partitions as it just may")
def draining(stage: Stage) -> Iterator[set[Fired]]:
    """Creates exactly as many partitions as there are tokens."""
    rate, topics = QUOTAS["steady"], (f"steady-{number}" for number in count())
    tokens, counted = rate * WINDOW, time.monotonic()

    def careful() -> None:
        nonlocal tokens, counted
        now = time.monotonic()
        tokens, counted = min(rate * WINDOW, tokens + rate * (now - counted)), now
        if (size := int(tokens - LEFT)) >= rate:
            assert create_topic(stage.cluster, "steady", next(topics), size).error_code == 0
            tokens -= size

    with repeating(careful, PAUSE):
        yield {fired("KafkaControllerMutationTokensDraining", client_id="steady")}
