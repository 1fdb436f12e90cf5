"""Polls that log in with tokens, on virtual time: renewal, refusals, and an issuer that is down."""

import dataclasses
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from kafka_warden.clients.kafka.tokens import Token, Tokens
from kafka_warden.errors import SourceError, TokenError
from kafka_warden.settings.secrets import Secret
from sandbox.passwords import write_secret
from tests.poller.polling import CONNECTED, DEADLINE, INTERVAL, Polling, polling
from tests.support.scripted import ScriptedCluster, VirtualClock

STEP: Final = 0.1
"""Virtual seconds."""
LIFE: Final = 300.0
"""Seconds of a token, and of a session."""


class Issuer:
    """Gives `token-1`, `token-2` ... While they are `trusted`, brokers take the newest one and the one before it."""

    name = "the issuer"

    def __init__(self, brokers: ScriptedCluster, clock: VirtualClock) -> None:
        self.brokers = brokers
        self.clock = clock
        self.given: list[float] = []
        """When each token was given."""
        self.fault: SourceError | None = None
        self.takes = 0.0
        """Virtual seconds of an answer."""
        self.trusted = True
        self.extensions: Mapping[str, str] = {}

    def get(self) -> Token:
        for _ in range(int(self.takes / STEP)):
            self.clock.advance(STEP)
            time.sleep(0.01)  # for the loop, which looks at its timers
        if self.fault is not None:
            raise self.fault
        self.given.append(self.clock.monotonic())
        if self.trusted:
            self.accept(*(f"token-{len(self.given) - back}" for back in (0, 1)))
        return Token(Secret(f"token-{len(self.given)}"), LIFE, "monitor", self.extensions)

    def accept(self, *tokens: str) -> None:
        """Let the brokers take these tokens only, for new logins."""
        users = dict.fromkeys(tokens, ",".join(f"{name}={value}" for name, value in self.extensions.items()))
        self.brokers.do("accounts", mechanism="OAUTHBEARER", users=users, session_ms=int(1000 * LIFE))

    def paths(self) -> tuple[Path, ...]:
        return ()


@pytest.fixture
def issuer(brokers: ScriptedCluster, clock: VirtualClock) -> Issuer:
    return Issuer(brokers, clock)


@pytest.fixture
def login(brokers: ScriptedCluster, clock: VirtualClock, issuer: Issuer, tmp_path: Path) -> Iterator[Polling]:
    brokers.topic("a", [[1, 2, 3]])
    issuer.accept()
    properties = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": write_secret(tmp_path / "unused", "unused").as_uri(),
    }
    with polling(brokers, clock, properties) as made:
        links = made.poller.links
        links.replace(dataclasses.replace(links.settings, credentials=Tokens(issuer)))
        yield made


def test_one_token_serves_all_brokers_and_is_renewed_without_a_gap(login: Polling, issuer: Issuer) -> None:
    """It is got again before its end, and every connection logs in again within its session, on the same connection."""
    issuer.extensions = {"logicalCluster": "lkc-1"}
    issuer.accept()
    login.poll()
    assert len(issuer.given) == 1
    before = login.connections()
    for _ in range(int(5 * LIFE / INTERVAL)):
        login.poll()
        assert login.down() == {}
    assert login.connections() == before
    gaps = [after - earlier for earlier, after in zip(issuer.given, issuer.given[1:], strict=False)]
    assert all(0.8 * LIFE <= gap <= 0.8 * LIFE + 2 * INTERVAL for gap in gaps), gaps
    assert 5 * 3 <= login.brokers.do("received")["SaslHandshake"] <= 8 * 3


def test_a_refused_token_is_a_refused_login(login: Polling, issuer: Issuer) -> None:
    """Each broker is asked once a minute, and the issuer for another token once a minute; then it goes on by itself."""
    issuer.trusted = False
    assert login.poll_any() is None
    assert set(login.down().values()) == {"auth"}
    assert len(login.brokers.seen(CONNECTED)) == 3
    for _ in range(5):
        login.poll_any()
        assert login.brokers.seen(CONNECTED) == []
    assert len(issuer.given) == 1
    issuer.trusted = True
    assert login.poll_any() is not None
    assert len(issuer.given) == 2
    assert login.down() == {}


def test_an_issuer_that_is_down_is_its_own_reason(login: Polling, issuer: Issuer) -> None:
    """Nothing is said of the brokers, which are not connected to; when it is back, the next poll has the numbers."""
    issuer.fault = TokenError("down")
    for _ in range(3):
        assert login.poll_any() is None
    assert set(login.down().values()) == {"token"}
    assert login.brokers.seen(CONNECTED) == []
    assert login.last.cluster_reachable is None
    issuer.fault = None
    login.poll_any(40.0)
    assert login.down() == {}


def test_a_slow_issuer_ends_no_poll(login: Polling, issuer: Issuer) -> None:
    """Its answer comes after the deadline of the poll that wanted it, and serves the next one."""
    issuer.takes = DEADLINE + 1.0
    assert login.poll_any() is None
    assert set(login.down().values()) == {"token"}
    issuer.takes = 0.0
    assert login.poll_any() is not None
    assert len(issuer.given) == 1
