"""A broker that hangs for a moment costs its own numbers only, from the first poll on, whichever broker it is."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from sandbox import Cluster
from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar, configuration

pytestmark = pytest.mark.cluster

POLL: Final = {"interval": "5s", "deadline": "4500ms", "log_dirs": "100ms"}
SESSION: Final = 60_000
"""Milliseconds: a paused broker is not fenced, and so it is asked in every poll."""
PAUSE: Final = 7.0
"""Seconds: longer than a poll, so that one begins while the broker hangs, wherever in the interval the pause starts."""


@pytest.mark.parametrize("pauses", [1, pytest.param(9, marks=[pytest.mark.full_kafka, pytest.mark.timeout(1800)])])
def test_a_pause_costs_nothing_of_another_broker(
    make_cluster: Callable[..., Cluster], tmp_path: Path, pauses: int
) -> None:
    """No source of another broker, and none of the cluster, has an error; the paused broker's offsets have."""
    cluster = make_cluster(tiered=False, controller_properties={"broker.session.timeout.ms": SESSION})
    cluster.admin.create_topic("some", partitions=6, replication_factor=2)
    cluster.load.produce("some", records=100, partitions=range(6))
    with Sidecar(configuration(cluster, poll=POLL), tmp_path) as sidecar:
        before = sidecar.whole_page()
        for number in range(pauses):
            for broker in cluster.broker_ids:
                cluster.pause(broker)
                time.sleep(PAUSE)
                cluster.resume(broker)
                cluster.wait_ready(broker)
                after = sidecar.whole_page()
                failed = errors_since(before, after)
                print(f"pause {number + 1} of broker {broker}: {failed}")
                assert failed["offsets", str(broker)].keys() == {"timeout"}
                assert {where for _, where in failed} == {str(broker)}
                before = after


def errors_since(before: Page, after: Page) -> dict[tuple[str, str], dict[str, float]]:
    """Source and broker to new errors by reason, where there are any."""
    keys = {(labels["source"], labels["broker"]) for labels, _ in after.rows("source_errors_total")}
    found = {(source, broker): after.errors(source, broker, before) for source, broker in sorted(keys)}
    return {key: errors for key, errors in found.items() if errors}
