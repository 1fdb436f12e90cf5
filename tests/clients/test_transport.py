"""The bytes of a connection: frames, TLS, and the memory that is freed at its end."""

import asyncio
import contextlib
import gc
import struct
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_warden.clients.kafka.connection import BrokerConnection
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.requests import MOST_DECODED, DescribeClusterRequest, DescribeLogDirsRequest
from kafka_warden.errors import AnswerTimeoutError, ProtocolError, RefusedError, SourceError, TlsError, TooLargeError
from sandbox import wait_for
from sandbox.certificates import Authority, Identity
from sandbox.key_stores import write_trust_store
from tests.support.linking import CLUSTER, DEADLINE, METADATA, Client


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"), "authority")


def secured(client: Client, authority: Authority, name: str = "localhost", **broker: str) -> Identity:
    pair = authority.issue(f"server-{name}", hosts=[name])
    client.brokers.do("refuse", broker=1)
    client.brokers.brokers({"id": 1, "certificate": str(pair.certificate), "key": str(pair.key), **broker})
    return pair


def trusting(client: Client, authority: Path, **properties: Any) -> BrokerLink:
    return client.link(host="localhost", security_protocol="SSL", ssl_ca_location=str(authority), **properties)


def length(size: int) -> bytes:
    return struct.pack(">i", size)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (length((1 << 31) - 1), TooLargeError, "more than the 65536"),
        (length(64 * 1024 + 1), TooLargeError, "more than the 65536"),
        (length(-1), ProtocolError, "the port of a broker"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", TooLargeError, "more than the 65536"),
        (length(64 * 1024) + b"\xff" * (64 * 1024), ProtocolError, "correlation id"),
        (b"\0\0\0\4\0\0\0\1m", ProtocolError, "the port of a broker"),
        (length(0), ProtocolError, "decoded"),
    ],
    ids=["huge", "too large", "negative", "http", "large", "surplus", "empty"],
)
def test_bytes_that_are_no_reply_end_the_connection_at_once(
    client: Client, data: bytes, error: type[SourceError], message: str
) -> None:
    """Before login a frame may have 64 KiB."""
    client.brokers.rule(1, "ApiVersions", raw=data, times=1)
    link = client.link()
    client.fail(link, error, message)
    assert client.took == 0.0
    assert (client.ask(link), client.connections()) == (CLUSTER, 2)


def test_a_reply_may_be_as_large_as_configured(client: Client) -> None:
    """`receive.message.max.bytes` counts after login, for the frame without its length; here five bytes are header."""
    link = client.link(receive_message_max_bytes="2000000")
    for size, error, message in ((1_999_995, ProtocolError, "decoded"), (1_999_996, TooLargeError, "2000000")):
        client.brokers.rule(1, "Metadata", body=b"\xff", repeat=size)
        client.fail(link, error, message)


def test_a_reply_of_objects_has_a_limit_of_its_own(client: Client) -> None:
    """Whatever is configured: to decode 256 MiB of them would take minutes."""
    link = client.link(receive_message_max_bytes="200000000")
    client.brokers.rule(1, "DescribeLogDirs", raw=length(MOST_DECODED + 1))
    client.fail(link, TooLargeError, str(MOST_DECODED), request=DescribeLogDirsRequest(topics=None))


def test_a_reply_without_a_long_list_stays_small(client: Client) -> None:
    link = client.link(receive_message_max_bytes="2000000")
    client.brokers.rule(1, "DescribeCluster", raw=length(512 * 1024 + 1))
    client.fail(link, TooLargeError, "524288", request=DescribeClusterRequest())


