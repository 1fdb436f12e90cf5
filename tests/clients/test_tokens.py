"""Tokens: kept, renewed before they end, and shared by all who log in."""

import threading
from pathlib import Path
from typing import Final

import pytest

from kafka_warden.clients.kafka.tokens import GIVE_UP, REFUSED_PAUSE, Token, TokenFile, Tokens, read_token
from kafka_warden.errors import AuthenticationError, TokenError
from kafka_warden.settings.secrets import Secret, SecretFile
from sandbox.issuer import Issuer
from sandbox.passwords import write_secret

LIFE: Final = 100.0
WITHIN: Final = 30.0
"""Real seconds for a thread."""


class Script:
    """A source of tokens `token-1`, `token-2` ... of `LIFE` seconds, or of `fault` while there is one."""

    name = "the script"

    def __init__(self, *files: Path) -> None:
        self.calls = 0
        self.fault: Exception | None = None
        self.gate = threading.Event()
        """While it is clear, the answer waits."""
        self.gate.set()
        self._files = files

    def get(self) -> Token:
        self.calls += 1
        number = self.calls
        assert self.gate.wait(WITHIN)
        if self.fault is not None:
            raise self.fault
        return Token(Secret(f"token-{number}"), LIFE)

    def paths(self) -> tuple[Path, ...]:
        return self._files


def text(tokens: Tokens, now: float, within: float = WITHIN) -> str:
    return tokens.wait(now, within).value.reveal()


def settle() -> None:
    """Wait for the threads that get a token."""
    for thread in threading.enumerate():
        if thread.name == "token":
            thread.join(WITHIN)
            assert not thread.is_alive()


def test_a_token_is_got_once_and_renewed_before_its_end() -> None:
    source = Script()
    tokens = Tokens(source)
    assert [text(tokens, now) for now in (0.0, 1.0, 79.0)] == ["token-1"] * 3
    source.gate.clear()
    assert text(tokens, 81.0) == "token-1"
    source.gate.set()
    settle()
    assert source.calls == 2
    assert [text(tokens, 82.0), text(tokens, 160.0)] == ["token-2"] * 2


def test_a_poll_renews_what_is_due() -> None:
    source = Script()
    tokens = Tokens(source)
    text(tokens, 0.0)
    assert [tokens.changed(1.0), tokens.changed(2.0)] == [True, False]
    tokens.changed(81.0)
    settle()
    assert source.calls == 2
    assert [tokens.changed(82.0), tokens.changed(83.0)] == [True, False]


def test_many_who_wait_are_one_request() -> None:
    source = Script()
    tokens = Tokens(source)
    source.gate.clear()
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(text(tokens, 0.0))) for _ in range(20)]
    for thread in threads:
        thread.start()
    source.gate.set()
    for thread in threads:
        thread.join(WITHIN)
    assert found == ["token-1"] * 20


def test_a_failure_costs_nothing_while_the_token_lives() -> None:
    source = Script()
    tokens = Tokens(source)
    text(tokens, 0.0)
    source.fault = TokenError("down")
    asked = []
    for now in range(80, 100):
        assert text(tokens, float(now)) == "token-1"
        settle()
        asked.append(source.calls)
    assert asked == [2, 3, 3, 4, 4, 4, 4, *[5] * 8, *[6] * 5]
    faults = []
    for _ in range(2):
        with pytest.raises(TokenError, match=r"^down$") as caught:
            text(tokens, LIFE)
        faults.append(caught.value)
    assert faults[0] is not faults[1]
    source.fault = None
    assert text(tokens, 150.0) == "token-7"


def test_an_issuer_that_refuses_is_left_alone_for_a_minute(tmp_path: Path) -> None:
    file = write_secret(tmp_path / "secret", "wrong")
    source = Script(file)
    tokens = Tokens(source)
    refusal = AuthenticationError("refused")
    refusal.reached = None
    source.fault = refusal
    for now in (0.0, 30.0, REFUSED_PAUSE - 1):
        with pytest.raises(AuthenticationError) as caught:
            text(tokens, now)
        assert caught.value.reached is None
        assert source.calls == 1
    source.fault = None
    write_secret(file, "right")
    assert tokens.changed(40.0)
    assert text(tokens, 40.0) == "token-2"


