"""Controller mutation quotas, KIP-599: the page, the formula and the bean say the same."""

import math
from pathlib import Path

import pytest

from sandbox import Cluster
from tests.cluster.beans import read_beans
from tests.cluster.mutating import RATE, WINDOW, assert_tokens_follow, create_topic
from tests.cluster.sidecar import Sidecar, configuration

pytestmark = [pytest.mark.cluster, pytest.mark.realtime, pytest.mark.versions]

QUANTILES = ("0.5", "0.75", "0.95", "0.98", "0.99", "0.999")
ODD_NAMES = ('a "quoted" \\ client, type=*?:', "größe/😀", "%41 per cent", "two\nlines")
TOKENS = "kafka.server:type=ControllerMutation,client-id=batch/tokens"


def test_tokens_on_the_page_are_those_of_the_formula_and_of_the_bean(cluster: Cluster, tmp_path: Path) -> None:
    """R = 5: one topic of 100 partitions leaves 55 - 100 tokens, which refill at 5 a second, here as in the bean."""
    controller = cluster.active_controller()
    cluster.admin.set_client_quota(client_id="batch", values={"controller_mutation_rate": RATE})
    batch = {"user": "", "client_id": "batch"}

    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        sidecar.whole_page()
        mutation = create_topic(cluster, "batch", "hundred", 100)
        assert mutation.error_code == 0
        for _ in range(2):
            page = sidecar.wait(lambda page: ("jmx", str(controller)) not in page.down())
            assert_tokens_follow(page, mutation, RATE * WINDOW - 100, controller, **batch)
        bean = read_beans(cluster.jmx_controllers[controller], TOKENS)

    read = page.one("source_last_success_timestamp_seconds", source="jmx", broker=controller)
    took = page.one("source_duration_seconds", source="jmx", broker=controller)
    tokens, full = page.one("controller_mutation_tokens", **batch), RATE * WINDOW
    least, most = tokens + RATE * (bean.after - read), tokens + RATE * (bean.before - read + took)
    assert min(least, full) <= bean.values[TOKENS] <= min(most, full)
    assert page.one("controller_mutation_quota_config_per_second", **batch) == RATE
    assert page.get("controller_mutation_throttle_seconds", **batch) is None


def test_clients_keep_their_real_names_and_unlimited_ones_are_infinite(cluster: Cluster, tmp_path: Path) -> None:
    """Names are shown as the clients chose them, not as JMX quotes them; without a quota K, R and B are +Inf."""
    for name in ODD_NAMES:
        cluster.admin.set_client_quota(client_id=name, values={"controller_mutation_rate": RATE})
    for number, name in enumerate((*ODD_NAMES, "free")):
        assert create_topic(cluster, name, f"topic-{number}", 1).error_code == 0

    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        page = sidecar.whole_page()

    for name in ODD_NAMES:
        client = {"user": "", "client_id": name}
        assert RATE * WINDOW - 1 <= page.one("controller_mutation_tokens", **client) <= RATE * WINDOW
        assert page.one("controller_mutation_burst_tokens", **client) == RATE * WINDOW
        assert page.one("controller_mutation_quota_config_per_second", **client) == RATE
    for what in ("tokens", "quota_per_second", "burst_tokens"):
        assert page.one(f"controller_mutation_{what}", user="", client_id="free") == math.inf
    assert page.one("controller_mutation_admission_delay_seconds", user="", client_id="free") == 0
    assert page.all("controller_event_queue_seconds").keys() == {(quantile,) for quantile in QUANTILES}
