"""The link to a broker over real sockets, to a listener that answers as each test wants."""

import asyncio
import contextlib
import gc
import itertools
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from kafka.protocol.api_key import ApiKey
from kafka.protocol.metadata import ApiVersionsResponse, MetadataResponse
from kafka.protocol.sasl import SaslAuthenticateResponse, SaslHandshakeResponse

from kafka_warden.clients.kafka import network as network_module
from kafka_warden.clients.kafka.connection import Connection
from kafka_warden.clients.kafka.frames import Frames
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.network import Network
from kafka_warden.clients.kafka.properties import translate
from kafka_warden.clients.kafka.requests import DescribeQuorumRequest, MetadataRequest
from kafka_warden.errors import (
    AnswerTimeoutError,
    AuthenticationError,
    ConnectTimeoutError,
    ForbiddenRequestError,
    ProtocolError,
    RefusedError,
    SourceError,
    TlsError,
    TooLargeError,
    UnsupportedError,
)
from tests.clients.wire import VERSIONS, Asked, Listener, api_versions, encoded
from tests.support.certificates import Authority

PATIENCE: Final = 30.0
SHORT: Final = 0.3
METADATA: Final = MetadataRequest(topics=None, allow_auto_topic_creation=False)
UNSUPPORTED_VERSION: Final = 35
SASL_FAILED: Final = 58
UNSUPPORTED_MECHANISM: Final = 33
SASL: Final = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "monitor",
    "sasl.password": "secret-of-a-test",
}


def metadata(asked: Asked, throttle_time_ms: int = 0, **header: int) -> bytes:
    """Answer for an empty cluster."""
    fields: dict[str, Any] = {"brokers": [], "cluster_id": "c", "controller_id": 1, "topics": []}
    return encoded(asked, MetadataResponse, **header, throttle_time_ms=throttle_time_ms, **fields)


def answering(asked: Asked) -> bytes | None:
    """A broker that answers what it is asked."""
    match asked.key:
        case ApiKey.ApiVersions:
            return api_versions(asked)
        case ApiKey.SaslHandshake:
            return encoded(asked, SaslHandshakeResponse, error_code=0, mechanisms=["PLAIN"])
        case ApiKey.SaslAuthenticate:
            return authenticated(asked)
        case _:
            return metadata(asked)


def authenticated(asked: Asked, error_code: int = 0, lifetime: int = 0) -> bytes:
    """Answer a SASL message."""
    message = "no" if error_code else None
    return encoded(
        asked,
        SaslAuthenticateResponse,
        error_code=error_code,
        error_message=message,
        auth_bytes=b"",
        session_lifetime_ms=lifetime,
    )


@pytest.fixture(scope="module")
def loop() -> Iterator[Network]:
    """A loop in its thread."""
    made = Network()
    yield made
    made.close()


LINKS: list[BrokerLink] = []
"""Made by the test that runs."""


