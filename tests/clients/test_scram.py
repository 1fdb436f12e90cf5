"""SCRAM on the client's side: the worked example of RFC 7677, and servers that are not to be trusted."""

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Callable
from typing import Final

import pytest

from kafka_warden.clients.kafka.login import ScramClient
from kafka_warden.errors import AuthenticationError, ProtocolError
from tests.support.scripted.sasl import Accounts, Login

NONCE: Final = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST: Final = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
PROOF: Final = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)


async def hashed(work: Callable[[], bytes]) -> bytes:
    return work()


def client(mechanism: str = "SCRAM-SHA-256", username: str = "user") -> ScramClient:
    return ScramClient(mechanism, username, "pencil", hashed, NONCE)


def final(login: ScramClient, server_first: bytes) -> bytes:
    return asyncio.run(login.final_message(server_first))


def test_the_example_of_the_rfc() -> None:
    """Section 3 of RFC 7677, byte by byte."""
    login = client()
    assert login.first_message() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert final(login, SERVER_FIRST) == PROOF
    login.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_sha_512_is_what_the_rfc_computes() -> None:
    """The proof, computed here step by step from RFC 5802."""
    salted = hashlib.pbkdf2_hmac("sha512", b"pencil", base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096)
    client_key = hmac.digest(salted, b"Client Key", "sha512")
    message = b",".join([b"n=user,r=" + NONCE.encode(), SERVER_FIRST, PROOF.rpartition(b",")[0]])
    signature = hmac.digest(hashlib.sha512(client_key).digest(), message, "sha512")
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(client_key, signature, strict=True)))
    assert final(client("SCRAM-SHA-512"), SERVER_FIRST).rpartition(b",p=")[2] == proof


def test_special_characters_of_a_user_name_are_escaped() -> None:
    assert client(username="a,b=c").first_message().startswith(b"n,,n=a=2Cb=3Dc,r=")


@pytest.mark.parametrize("iterations", [1, 4095, 1_000_001])
def test_too_few_and_too_many_iterations_are_refused(iterations: int) -> None:
    """Few make the password easy to guess, many keep the sidecar busy."""
    with pytest.raises(AuthenticationError, match="iterations"):
        final(client(), SERVER_FIRST.replace(b"4096", str(iterations).encode()))


@pytest.mark.parametrize("salt", [b"s=", b"x="])
def test_an_empty_salt_is_refused(salt: bytes) -> None:
    """One table of hashes would do for all users."""
    with pytest.raises(AuthenticationError, match="salt is empty"):
        final(client(), b"r=" + NONCE.encode() + b"more," + salt + b",i=4096")


@pytest.mark.parametrize("nonce", [b"r=other", b"r=" + NONCE.encode()])
def test_a_nonce_that_does_not_continue_ours_is_refused(nonce: bytes) -> None:
    """An old exchange that is played again, or a server without a nonce of its own."""
    with pytest.raises(AuthenticationError, match="nonce"):
        final(client(), nonce + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")


def test_a_wrong_signature_is_an_authentication_error() -> None:
    login = client()
    final(login, SERVER_FIRST)
    for wrong in (b"v=" + base64.b64encode(bytes(32)), b"e=other-error", b""):
        with pytest.raises(AuthenticationError, match="signature is wrong"):
            login.check(wrong)


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
        final(client(), message)


def test_a_delegation_token_is_named_in_the_first_message() -> None:
    """KIP-48: the extension is signed, too. Its id is the user name, its HMAC the password."""
    server = Login(Accounts("SCRAM-SHA-256", {"user": "pencil"}))
    login = ScramClient("SCRAM-SHA-256", "user", "pencil", hashed, NONCE, delegated=True)
    first = login.first_message()
    assert first == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO,tokenauth=true"
    challenge = server.step(first, 0.0)
    assert challenge is not None
    answer = server.step(final(login, challenge), 0.0)
    assert answer is not None
    login.check(answer)