def test_a_token_that_brokers_refuse_is_replaced_after_a_minute() -> None:
    source = Script()
    tokens = Tokens(source)
    token = tokens.wait(0.0, WITHIN)
    for _ in range(3):
        tokens.refuse(token)
    assert not tokens.changed(1.0)
    assert text(tokens, REFUSED_PAUSE - 1) == "token-1"
    assert text(tokens, REFUSED_PAUSE) == "token-2"
    tokens.refuse(token)
    assert text(tokens, REFUSED_PAUSE + 70) == "token-2"


def test_another_token_in_the_file_is_used_at_once(tmp_path: Path) -> None:
    file = write_secret(tmp_path / "token", "one")
    tokens = Tokens(TokenFile(SecretFile(file), {}))
    assert text(tokens, 0.0) == "one"
    write_secret(file, "another\n")
    assert text(tokens, 1.0) == "another"
    file.chmod(0o644)
    assert text(tokens, 2.0) == "another"
    file.unlink()
    assert text(tokens, 3.0) == "another"


def test_a_token_file_that_cannot_be_used_is_the_message(tmp_path: Path) -> None:
    file = write_secret(tmp_path / "token", "canary\1auth=x")
    issuer = Issuer()
    for content, mode, message in (
        ("canary\1auth=x", 0o600, "no bearer token"),
        ("canary", 0o644, "chmod 600"),
        (issuer.token("canary", exp=1), 0o600, "expired [0-9]+ s ago"),
    ):
        write_secret(file, content)
        file.chmod(mode)
        with pytest.raises(TokenError, match=message) as caught:
            text(Tokens(TokenFile(SecretFile(file), {})), 0.0)
        assert content not in str(caught.value)
    issuer.server_close()


def test_no_answer_in_time_is_its_own_sentence() -> None:
    """The caller gives up; the answer that comes later is used by the next one; one that never comes is given up."""
    source = Script()
    tokens = Tokens(source)
    source.gate.clear()
    for now in (0.0, GIVE_UP - 1, GIVE_UP):
        with pytest.raises(TokenError, match="no token from the script in time"):
            text(tokens, now, 0.01)
    assert source.calls == 2
    source.gate.set()
    settle()
    assert text(tokens, GIVE_UP + 1) == "token-2"


def test_a_thread_that_cannot_start_costs_one_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one is a second later, as after any failure; the poll goes on, and no login waits."""
    tokens = Tokens(Script())

    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", fail)
        assert not tokens.changed(0.0)
        with pytest.raises(TokenError, match="no thread could start"):
            text(tokens, 0.0)
    assert text(tokens, 1.0) == "token-1"


def test_what_a_library_raises_is_not_quoted() -> None:
    """It may have the secret."""
    source = Script()
    source.fault = ValueError("canary-Tr0ub4dor")
    with pytest.raises(TokenError, match=r"^no token from the script: ValueError$"):
        text(Tokens(source), 0.0)


def test_a_jwt_says_whose_it_is_and_when_it_ends() -> None:
    """Nothing is verified; anything else is an opaque token."""
    issuer = Issuer()
    issuer.lifetime = 50.0
    token = read_token(issuer.token("monitor"), None, "it", {})
    assert token.subject == "monitor"
    assert 40 < token.lifetime <= 50
    assert read_token(issuer.token("monitor"), 7.0, "it", {}).lifetime == 7.0
    for opaque in ("opaque", "a.b.c", "e.W10.c", "a.eyJleHAiOiJ4In0.c", f"a.{'5' * 99999}.c"):
        assert (read_token(opaque, None, "it", {}).lifetime, read_token(opaque, None, "it", {}).subject) == (
            float("inf"),
            "",
        )
    issuer.server_close()


def test_the_message_has_the_extensions() -> None:
    token = Token(Secret("t0ken"), extensions={"logicalCluster": "lkc-1", "identityPoolId": "pool-1"})
    assert token.message() == b"n,,\1auth=Bearer t0ken\1logicalCluster=lkc-1\1identityPoolId=pool-1\1\1"
    assert "t0ken" not in repr(token)