@pytest.fixture
def network(loop: Network) -> Iterator[Network]:
    """The loop; links are closed after the test."""

    async def close() -> None:
        for link in LINKS:
            link.close()

    yield loop
    loop.run(close)
    LINKS.clear()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Certificates of this module."""
    return Authority(tmp_path_factory.mktemp("tls"))


def link_to(network: Network, listener: Listener, host: str = "127.0.0.1", **properties: str) -> BrokerLink:
    """A link with these properties."""
    named = {name if "." in name else name.replace("_", "."): value for name, value in properties.items()}
    LINKS.append(BrokerLink(network, translate({"bootstrap.servers": "unused:1", **named}), host, listener.port))
    return LINKS[-1]


def ask(network: Network, link: BrokerLink, within: float = PATIENCE, request: Any = METADATA) -> Any:
    """Ask for the metadata."""
    return network.run(lambda: link.ask(request, time.monotonic() + within))


def test_one_connection_is_used_for_all_questions(network: Network) -> None:
    """It is made by the first one, and the next questions use it."""
    with Listener(answering) as listener:
        link = link_to(network, listener)
        before = link.kafka_version
        assert [ask(network, link).cluster_id for _ in range(3)] == ["c"] * 3
        assert (before, link.kafka_version) == (None, "4.0")
        assert listener.accepted == 1
        assert listener.keys() == [ApiKey.Metadata] * 3


def test_a_question_that_is_asked_meanwhile_waits_for_its_turn(network: Network) -> None:
    """One outstanding request per broker, and each gets its own reply."""
    with Listener(answering) as listener:
        link = link_to(network, listener)

        async def ask_at_once() -> list[Any]:
            until = time.monotonic() + PATIENCE
            return await asyncio.gather(*(link.ask(METADATA, until) for _ in range(5)))

        assert len(network.run(ask_at_once)) == 5
        assert listener.accepted == 1


def test_a_broker_that_hangs_costs_its_deadline_and_its_connection(network: Network) -> None:
    """The next question opens a new connection."""
    release = threading.Event()

    def answer(asked: Asked) -> bytes | None:
        if asked.key == ApiKey.Metadata and asked.connection == 0:
            release.wait(PATIENCE)
        return answering(asked)

    with Listener(answer) as listener:
        link = link_to(network, listener)
        began = time.monotonic()
        with pytest.raises(AnswerTimeoutError):
            ask(network, link, SHORT)
        assert time.monotonic() - began >= SHORT
        release.set()
        assert ask(network, link).cluster_id == "c"
        assert listener.accepted == 2


def test_a_question_after_its_deadline_is_not_asked(network: Network) -> None:
    """The reason is `timeout`, not that no connection could be made; the next question is asked."""
    with Listener(answering) as listener:
        link = link_to(network, listener)
        with pytest.raises(AnswerTimeoutError, match="no time"):
            ask(network, link, 0.0)
        assert listener.accepted == 0
        assert ask(network, link).cluster_id == "c"


def test_a_request_timeout_is_a_limit_for_each_request(network: Network) -> None:
    """`request.timeout.ms`, and librdkafka's name for it, end a question before its deadline."""
    release = threading.Event()

    def answer(asked: Asked) -> bytes | None:
        if asked.key == ApiKey.Metadata:
            release.wait(PATIENCE)
        return answering(asked)

    with Listener(answer) as listener:
        for name in ("request_timeout_ms", "socket_timeout_ms"):
            with pytest.raises(AnswerTimeoutError):
                ask(network, link_to(network, listener, **{name: "100"}))
        release.set()


