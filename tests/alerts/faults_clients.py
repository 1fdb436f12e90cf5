"""Clients that exceed their controller mutation quota (KIP-599)."""

from collections.abc import Iterator
from itertools import count
from typing import Final

from tests.alerts.fault import fault
from tests.alerts.stage import QUOTAS, Fired, Stage, fired
from tests.cluster.mutating import WINDOW, create_topic
from tests.support.threads import repeating

PAUSE: Final = 0.5


@fault("mutations-refused", "A client creates topics above its mutation quota")
def throttled(stage: Stage) -> Iterator[set[Fired]]:
    """Creates topics of three bursts each, repeatedly: rejected until it waits long enough."""
    size, topics = round(3 * QUOTAS["batch"] * WINDOW), (f"batch-{number}" for number in count())

    def refused() -> None:
        create_topic(stage.cluster, "batch", next(topics), size)

    with repeating(refused, PAUSE):
        yield {fired("KafkaControllerMutationThrottled", client_id="batch")}
