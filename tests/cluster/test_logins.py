"""Logins with tokens on real brokers, which check signature, issuer and audience of every token."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox import Cluster, ClusterSettings, wait_for
from sandbox.issuer import Issuer
from sandbox.oauth import oauth_settings
from sandbox.passwords import write_secret
from tests.cluster.beans import logins
from tests.cluster.page import Page
from tests.cluster.sidecar import INTERVAL, SLOW_MACHINE, Sidecar, configuration

pytestmark = [pytest.mark.cluster, pytest.mark.full_logins]

LIFETIME = 20 * INTERVAL
"""Seconds that a token lives."""
SESSION = 12 * INTERVAL
"""Seconds that a session lasts at most."""
WATCHED = 3 * LIFETIME
TOPIC = "history"


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer("monitor") as made:
        made.lifetime = LIFETIME
        yield made


@pytest.fixture(scope="module")
def cluster(no_process_left: None, issuer: Issuer) -> Iterator[Cluster]:
    """A broker that takes tokens, with a topic of history that `monitor` may write to."""
    settings = oauth_settings(issuer, SESSION)
    with Cluster(ClusterSettings(brokers=1, jmx_password=True, tiered=False, **settings)) as made:
        made.admin.create_topic("secured", partitions=2)
        made.admin.create_topic(TOPIC)
        made.admin.grant("monitor", [("topic", TOPIC, "write")])
        yield made


def with_tokens(cluster: Cluster, **kafka: str) -> dict[str, Any]:
    """The configuration of a sidecar that logs in with tokens; underscores in properties mean dots."""
    made = configuration(cluster, "monitor", history={"kafka": {"topic": TOPIC}})
    del made["jmx"]  # it has a login of its own
    properties = {name: value for name, value in made["kafka"].items() if not name.startswith("sasl.")}
    oauth = {f"sasl.oauthbearer.{name.replace('_', '.')}": value for name, value in kafka.items()}
    made["kafka"] = {**properties, "sasl.mechanism": "OAUTHBEARER", **oauth}
    return made


def written(page: Page) -> float:
    """Rows of history that brokers acknowledged."""
    return sum(page.all("sink_rows_total").values())


def lost(page: Page) -> float:
    return sum(page.all("sink_dropped_total").values())


def watch(sidecar: Sidecar, seconds: float) -> None:
    """See that no source fails and no row of history is lost for so long, and that rows still arrive then."""
    began, first = time.monotonic(), sidecar.scrape()
    for page in sidecar.pages(seconds + SLOW_MACHINE):
        assert page.down() == set()
        assert lost(page) == lost(first)
        if time.monotonic() > began + seconds:
            break
    now = written(sidecar.scrape())
    wait_for(lambda: written(sidecar.scrape()) > now > written(first), SLOW_MACHINE, "history arrives")


def test_tokens_are_renewed_without_a_gap(cluster: Cluster, issuer: Issuer, tmp_path: Path) -> None:
    secret, first = write_secret(tmp_path / "client.secret", "wrong"), len(issuer.requests)
    config = with_tokens(
        cluster,
        method="oidc",
        token_endpoint_url=issuer.token_url,
        client_id="monitor",
        client_secret_file=str(secret),
        scope="kafka metrics",
    )
    with Sidecar(config, tmp_path, ready=False) as sidecar:
        wait_for(lambda: sidecar.scrape().errors("metadata").get("auth", 0) >= 3, SLOW_MACHINE, "the secret is refused")
        asked = len(issuer.requests)
        assert asked <= first + 2, "an issuer that refused is left alone, by polling and by history"
        write_secret(secret, issuer.clients["monitor"])
        sidecar.wait_ready()
        sidecar.whole_page()
        wait_for(lambda: written(sidecar.scrape()) > 0, SLOW_MACHINE, "history arrives")
        renewed, refused = logins(cluster, "successful-reauthentication"), logins(cluster, "failed-authentication")
        watch(sidecar, WATCHED)
        assert logins(cluster, "successful-reauthentication") >= renewed + WATCHED // SESSION
        assert logins(cluster, "failed-authentication") == refused
        log = sidecar.log
    assert {scope for _, scope, _ in issuer.requests[first:]} == {"kafka metrics"}
    assert WATCHED // LIFETIME <= len(issuer.requests) - asked <= 3 * WATCHED // LIFETIME
    assert not [each for each in (issuer.clients["monitor"], "eyJ") if each in log]
