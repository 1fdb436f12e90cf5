"""Another controller takes over (KIP-599): tokens are those of the one that decides, never those of one before it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox import Cluster, wait_for
from tests.cluster.beans import read_beans
from tests.cluster.mutating import RATE, WINDOW, Mutation, assert_tokens_follow, create_topic
from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar, configuration

pytestmark = [pytest.mark.cluster, pytest.mark.realtime, pytest.mark.full_kafka]

BURST = RATE * WINDOW
BATCH = {"user": "", "client_id": "batch"}
THROTTLING_QUOTA_EXCEEDED = 89
TOKENS = "kafka.server:type=ControllerMutation,client-id=batch/tokens"


def test_tokens_are_those_of_the_controller_that_took_over(
    make_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    """The first is killed and its tokens are gone; the second is paused, comes back and keeps an old bucket."""
    cluster = make_cluster(brokers=1, controllers=3, tiered=False)
    cluster.admin.set_client_quota(client_id="batch", values={"controller_mutation_rate": RATE})
    first = cluster.active_controller()

    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        sidecar.whole_page()
        mutation = _create(cluster, "hundred", 100)
        page = sidecar.whole_page()
        assert_tokens_follow(page, mutation, BURST - 100, first, **BATCH)
        assert page.all("client_request_throttle_seconds") == {}
        _assert_a_refusal_is_felt(cluster, sidecar, mutation)
        free = create_topic(cluster, "free", "unlimited", 200)
        assert free.error_code == 0
        page = sidecar.whole_page()
        assert page.one("controller_mutation_tokens", user="", client_id="free") == float("inf")
        assert page.one("controller_mutation_admission_delay_seconds", user="", client_id="free") == 0

        cluster.kill(first)
        second = _next_controller(cluster, first)
        _assert_no_tokens_of(sidecar, second)
        mutation = _create(cluster, "sixty", 60)
        page = sidecar.wait(lambda page: _has_tokens(page) and ("jmx", str(second)) not in page.down())
        assert_tokens_follow(page, mutation, BURST - 60, second, **BATCH)
        cluster.start(first)
        cluster.wait_ready(first)

        cluster.pause(second)
        third = _next_controller(cluster, second)
        _assert_no_tokens_of(sidecar, third)
        mutation = _create(cluster, "many", 200)
        cluster.resume(second)
        cluster.wait_ready(second)
        wait_for(lambda: cluster.active_controller() == third, what="the third is active still")
        for _ in range(3):
            page = sidecar.whole_page()
            assert_tokens_follow(page, mutation, BURST - 200, third, **BATCH)
        stale = read_beans(cluster.jmx_controllers[second], TOKENS).values[TOKENS]
        print(f"controller {second} still has {stale:.1f} tokens; {third} is active")
        assert abs(stale - page.one("controller_mutation_tokens", **BATCH)) > 1


def _create(cluster: Cluster, topic: str, partitions: int) -> Mutation:
    """Create a topic as the client with the quota, which has tokens: the bucket is full, or a new one."""
    mutation = create_topic(cluster, "batch", topic, partitions)
    assert mutation.error_code == 0
    return mutation


def _next_controller(cluster: Cluster, last: int) -> int:
    def another() -> int:
        active = cluster.active_controller()
        return active if active != last else 0

    return wait_for(another, what=f"another controller than {last} is active")


def _assert_no_tokens_of(sidecar: Sidecar, controller: int) -> None:
    """From the page on that names the new controller no client has tokens until its first request."""
    page = sidecar.wait(lambda page: page.all("controller_info") == {(str(controller),): 1})
    for polls in range(1, 6):
        print(f"poll {polls} that knows controller {controller}: tokens {page.all('controller_mutation_tokens')}")
        assert not _has_tokens(page)
        assert page.get("controller_mutation_admission_delay_seconds", **BATCH) is None
        page = sidecar.next_page()


def _has_tokens(page: Page) -> bool:
    return page.get("controller_mutation_tokens", **BATCH) is not None


def _assert_a_refusal_is_felt(cluster: Cluster, sidecar: Sidecar, mutation: Mutation) -> None:
    """Who has less than no tokens is refused. In KRaft the broker that forwards it makes the client wait, and says so.

    What was admitted, however large, costs the client no wait of its own.
    """
    refused = create_topic(cluster, "batch", "refused", 1)
    assert refused.error_code == THROTTLING_QUOTA_EXCEEDED
    page = sidecar.wait(lambda page: page.all("client_request_throttle_seconds"))
    felt = page.one("client_request_throttle_seconds", broker=1, **BATCH)
    delay = (100 - BURST) / RATE
    least, most = delay - (refused.before - mutation.after), delay - (refused.after - mutation.before)
    print(f"throttled for {felt:.2f} s, by the formula {least:.2f} to {most:.2f}")
    assert least <= felt <= most
    assert page.one("controller_mutation_tokens", **BATCH) < 0
    assert page.get("controller_mutation_throttle_seconds", **BATCH) is None
