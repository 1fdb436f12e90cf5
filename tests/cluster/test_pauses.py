"""A broker that hangs for a moment costs its own numbers only, from the first poll on, whichever broker it is."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from sandbox import Cluster
from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar, configuration

pytestmark = [pytest.mark.cluster, pytest.mark.full_kafka]

POLL: Final = {"interval": "5s", "deadline": "4500ms", "log_dirs": "100ms"}
SESSION: Final = 60_000
"""Milliseconds: a paused broker is not fenced, and so it is asked in every poll."""
INTERVAL: Final = 5.0
PAUSE: Final = 7.0
"""Seconds: longer than the interval, so that a poll starts while the broker hangs."""
FIRST, STEP = 4.0, 0.6
"""Seconds after a poll at which the first pause starts, shortly before the next poll, and by which the others shift."""


@pytest.mark.parametrize("pauses", [1, pytest.param(9, marks=pytest.mark.timeout(1800))])
def test_a_pause_costs_nothing_of_another_broker(
    make_cluster: Callable[..., Cluster], tmp_path: Path, pauses: int
) -> None:
    """No source of another broker, and none of the cluster, has an error; the paused broker has."""
    cluster = make_cluster(tiered=False, controller_properties={"broker.session.timeout.ms": SESSION})
    cluster.admin.create_topic("some", partitions=6, replication_factor=2)
    cluster.load.produce("some", records=100, partitions=range(6))
    with Sidecar(configuration(cluster, poll=POLL), tmp_path) as sidecar:
        before, sources = sidecar.whole_page(), set()
        for number in range(pauses):
            for broker in cluster.broker_ids:
                time.sleep((FIRST + STEP * number) % INTERVAL)
                cluster.pause(broker)
                time.sleep(PAUSE)
                cluster.resume(broker)
                cluster.wait_ready(broker)
                after = sidecar.whole_page()
                failed = errors_since(before, after)
                print(f"pause {number + 1} of broker {broker}: {failed}")
                assert {where for _, where in failed} <= {str(broker)}
                before = after
                sources |= {source for source, _ in failed}
    assert sources >= {"offsets", "log_dirs", "configs"}


def errors_since(before: Page, after: Page) -> dict[tuple[str, str], dict[str, float]]:
    """Source and broker to new errors by reason, where there are any."""
    keys = {(labels["source"], labels["broker"]) for labels, _ in after.rows("source_errors_total")}
    found = {(source, broker): after.errors(source, broker, before) for source, broker in sorted(keys)}
    return {key: errors for key, errors in found.items() if errors}
