"""The bytes of a connection: frames, TLS, and the memory that is freed at its end."""

import contextlib
import gc
import struct
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_warden.clients.kafka.connection import Connection
from kafka_warden.clients.kafka.frames import Frames
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.errors import AnswerTimeoutError, ProtocolError, RefusedError, SourceError, TlsError, TooLargeError
from tests.clients.linking import CLUSTER, DEADLINE, METADATA, Client, wait_until
from tests.support.certificates import Authority


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Certificates of this module."""
    return Authority(tmp_path_factory.mktemp("tls"))


def secured(client: Client, authority: Authority, name: str = "localhost") -> None:
    """Give broker 1 a certificate for this name."""
    pair = authority.issue(f"server-{name}", [name])
    client.brokers.do("refuse", broker=1)
    client.brokers.brokers({"id": 1, "certificate": str(pair.certificate), "key": str(pair.key)})


def trusting(client: Client, authority: Path) -> BrokerLink:
    """A link over TLS that trusts the authority of a file."""
    return client.link(host="localhost", security_protocol="SSL", ssl_ca_location=str(authority))


def length(size: int) -> bytes:
    """The four bytes before a frame of that size."""
    return struct.pack(">i", size)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (length((1 << 31) - 1), TooLargeError),
        (length(512 * 1024 + 1), TooLargeError),
        (length(-1), ProtocolError),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", TooLargeError),
        (length(512 * 1024) + b"\xff" * (512 * 1024), ProtocolError),
        (b"\0\0\0\4\0\0\0\1more", ProtocolError),
        (length(0), ProtocolError),
    ],
    ids=["huge", "too large", "negative", "http", "large", "surplus", "empty"],
)
def test_bytes_that_are_no_reply_end_the_connection_at_once(
    client: Client, data: bytes, error: type[SourceError]
) -> None:
    """Before login a frame may have 512 KiB."""
    client.brokers.rule(1, "ApiVersions", raw=data, times=1)
    link = client.link()
    client.fail(link, error)
    assert client.took == 0.0
    assert (client.ask(link), client.connections()) == (CLUSTER, 2)


def test_a_reply_may_be_as_large_as_configured(client: Client) -> None:
    """`receive.message.max.bytes` counts after login, for the frame without its length; here five bytes are header."""
    link = client.link(receive_message_max_bytes="2000000")
    for size, error, message in ((1_999_995, ProtocolError, "decoded"), (1_999_996, TooLargeError, "2000000")):
        client.brokers.rule(1, "Metadata", body=b"\xff", repeat=size)
        client.fail(link, error, message)


def test_a_reply_that_belongs_to_another_request_ends_the_connection(client: Client) -> None:
    """Its correlation id is wrong: a later reply could answer another question."""
    client.brokers.rule(1, "Metadata", raw=length(5) + b"\0\0\0\7\0", times=1)
    link = client.link()
    client.fail(link, ProtocolError, "correlation id 7, not 2")
    assert (client.ask(link), client.connections()) == (CLUSTER, 2)


def test_tls_is_used_and_names_are_verified(client: Client, authority: Authority, tmp_path: Path) -> None:
    """A certificate of another authority, or for another name, is a TLS error."""
    secured(client, authority)
    assert client.ask(trusting(client, authority.ca)) == CLUSTER
    client.fail(trusting(client, Authority(tmp_path, "other").ca), TlsError, "not trusted")
    secured(client, authority, "elsewhere.example")
    client.fail(trusting(client, authority.ca), TlsError, "not trusted")


def test_a_new_authority_that_cannot_be_used_is_a_tls_error(
    client: Client, authority: Authority, tmp_path: Path
) -> None:
    """The old one is not used any more; a connection is made again when the file is right."""
    ca, right = tmp_path / "ca.pem", authority.ca.read_bytes()
    ca.write_bytes(right)
    secured(client, authority)
    link = trusting(client, ca)
    assert client.ask(link) == CLUSTER
    ca.write_text("half of a certific")
    assert client.ask(link) == CLUSTER  # over the open connection
    client.close()
    client.fail(link, TlsError, "changed and cannot be used")
    ca.write_bytes(right)
    assert client.ask(link) == CLUSTER


def test_a_tls_handshake_ends_with_the_deadline(client: Client, authority: Authority) -> None:
    """A listener without TLS waits for the rest of a frame."""
    client.fail(trusting(client, authority.ca), AnswerTimeoutError)
    assert client.took == pytest.approx(DEADLINE)


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Without the garbage collector."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("tls", [False, True])
def test_a_closed_connection_is_freed_at_once(
    client: Client, authority: Authority, monkeypatch: pytest.MonkeyPatch, *, tls: bool
) -> None:
    """With its buffer: 20 that failed and 20 that were closed."""
    alive: list[weakref.ref[Any]] = []
    make = Connection.__init__

    def init(self: Connection, frames: Frames, *arguments: Any) -> None:
        make(self, frames, *arguments)
        alive.extend([weakref.ref(self), weakref.ref(frames)])

    monkeypatch.setattr(Connection, "__init__", init)
    if tls:
        secured(client, authority)
    link = trusting(client, authority.ca) if tls else client.link()
    client.brokers.rule(1, "Metadata", drop=True, times=20)
    for _ in range(40):
        with contextlib.suppress(RefusedError):
            client.ask(link)
        client.close()
    wait_until(lambda: all(each() is None for each in alive))
    assert len(alive) == 80


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("stage", ["ApiVersions", "Metadata"])
@pytest.mark.parametrize("rule", [{"body": b"\xff", "repeat": 1000}, {"drop": True}])
def test_an_error_is_freed_at_once(client: Client, stage: str, rule: dict[str, Any]) -> None:
    """Its traceback holds the reply: an error that refers to itself would keep it until the garbage collector runs."""
    client.brokers.rule(1, stage, **rule)
    errors: list[weakref.ref[SourceError]] = []
    link = client.link()

    async def fail() -> None:
        try:
            await link.ask(METADATA, link.now() + DEADLINE)
        except SourceError as error:
            errors.append(weakref.ref(error))

    for _ in range(5):
        client.network.run(fail)
    wait_until(lambda: all(error() is None for error in errors))
    assert len(errors) == 5
