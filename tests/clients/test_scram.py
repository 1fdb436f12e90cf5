"""SCRAM on the client's side: the worked example of RFC 7677, and servers that are not to be trusted."""

import asyncio
import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable
from functools import partial
from typing import Final

import pytest

from kafka_warden.clients.kafka.login import scram
from kafka_warden.clients.kafka.properties import UserLogin
from kafka_warden.errors import AuthenticationError, ProtocolError
from kafka_warden.settings.secrets import Secret
from tests.support.scripted.sasl import Accounts, Login

NONCE: Final = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST: Final = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
PROOF: Final = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)

SERVER_FINAL: Final = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
LOGIN: Final = UserLogin("user", Secret("pencil"))


@pytest.fixture(autouse=True)
def nonce(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "token_urlsafe", lambda _: NONCE)


def sent(
    *answers: bytes | Callable[[bytes], bytes | None], mechanism: str = "SCRAM-SHA-256", login: UserLogin = LOGIN
) -> list[bytes]:
    """Log in at a server that answers so; return our messages."""
    messages, left = list[bytes](), list(answers)

    async def exchange(message: bytes) -> tuple[bytes, int]:
        messages.append(message)
        answer = left.pop(0)
        return (answer(message) or b"" if callable(answer) else answer), 7

    async def hashed(work: Callable[[], bytes]) -> bytes:
        return work()

    assert asyncio.run(scram(exchange, hashed, mechanism, login)) == 7
    return messages


def test_the_example_of_the_rfc() -> None:
    """Section 3 of RFC 7677, byte by byte."""
    assert sent(SERVER_FIRST, SERVER_FINAL) == [b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO", PROOF]


def test_sha_512_is_what_the_rfc_computes() -> None:
    """The proof, computed here step by step from RFC 5802."""
    salted = hashlib.pbkdf2_hmac("sha512", b"pencil", base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096)
    client_key = hmac.digest(salted, b"Client Key", "sha512")
    message = b",".join([b"n=user,r=" + NONCE.encode(), SERVER_FIRST, PROOF.rpartition(b",")[0]])
    signature = hmac.digest(hashlib.sha512(client_key).digest(), message, "sha512")
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(client_key, signature, strict=True)))
    server = hmac.digest(hmac.digest(salted, b"Server Key", "sha512"), message, "sha512")
    _, final = sent(SERVER_FIRST, b"v=" + base64.b64encode(server), mechanism="SCRAM-SHA-512")
    assert final.rpartition(b",p=")[2] == proof


@pytest.mark.parametrize(
    ("login", "first"),
    [
        (UserLogin("a,b=c", Secret("pencil")), b"n,,n=a=2Cb=3Dc,r=rOprNGfwEbeRWgbNEkqO"),
        (UserLogin("user", Secret("pencil"), delegated=True), b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO,tokenauth=true"),
    ],
    ids=["special characters", "delegation token"],
)
def test_our_first_message_is_signed(login: UserLogin, first: bytes) -> None:
    """Of a delegation token (KIP-48) the id is the user name, and the HMAC the password."""
    name = first.split(b",")[2].decode().removeprefix("n=")
    server = Login(Accounts("SCRAM-SHA-256", {name: "pencil"}))
    step = partial(server.step, now=0.0)
    assert sent(step, step, login=login)[0] == first


@pytest.mark.parametrize("iterations", [1, 4095, 1_000_001])
def test_too_few_and_too_many_iterations_are_refused(iterations: int) -> None:
    """Few make the password easy to guess, many keep the exporter busy."""
    with pytest.raises(AuthenticationError, match="iterations"):
        sent(SERVER_FIRST.replace(b"4096", str(iterations).encode()))


@pytest.mark.parametrize("salt", [b"s=", b"x="])
def test_an_empty_salt_is_refused(salt: bytes) -> None:
    """One table of hashes would do for all users."""
    with pytest.raises(AuthenticationError, match="salt is empty"):
        sent(b"r=" + NONCE.encode() + b"more," + salt + b",i=4096")


@pytest.mark.parametrize("nonce", [b"r=other", b"r=" + NONCE.encode()])
def test_a_nonce_that_does_not_continue_ours_is_refused(nonce: bytes) -> None:
    """An old exchange that is played again, or a server without a nonce of its own."""
    with pytest.raises(AuthenticationError, match="nonce"):
        sent(nonce + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")


@pytest.mark.parametrize("final", [b"v=" + base64.b64encode(bytes(32)), b"e=other-error", b""])
def test_a_wrong_signature_is_an_authentication_error(final: bytes) -> None:
    with pytest.raises(AuthenticationError, match="signature is wrong"):
        sent(SERVER_FIRST, final)


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (b"\xff\xfe", "^the broker's SCRAM message is not UTF-8$"),
        (SERVER_FIRST.replace(b"4096", b"many"), "is not a number"),
        (SERVER_FIRST.replace(b",i=4096", b""), "is not a number"),
        (SERVER_FIRST.replace(b"4096", "\u0664\u0660\u0669\u0666".encode()), "is not a number"),
        (SERVER_FIRST.replace(b"4096", b"9" * 5000), "is not a number"),
        (b"m=ext," + SERVER_FIRST, "extension that is not supported"),
        (SERVER_FIRST + b",i=4096", "has a value twice"),
        (SERVER_FIRST.replace(b"W22", b"***"), "^the broker's SCRAM message has a value that is not base 64$"),
    ],
)
def test_a_message_that_is_no_scram_is_a_protocol_error(message: bytes, says: str) -> None:
    with pytest.raises(ProtocolError, match=says):
        sent(message)