def test_requests_carry_the_name_of_the_client(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    sent, exchange = list[bytes](), BrokerConnection._exchange

    async def record(connection: BrokerConnection, frame: bytes) -> bytes:
        sent.append(frame)
        return await exchange(connection, frame)

    monkeypatch.setattr(BrokerConnection, "_exchange", record)
    client.ask(client.link(client_id="me"))
    assert ([b"\0\2me" in frame for frame in sent], b"\x0dkafka-warden\x08unknown" in sent[0]) == ([True, True], True)


def test_a_reply_that_belongs_to_another_request_ends_the_connection(client: Client) -> None:
    """Its correlation id is wrong: a later reply could answer another question."""
    client.brokers.rule(1, "Metadata", raw=length(5) + b"\0\0\0\7\0", times=1)
    link = client.link()
    client.fail(link, ProtocolError, "correlation id 7, not 2")
    assert (client.ask(link), client.connections()) == (CLUSTER, 2)


def test_a_reply_that_arrives_together_with_the_end_of_the_stream_is_returned() -> None:
    """A broker that refuses a password sends the reason and closes."""

    async def exchange() -> bytes:
        transport: Any = SimpleNamespace(is_closing=lambda: False, write=lambda _: None)
        connection = BrokerConnection("test", "one:1")
        connection.connection_made(transport)
        reply = asyncio.create_task(connection._exchange(b"request"))
        await asyncio.sleep(0)
        connection.data_received(length(2) + b"no")
        connection.connection_lost(None)
        return await reply

    assert asyncio.run(exchange()) == b"no"


def test_bytes_without_a_request_end_the_connection() -> None:
    aborted: list[bool] = []
    transport: Any = SimpleNamespace(abort=lambda: aborted.append(True))
    connection = BrokerConnection("test", "one:1")
    connection.connection_made(transport)
    connection.data_received(length(2) + b"no")
    assert aborted == [True]


def test_authorities_and_names_are_verified(client: Client, authority: Authority, tmp_path: Path) -> None:
    stranger, unnamed = Authority(tmp_path, "stranger").certificate, {"ssl_endpoint_identification_algorithm": "none"}
    secured(client, authority)
    assert client.ask(trusting(client, authority.certificate)) == CLUSTER
    client.fail(trusting(client, stranger, **unnamed), TlsError, "not trusted")

    secured(client, authority, "elsewhere.example")
    client.fail(trusting(client, authority.certificate), TlsError, "not trusted .*[Hh]ostname")
    assert client.ask(trusting(client, authority.certificate, **unnamed)) == CLUSTER
    assert client.ask(trusting(client, stranger, enable_ssl_certificate_verification="false")) == CLUSTER


def test_a_java_trust_store_may_hold_the_server_itself(client: Client, authority: Authority, tmp_path: Path) -> None:
    """Whatever is in such a store is trusted, also without the authority that issued it, as in Java."""
    pair = secured(client, authority)
    store = write_trust_store(tmp_path / "trust", "JKS", "changeit", pair.certificate)
    link = client.link(host="localhost", security_protocol="SSL", ssl_truststore_location=str(store))
    assert client.ask(link) == CLUSTER


def test_a_revoked_certificate_is_refused(client: Client, authority: Authority) -> None:
    revoked = authority.revoke(secured(client, authority))
    client.fail(trusting(client, authority.certificate, ssl_crl_location=str(revoked)), TlsError, "revoked")


def test_a_client_certificate_with_an_encrypted_key_is_sent(client: Client, authority: Authority) -> None:
    """Mutual TLS. A broker that requires a certificate closes a connection without one."""
    pair = authority.issue("client", password="of the key")
    files = {"ssl_certificate_location": str(pair.certificate), "ssl_key_location": str(pair.key)}
    secured(client, authority, client_ca=str(authority.certificate))
    assert client.ask(trusting(client, authority.certificate, **files, ssl_key_password="of the key")) == CLUSTER
    client.fail(trusting(client, authority.certificate), RefusedError)


def test_changed_authorities_are_used_for_the_next_connection(
    client: Client, authority: Authority, tmp_path: Path
) -> None:
    ca, right = tmp_path / "ca.pem", authority.certificate.read_bytes()
    ca.write_bytes(right)
    secured(client, authority)
    link = trusting(client, ca)
    assert link._settings.ssl_context() is link._settings.ssl_context()
    assert client.ask(link) == CLUSTER
    ca.write_text("half of a certific")
    assert client.ask(link) == CLUSTER  # over the open connection
    client.close()
    for _ in range(2):
        client.fail(link, TlsError, f"changed and cannot be used: .*{ca}")
    ca.write_bytes(Authority(tmp_path, "next").certificate.read_bytes())
    client.fail(link, TlsError, "not trusted")
    ca.write_bytes(right)
    assert client.ask(link) == CLUSTER


def test_a_tls_handshake_ends_with_the_deadline(client: Client, authority: Authority) -> None:
    """A listener without TLS waits for the rest of a frame."""
    client.fail(trusting(client, authority.certificate), AnswerTimeoutError)
    assert client.took == pytest.approx(DEADLINE)


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("tls", [False, True])
def test_a_closed_connection_is_freed_at_once(
    client: Client, authority: Authority, monkeypatch: pytest.MonkeyPatch, *, tls: bool
) -> None:
    alive: list[weakref.ref[Any]] = []
    make = BrokerConnection.__init__

    def init(self: BrokerConnection, *arguments: Any) -> None:
        make(self, *arguments)
        alive.append(weakref.ref(self))

    monkeypatch.setattr(BrokerConnection, "__init__", init)
    if tls:
        secured(client, authority)
    link = trusting(client, authority.certificate) if tls else client.link()
    client.brokers.rule(1, "Metadata", drop=True, times=20)
    for _ in range(40):
        with contextlib.suppress(RefusedError):
            client.ask(link)
        client.close()
    wait_for(lambda: all(each() is None for each in alive))
    assert len(alive) == 40


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
    wait_for(lambda: all(error() is None for error in errors))
    assert len(errors) == 5


@pytest.mark.usefixtures("no_collector")
def test_a_refused_connection_is_freed_at_once(client: Client) -> None:
    def refused() -> list[Any]:
        return [each for each in gc.get_objects() if isinstance(each, ConnectionRefusedError)]

    earlier = refused()
    client.brokers.do("refuse", broker=1)
    client.fail(client.link(), RefusedError, "refused the connection")
    wait_for(lambda: len(refused()) == len(earlier))
