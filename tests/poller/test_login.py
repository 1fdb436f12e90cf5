"""Logins that brokers refuse, and sessions that end."""

from collections.abc import Iterator

import pytest

from kafka_warden.model import Source
from tests.poller.polling import CONNECTED, Polling, polling
from tests.support.scripted import ScriptedCluster, VirtualClock


@pytest.fixture(params=["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def login(request: pytest.FixtureRequest, brokers: ScriptedCluster, clock: VirtualClock) -> Iterator[Polling]:
    """A poller that logs in as `warden` with the password `secret`. It has not polled yet."""
    brokers.topic("a", [[1, 2, 3]])
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": request.param, "sasl.username": "warden"}
    brokers.do("accounts", mechanism=request.param, users={"warden": "secret"})
    with polling(brokers, clock, properties) as made:
        yield made


def set_password(login: Polling, password: str, **given: int) -> None:
    mechanism = login.poller._state.links.settings.sasl_mechanism
    login.brokers.do("accounts", mechanism=mechanism, users={"warden": password}, **given)
    login.brokers.each("disconnect")


def test_the_right_password_is_accepted(login: Polling) -> None:
    assert set(login.poll().offsets_at) == {1, 2, 3}
    assert login.down() == {}
    login.poll(86400.0)
    assert login.brokers.seen("SaslHandshake") == []


def test_a_refused_password_is_not_tried_again_for_a_minute(login: Polling) -> None:
    """One attempt per address, or an account is locked; the reason is shown, although the broker closes with it."""
    set_password(login, "another")
    assert login.poll_any() is None
    assert set(login.down().values()) == {"auth"}
    attempts = len(login.brokers.seen(CONNECTED))
    assert attempts == 3
    for _ in range(5):
        login.poll_any()
        assert login.brokers.seen() == []
        assert login.status(Source.METADATA).errors.keys() == {"auth"}

    set_password(login, "secret")
    assert login.poll_any(5.0) is None
    assert login.poll_any(10.0) is not None
    assert login.down() == {}


def test_a_login_that_timed_out_is_tried_again_until_it_is_refused(login: Polling) -> None:
    """Once. The reason of the poll is that of the brokers that refused it later, so no time-out is counted."""
    set_password(login, "another")
    login.brokers.rule(1, "SaslAuthenticate", hang=True)
    login.brokers.rule(None, "SaslHandshake", delay=1.0)
    attempts = []
    for _ in range(3):
        assert login.poll_any() is None
        attempts.append(len(login.brokers.seen(CONNECTED)))
        login.brokers.do("clear")
        set_password(login, "another")
    assert attempts == [3, 1, 0]
    assert login.status(Source.METADATA).errors == {"auth": 3}


def test_a_session_that_ends_is_renewed_on_the_same_connection(login: Polling) -> None:
    """KIP-368: brokers close a connection that goes on after its session's lifetime."""
    set_password(login, "secret", session_ms=60_000)
    login.poll()
    before = login.connections()
    for _ in range(15):
        login.poll()
        assert login.down() == {}
    assert login.connections() == before
    assert 2 * 3 <= login.brokers.do("received")["SaslHandshake"] <= 5 * 3