def test_a_connect_timeout_is_a_limit_for_the_connection(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """`socket.connection.setup.timeout.ms` ends a connect before the deadline, here one that never completes."""

    async def never(*_: Any) -> None:
        await asyncio.Event().wait()

    with Listener(answering) as listener:
        monkeypatch.setattr(type(network._loop), "sock_connect", never)
        with pytest.raises(ConnectTimeoutError):
            ask(network, link_to(network, listener, socket_connection_setup_timeout_ms="100"))


def test_each_address_of_a_name_gets_its_share_of_the_time(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """The packets to the IPv6 address are dropped; the IPv4 address answers within the same deadline."""
    real = type(network._loop).sock_connect

    async def connect(loop: Any, sock: socket.socket, where: Any) -> None:
        if sock.family is socket.AF_INET6:
            await asyncio.Event().wait()
        await real(loop, sock, where)

    with Listener(answering) as listener:
        addresses = [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", listener.port, 0, 0)),
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", listener.port)),
        ]

        async def resolve(*_: Any) -> list[Any]:
            return addresses

        monkeypatch.setattr(type(network._loop), "sock_connect", connect)
        monkeypatch.setattr(network, "resolve", resolve)
        assert ask(network, link_to(network, listener, "two.example"), 2.0).cluster_id == "c"


def test_an_ipv6_address_is_connected_to(network: Network) -> None:
    """As a host without brackets, which is how metadata has it."""
    with Listener(answering, host="::1") as listener:
        assert ask(network, link_to(network, listener, "::1")).cluster_id == "c"


def test_lookups_that_hang_neither_pile_up_nor_keep_the_process(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most four threads, all of them daemons; addresses need none."""
    release, real = threading.Event(), socket.getaddrinfo

    def getaddrinfo(host: str, *arguments: Any, **options: Any) -> Any:
        if host == "hangs.example" and not options.get("flags"):
            release.wait(PATIENCE)
        return real(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with Listener(answering) as listener:
        links = [link_to(network, listener, "hangs.example") for _ in range(7)]

        async def ask_all() -> list[Any]:
            until = time.monotonic() + SHORT
            return await asyncio.gather(*(link.ask(METADATA, until) for link in links), return_exceptions=True)

        assert [type(each) for each in network.run(ask_all)] == [ConnectTimeoutError] * 7
        hanging = [thread for thread in threading.enumerate() if thread.name == "resolve"]
        assert (len(hanging), {thread.daemon for thread in hanging}) == (network_module.RESOLVERS, {True})
        assert ask(network, link_to(network, listener)).cluster_id == "c"
        release.set()
        for thread in hanging:
            thread.join(PATIENCE)


@pytest.mark.parametrize("port", [70_000, -1, 1 << 70])
def test_an_impossible_address_is_refused(network: Network, port: int) -> None:
    """Metadata may name anything."""
    link = BrokerLink(network, translate({"bootstrap.servers": "unused"}), "127.0.0.1", port)
    with pytest.raises(RefusedError):
        ask(network, link)


def test_nobody_listens(network: Network) -> None:
    """The reason is `refused`, also when the broker closes a connection."""
    with Listener(lambda _: None) as listener:
        link = link_to(network, listener)
        with pytest.raises(RefusedError, match="closed the connection"):
            ask(network, link)
    with pytest.raises(RefusedError, match="refused the connection"):
        ask(network, link)


def test_api_versions_are_asked_for_in_an_older_version_when_they_must(network: Network) -> None:
    """A broker that does not know the newest one answers with error 35, in version 0, and with what it knows."""
    old = {**VERSIONS, ApiKey.ApiVersions: (0, 2), ApiKey.ListOffsets: (0, 2), ApiKey.Metadata: (0, 5)}

    def answer(asked: Asked) -> bytes | None:
        if asked.key != ApiKey.ApiVersions:
            return metadata(asked)
        if asked.version <= 2:
            return api_versions(asked, old)
        as_version_0 = Asked(asked.key, 0, asked.correlation, b"", 0)
        known = [ApiVersionsResponse.ApiVersion(version=0, api_key=18, min_version=0, max_version=2)]
        return encoded(as_version_0, ApiVersionsResponse, error_code=UNSUPPORTED_VERSION, api_keys=known)

    with Listener(answer) as listener:
        link = link_to(network, listener)
        assert ask(network, link).version == 5
        assert [(each.key, each.version) for each in listener.asked] == [(18, 4), (18, 2), (3, 5)]
        assert link.kafka_version == "1.0"


def test_a_request_that_the_broker_does_not_know_is_not_sent(network: Network) -> None:
    """And the connection stays: no poll reconnects for it."""
    with Listener(answering) as listener:
        link = link_to(network, listener)
        for _ in range(3):
            with pytest.raises(UnsupportedError):
                ask(network, link, request=DescribeQuorumRequest(topics=[]))
            assert ask(network, link).cluster_id == "c"
        assert (listener.accepted, listener.keys()) == (1, [ApiKey.Metadata] * 3)
        assert network.run(lambda: link.supports(MetadataRequest, 13, time.monotonic() + PATIENCE))
        assert not network.run(lambda: link.supports(MetadataRequest, 14, time.monotonic() + PATIENCE))
        assert not network.run(lambda: link.supports(DescribeQuorumRequest, 0, time.monotonic() + PATIENCE))


def test_a_forbidden_request_is_a_bug_and_costs_no_connection(network: Network) -> None:
    """The link refuses it, as the function that sends does."""
    from kafka.protocol.admin import DeleteTopicsRequest  # noqa: PLC0415  # only this test has to do with it

    with Listener(answering) as listener:
        link = link_to(network, listener)
        ask(network, link)
        with pytest.raises(ForbiddenRequestError):
            ask(network, link, request=DeleteTopicsRequest(topics=[]))
        ask(network, link)
        assert listener.accepted == 1


def test_a_throttled_client_waits_and_keeps_its_connection(network: Network) -> None:
    """The next request comes after the pause that the broker asked for."""
    times: list[float] = []

    def answer(asked: Asked) -> bytes | None:
        times.append(time.monotonic())
        return api_versions(asked) if asked.key == ApiKey.ApiVersions else metadata(asked, throttle_time_ms=200)

    with Listener(answer) as listener:
        link = link_to(network, listener)
        for _ in range(3):
            ask(network, link)
        assert listener.accepted == 1
        assert min(later - earlier for earlier, later in itertools.pairwise(times[1:])) >= 0.2
        assert (link.take_throttle_time(), link.take_throttle_time()) == (0.2, None)


def test_a_pause_beyond_the_deadline_fails_the_question_only(network: Network) -> None:
    """At once, with a reason that says so; the connection stays, and nothing was sent."""

    def answer(asked: Asked) -> bytes | None:
        return api_versions(asked) if asked.key == ApiKey.ApiVersions else metadata(asked, throttle_time_ms=60_000)

    with Listener(answer) as listener:
        link = link_to(network, listener)
        ask(network, link)
        began = time.monotonic()
        with pytest.raises(AnswerTimeoutError, match="throttle_time_ms"):
            ask(network, link, 30.0)
        assert time.monotonic() - began < 10.0
        assert (listener.accepted, listener.keys()) == (1, [ApiKey.Metadata])


def test_an_old_broker_has_waited_itself(network: Network) -> None:
    """Before Kafka 2.0 the pause is over when the reply comes."""
    old = {ApiKey.ApiVersions: (0, 1), ApiKey.Metadata: (0, 5), ApiKey.ListOffsets: (0, 2)}

    def answer(asked: Asked) -> bytes | None:
        return api_versions(asked, old) if asked.key == ApiKey.ApiVersions else metadata(asked, 60_000)

    with Listener(answer) as listener:
        link = link_to(network, listener)
        assert [ask(network, link).cluster_id for _ in range(2)] == ["c", "c"]


def sent(listener: socket.socket, data: bytes, linger: bool = False) -> None:
    """Accept one connection and send these bytes, whatever is asked."""
    near, _ = listener.accept()
    with near:
        near.recv(1 << 16)
        near.sendall(data)
        if linger:
            near.recv(1 << 16)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"\x7f\xff\xff\xff", TooLargeError),
        ((512 * 1024 + 1).to_bytes(4, "big"), TooLargeError),
        (b"\xff\xff\xff\xff", ProtocolError),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", TooLargeError),
        ((512 * 1024).to_bytes(4, "big") + b"\xff" * (512 * 1024), ProtocolError),
        (b"\0\0\0\4\0\0\0\1more", ProtocolError),
        (b"\0\0\0\0", ProtocolError),
    ],
)
def test_what_is_no_reply_ends_the_connection_at_once(network: Network, data: bytes, error: type[SourceError]) -> None:
    """Before login a frame may have 512 KiB, whatever it claims; the broker has proved nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=sent, args=(listener, data, True), daemon=True)
        thread.start()
        link = BrokerLink(network, translate({"bootstrap.servers": "unused"}), "127.0.0.1", listener.getsockname()[1])
        cpu = time.process_time()
        with pytest.raises(error):
            ask(network, link)
        assert time.process_time() - cpu < 2.0
        thread.join(PATIENCE)


def test_a_reply_that_belongs_to_another_request_ends_the_connection(network: Network) -> None:
    """Its correlation id is wrong: a later reply could answer another question."""
    shift = [1, 0]

    def answer(asked: Asked) -> bytes | None:
        if asked.key != ApiKey.Metadata:
            return answering(asked)
        return metadata(asked, correlation=asked.correlation + shift.pop(0))

    with Listener(answer) as listener:
        link = link_to(network, listener)
        with pytest.raises(ProtocolError):
            ask(network, link)
        assert ask(network, link).cluster_id == "c"
        assert listener.accepted == 2


def test_a_reply_may_be_as_large_as_configured(network: Network) -> None:
    """`receive.message.max.bytes` counts from the first question on, for the frame without its length."""
    names: list[str] = []

    def answer(asked: Asked) -> bytes | None:
        if asked.key == ApiKey.ApiVersions:
            return api_versions(asked)
        topics = [
            MetadataResponse.MetadataResponseTopic(version=asked.version, error_code=0, name=name, partitions=[])
            for name in names
        ]
        fields: dict[str, Any] = {"throttle_time_ms": 0, "brokers": [], "cluster_id": "c", "controller_id": 1}
        return encoded(asked, MetadataResponse, topics=topics, **fields)

    with Listener(answer) as listener:
        link = link_to(network, listener, receive_message_max_bytes="2000000")
        names[:] = [f"{number:0200}" for number in range(8000)]
        assert len(ask(network, link).topics) == 8000
        names[:] = [f"{number:0249}" for number in range(8000)]
        with pytest.raises(TooLargeError, match="2000000"):
            ask(network, link)


def test_a_login_is_sent_and_renewed(network: Network) -> None:
    """After most of the session's lifetime, before the next question, on the same connection (KIP-368)."""

    def answer(asked: Asked) -> bytes | None:
        return authenticated(asked, lifetime=1200) if asked.key == ApiKey.SaslAuthenticate else answering(asked)

    with Listener(answer) as listener:
        link = link_to(network, listener, **SASL)
        ask(network, link)
        first = listener.keys()
        ask(network, link)
        assert listener.keys() == [*first, ApiKey.Metadata]
        time.sleep(max(0.0, link._log_in_at - time.monotonic()) if link._log_in_at is not None else 0.0)
        ask(network, link)
        assert first == [ApiKey.SaslHandshake, ApiKey.SaslAuthenticate, ApiKey.Metadata]
        assert listener.keys() == [*first, ApiKey.Metadata, *first]
        assert listener.accepted == 1
        assert b"\0monitor\0secret-of-a-test" in listener.asked[2].body


def test_a_session_without_an_end_is_not_renewed(network: Network) -> None:
    """Lifetime 0."""
    with Listener(answering) as listener:
        link = link_to(network, listener, **SASL)
        ask(network, link)
        assert link._log_in_at is None


@pytest.mark.parametrize("closes", [False, True])
def test_a_refused_password_is_an_authentication_error(network: Network, *, closes: bool) -> None:
    """Also when the broker closes the connection with the last byte of its refusal."""
    listeners: list[Listener] = []

    def answer(asked: Asked) -> bytes | None:
        if asked.key != ApiKey.SaslAuthenticate:
            return answering(asked)
        refusal = authenticated(asked, SASL_FAILED)
        if closes:
            near = listeners[0]._open[asked.connection]
            near.sendall(len(refusal).to_bytes(4, "big") + refusal)
            near.shutdown(socket.SHUT_RDWR)
            return None
        return refusal

    with Listener(answer) as listener:
        listeners.append(listener)
        with pytest.raises(AuthenticationError, match="refused user name or password"):
            ask(network, link_to(network, listener, **SASL))


def test_a_mechanism_that_is_not_offered_is_an_authentication_error(network: Network) -> None:
    """The message names those that are."""

    def answer(asked: Asked) -> bytes | None:
        if asked.key != ApiKey.SaslHandshake:
            return answering(asked)
        fields: dict[str, Any] = {"error_code": UNSUPPORTED_MECHANISM, "mechanisms": ["GSSAPI"]}
        return encoded(asked, SaslHandshakeResponse, **fields)

    with Listener(answer) as listener, pytest.raises(AuthenticationError, match="offers: GSSAPI"):
        ask(network, link_to(network, listener, **SASL))


def server_context(authority: Authority, name: str = "localhost") -> ssl.SSLContext:
    """The broker's side, with a certificate for this name."""
    pair = authority.issue(f"server-{name}", [name])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    return context


def secured(network: Network, listener: Listener, authority: Authority, host: str = "localhost") -> BrokerLink:
    """A link over TLS that trusts the authority."""
    properties = {"security.protocol": "SSL", "ssl.ca.location": str(authority.ca), "bootstrap.servers": "unused"}
    LINKS.append(BrokerLink(network, translate(properties), host, listener.port))
    return LINKS[-1]


def test_tls_is_spoken_and_names_are_verified(network: Network, authority: Authority, tmp_path: Any) -> None:
    """A certificate of another authority, or for another name, is a TLS error."""
    with Listener(answering, server_context(authority)) as listener:
        assert ask(network, secured(network, listener, authority)).cluster_id == "c"
        with pytest.raises(TlsError, match="not trusted"):
            ask(network, secured(network, listener, Authority(tmp_path, "other")))
    with Listener(answering, server_context(authority, "elsewhere.example")) as other:
        link = secured(network, other, authority)
        with pytest.raises(TlsError, match="not trusted"):
            ask(network, link)


def test_a_new_authority_that_cannot_be_used_is_a_tls_error(
    network: Network, authority: Authority, tmp_path: Any
) -> None:
    """The old one is not used any more, in silence; a connection is made again when the file is right."""
    ca, right = tmp_path / "ca.pem", authority.ca.read_bytes()
    ca.write_bytes(right)
    with Listener(answering, server_context(authority)) as listener:
        link = link_to(network, listener, "localhost", **{"security.protocol": "SSL", "ssl.ca.location": str(ca)})
        assert ask(network, link).cluster_id == "c"
        ca.write_text("half of a certific")
        assert ask(network, link).cluster_id == "c"  # over the connection that there is

        async def reconnect() -> None:
            link.close()

        network.run(reconnect)
        with pytest.raises(TlsError, match="changed and cannot be used"):
            ask(network, link)
        ca.write_bytes(right)
        assert ask(network, link).cluster_id == "c"


def test_a_tls_handshake_ends_with_the_deadline(network: Network, authority: Authority) -> None:
    """A listener that accepts and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        properties = {"security.protocol": "SSL", "ssl.ca.location": str(authority.ca), "bootstrap.servers": "unused"}
        link = BrokerLink(network, translate(properties), "localhost", silent.getsockname()[1])
        with pytest.raises(AnswerTimeoutError):
            ask(network, link, SHORT)


@pytest.mark.parametrize("tls", [False, True])
def test_a_connection_that_goes_is_freed_at_once(
    network: Network, authority: Authority, monkeypatch: pytest.MonkeyPatch, *, tls: bool
) -> None:
    """With its buffer, without the garbage collector: 20 that failed and 20 that were closed."""
    alive: list[weakref.ref[Any]] = []
    make = Connection.__init__

    def init(self: Connection, frames: Frames, *arguments: Any) -> None:
        make(self, frames, *arguments)
        alive.extend([weakref.ref(self), weakref.ref(frames)])

    def answer(asked: Asked) -> bytes | None:
        return None if asked.key == ApiKey.Metadata and asked.connection % 2 else answering(asked)

    monkeypatch.setattr(Connection, "__init__", init)
    gc.disable()
    try:
        with Listener(answer, server_context(authority) if tls else None) as listener:
            link = secured(network, listener, authority) if tls else link_to(network, listener)

            async def reconnect() -> None:
                for _ in range(40):
                    with contextlib.suppress(RefusedError):
                        await link.ask(METADATA, time.monotonic() + PATIENCE)
                    link.close()
                await asyncio.sleep(0)

            network.run(reconnect)
        wait_until(lambda: all(each() is None for each in alive))
    finally:
        gc.enable()
    assert len(alive) == 80


@pytest.mark.parametrize("stage", [ApiKey.ApiVersions, ApiKey.Metadata])
@pytest.mark.parametrize("reply", [b"\xff" * 1000, None])
def test_an_error_is_freed_at_once(network: Network, stage: int, reply: bytes | None) -> None:
    """Its traceback holds the reply: an error that refers to itself would keep it until the garbage collector runs."""

    def answer(asked: Asked) -> bytes | None:
        return (reply and asked.correlation.to_bytes(4, "big") + reply) if asked.key == stage else answering(asked)

    errors: list[weakref.ref[SourceError]] = []
    gc.disable()
    try:
        with Listener(answer) as listener:
            link = link_to(network, listener)

            async def fail() -> None:
                try:
                    await link.ask(METADATA, time.monotonic() + PATIENCE)
                except SourceError as error:
                    errors.append(weakref.ref(error))

            for _ in range(5):
                network.run(fail)
        wait_until(lambda: all(error() is None for error in errors))
    finally:
        gc.enable()
    assert len(errors) == 5


def wait_until(predicate: Callable[[], bool]) -> None:
    """Wait until it is true: the loop's thread may have something to finish."""
    until = time.monotonic() + PATIENCE
    while not predicate():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_network_that_is_closed_ends_what_waits(network: Network) -> None:
    """`run` raises in the thread that waits, and does not hang."""
    from kafka_warden.errors import PollAbandonedError  # noqa: PLC0415  # only this test expects it

    other, failures = Network(), []

    async def wait_for_ever() -> None:
        await asyncio.Event().wait()

    def run() -> None:
        try:
            other.run(wait_for_ever)
        except PollAbandonedError as failure:
            failures.append(failure)

    waiting = threading.Thread(target=run)
    waiting.start()
    while not asyncio.all_tasks(other._loop):
        time.sleep(0.01)
    other.close()
    waiting.join(PATIENCE)
    assert len(failures) == 1
    with pytest.raises(PollAbandonedError):
        other.run(wait_for_ever)
