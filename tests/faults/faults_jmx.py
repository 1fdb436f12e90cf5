"""JMX ports that are slow or drop connections, and JMX passwords that are wrong."""

from collections.abc import Iterator
from contextlib import contextmanager

from sandbox.passwords import write_secret
from tests.alerts.stage import Fired, fired
from tests.cluster.forwarder import Forwarder
from tests.faults.faults_brokers import VICTIM
from tests.faults.witness import Witness

DELAY = 5.0
"""Seconds, longer than any time limit of JMX."""


def slow(witness: Witness) -> Iterator[set[Fired]]:
    """F10: a JMX port that answers after seconds costs the beans of its broker only."""
    with _forwarded(witness) as forwarder, forwarder:
        forwarder.delay = DELAY
        yield from _without_beans(witness, "timeout")
        forwarder.delay = 0.0
        witness.assert_recovered()


def dropped(witness: Witness) -> Iterator[set[Fired]]:
    """F11: a JMX port that drops connections costs no more than the deadline."""
    with _forwarded(witness) as forwarder:
        with forwarder.dropping():
            yield from _without_beans(witness, "connect_timeout")
        with forwarder:
            witness.assert_recovered()


def wrong_password(witness: Witness) -> Iterator[set[Fired]]:
    """F12: a refused JMX password costs all beans, and the right one in its file is used without a restart."""
    cluster = witness.cluster
    nodes = (*cluster.broker_ids, *cluster.controller_ids)
    right = cluster.jmx_password_file
    assert right is not None
    file = write_secret(witness.stage.sidecar.directory / "jmx", "not the password")
    witness.restart(jmx={"password_file": str(file)})
    page = witness.until(lambda page: page.errors("jmx", VICTIM).get("auth"), "JMX refuses the password")
    # A busy machine may not answer the first poll in time.
    assert page.errors("jmx", VICTIM).keys() - {"timeout"} == {"auth"}
    assert page.down() == {("jmx", str(node)) for node in nodes}
    assert "broker_bytes_in_total" not in page.names()
    yield {fired("KafkaWardenBlind", broker=node) for node in nodes}
    write_secret(file, right.read_text(encoding="utf-8"))
    witness.assert_recovered()
    witness.restart(jmx={"password_file": str(right)})


@contextmanager
def _forwarded(witness: Witness) -> Iterator[Forwarder]:
    """Connections to the JMX port of one broker go through a forwarder, which refuses them."""
    brokers = witness.cluster.jmx_brokers
    forwarder = Forwarder(brokers[VICTIM])
    witness.restart(jmx={"brokers": {**brokers, VICTIM: forwarder.address}})
    try:
        yield forwarder
    finally:
        witness.restart(jmx={"brokers": brokers})


def _without_beans(witness: Witness, reason: str) -> Iterator[set[Fired]]:
    """Assert that the beans of the broker are down for this reason, and nothing else is; yield the alert."""
    before = witness.until(lambda page: page.errors("jmx", VICTIM).get(reason), reason)
    for _ in range(3):
        page = witness.until(lambda _: True, "a poll")
        assert page.down() == {("jmx", str(VICTIM))}
        assert page.errors("jmx", VICTIM, before).keys() == {reason}
        assert page.get("broker_bytes_in_total", broker=VICTIM) is None
    yield {fired("KafkaWardenBlind", broker=VICTIM)}
