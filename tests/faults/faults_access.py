"""Bad certificates, wrong passwords, missing ACLs, request quotas."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Final

from kafka_warden.timer import SETTLED
from sandbox.passwords import write_secret
from sandbox.protection import MONITOR, WRONG
from tests.alerts.stage import Fired, fired
from tests.cluster.page import Page
from tests.faults.faults_brokers import blind, no_numbers
from tests.faults.witness import TIME_LIMIT, Witness

POLLS: Final = 60
INTERVAL: Final = 2.0
"""Seconds, as the stage configures it."""
WINDOW: Final = 2
"""Seconds of the window of client quotas, for pauses that do not depend on one long poll."""
STRETCHED: Final = "a poll takes longer than poll.interval"
SHARE: Final = 0.01
"""Request quota in percent of one thread, which every poll exceeds by far."""


def expired(witness: Witness) -> Iterator[set[Fired]]:
    """F13: brokers whose certificates have expired get no login."""
    yield from _without_trust(witness, "EXPIRED")


def misnamed(witness: Witness) -> Iterator[set[Fired]]:
    """F13: brokers with certificates of another host get no login."""
    yield from _without_trust(witness, "MISNAMED")


def wrong_password(witness: Witness) -> Iterator[set[Fired]]:
    """F14: a refused password is tried once a minute, and the right one in its file is used without a restart."""
    cluster = witness.cluster
    right = cluster.secret_file(MONITOR)
    file = write_secret(
        witness.stage.sidecar.directory / "password", cluster.secret_file(WRONG).read_text(encoding="utf-8")
    )
    witness.restart(ready=False, kafka={"sasl.password.file": str(file)})
    page = witness.until_shown(lambda page: page.errors("metadata").get("auth"), "the login is refused")
    assert no_numbers(page)
    yield blind() | {fired("KafkaWardenAccessRefused")}
    write_secret(file, right.read_text(encoding="utf-8"))
    witness.assert_recovered()
    witness.restart(kafka={"sasl.password.file": str(right)})


def _without_trust(witness: Witness, listener: str) -> Iterator[set[Fired]]:
    cluster = witness.cluster
    witness.restart(ready=False, kafka={"bootstrap.servers": cluster.listener_bootstrap(listener)})
    page = witness.until_shown(lambda page: page.errors("metadata").get("tls"), "no certificate is trusted")
    # A busy machine may not answer the first poll in time.
    assert page.errors("metadata").keys() - {"timeout"} == {"tls"}
    assert no_numbers(page)
    yield blind() | {fired("KafkaWardenAccessRefused")}
    witness.restart(kafka={"bootstrap.servers": cluster.bootstrap})


def throttled_long(witness: Witness) -> Iterator[set[Fired]]:
    """With pauses of 1 s the interval is stretched, which is shown and logged once, and there is no more connection."""
    kept = 0
    for page in witness.pages():
        kept = kept + 1 if page["poll_interval_seconds"] == INTERVAL else 0
        if kept == SETTLED:
            break
    assert kept == SETTLED, "the interval is not kept before the fault"
    links, before, logged = _links(witness), witness.page, witness.log.count(STRETCHED)
    with _quota(witness):
        witness.cluster.admin.set_client_quota(user=MONITOR, values={"request_percentage": SHARE})
        witness.until(lambda page: min(page.brokers("broker_throttle_seconds").values()) == 1, "they ask for 1 s")
        witness.until(lambda page: page["poll_interval_seconds"] > INTERVAL, "the interval is stretched")
        for page in islice(witness.pages(POLLS * TIME_LIMIT), POLLS):
            assert not page.down()
            _assert_linked(witness, links, before)
        yield set()
        assert witness.log.count(STRETCHED) == logged + 1


@contextmanager
def _quota(witness: Witness) -> Iterator[None]:
    """The sidecar's user has a request quota while the block lasts. Then its interval is as configured."""
    try:
        yield
    finally:
        witness.cluster.admin.set_client_quota(user=MONITOR, values={"request_percentage": None})
    witness.until(lambda page: page["poll_interval_seconds"] == INTERVAL, "the interval is as configured")


def _links(witness: Witness) -> dict[int, set[int]]:
    """Every connection to a broker by its own port: one that is made again has another."""
    return {broker: witness.connections(broker) for broker in witness.cluster.broker_ids}


def _assert_linked(witness: Witness, links: dict[int, set[int]], before: Page) -> None:
    """Assert that no connection was made or closed."""
    now, earlier = _links(witness), before.all("source_errors_total")
    errors = {
        key: count for key, count in witness.page.all("source_errors_total").items() if count > earlier.get(key, 0)
    }
    assert now == links, f"{links} became {now}; errors by broker, reason and source since then: {errors}"
