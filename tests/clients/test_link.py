"""The link to a broker: connections, deadlines, versions, pauses, login and faults, on scripted brokers."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from kafka.protocol.admin import DeleteTopicsRequest

from kafka_warden.clients.kafka.faults import error_code_fault, request_fault
from kafka_warden.clients.kafka.link import IDLE, LASTING
from kafka_warden.clients.kafka.network import RESOLVERS, Network
from kafka_warden.clients.kafka.requests import DescribeQuorumRequest
from kafka_warden.errors import (
    AnswerTimeoutError,
    AuthenticationError,
    AuthorizationError,
    ConnectTimeoutError,
    ForbiddenRequestError,
    KafkaWardenError,
    PollAbandonedError,
    ProtocolError,
    RefusedError,
    SourceError,
    UnsupportedError,
)
from kafka_warden.settings.secrets import Secret, SecretFile
from sandbox import wait_for
from sandbox.passwords import write_secret
from tests.support.linking import CLUSTER, CONNECTED, DEADLINE, METADATA, REAL_DEADLINE, Client

UNKNOWN: Final = ("DescribeClientQuotas", "DescribeCluster", "DescribeQuorum", "ListPartitionReassignments")
KAFKA_1: Final = {"ApiVersions": (0, 1), "Metadata": (0, 5), "ListOffsets": (0, 2), **dict.fromkeys(UNKNOWN, (0, -1))}
"""Versions of requests in Kafka 1.0."""
SASL: Final[dict[str, Any]] = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "warden",
}


@pytest.mark.parametrize(("versions", "release"), [({"ListOffsets": (1, 11)}, "4.2"), ({"ApiVersions": (0, 5)}, "4.4")])
def test_the_release_follows_from_the_versions(client: Client, versions: dict[str, Any], release: str) -> None:
    client.brokers.do("versions", broker=1, versions=versions)
    link = client.link()
    assert (client.ask(link), link.kafka_version) == (CLUSTER, release)


def test_questions_asked_at_once_share_one_connection(client: Client) -> None:
    link = client.link()

    async def ask_at_once() -> list[Any]:
        return await asyncio.gather(*(link.ask(METADATA, link.now() + DEADLINE) for _ in range(5)))

    assert [reply.cluster_id for reply in client.network.run(ask_at_once)] == [CLUSTER] * 5
    assert client.connections() == 1


def test_a_link_that_is_closed_while_it_connects_keeps_no_connection(client: Client) -> None:
    """Nor does the question that waited for its turn then make one."""
    client.brokers.rule(1, "ApiVersions", delay=1.0)
    link = client.link()

    async def ask_and_close() -> list[Any]:
        questions = [asyncio.create_task(link.ask(METADATA, link.now() + DEADLINE)) for _ in range(2)]
        await asyncio.sleep(0.5)
        link.close()
        return await asyncio.gather(*questions, return_exceptions=True)

    failures = client.network.run(ask_and_close)
    assert [str(failure) for failure in failures] == [
        f"the link to {link.address} was closed before it was connected"
    ] * 2
    assert (link.connected, client.connections()) == (False, 1)
    assert client.ask(link) == CLUSTER


def test_the_loss_of_a_lasting_connection_is_reported(client: Client) -> None:
    """Not of a new or idle one, and not when this end closes it."""
    link, losses = client.link(), list[float]()
    link._lost = lambda: losses.append(client.clock.monotonic())

    def lose() -> None:
        client.brokers.do("disconnect", broker=1)
        wait_for(lambda: not link.connected)

    client.ask(link)
    client.clock.advance(LASTING - 1.0)
    lose()
    client.ask(link)
    client.clock.advance(LASTING)
    client.close()
    client.ask(link)
    client.clock.advance(IDLE)
    lose()
    assert not losses
    client.ask(link)
    client.clock.advance(LASTING)
    lose()
    wait_for(lambda: bool(losses))  # the loop's thread reports it after it has closed
    assert losses == [client.clock.monotonic()]


def test_a_question_after_its_deadline_is_not_asked(client: Client) -> None:
    client.fail(client.link(), AnswerTimeoutError, "no time", within=0.0)
    assert client.connections() == 0


@pytest.mark.parametrize(
    ("limit", "request_"),
    [("request", "Metadata"), ("socket", "Metadata"), ("request", "ApiVersions"), ("request", "SaslAuthenticate")],
)
def test_a_request_timeout_is_a_limit_for_each_request(client: Client, limit: str, request_: str) -> None:
    client.brokers.do("accounts", mechanism="PLAIN", users={"warden": "secret"})
    client.brokers.rule(1, request_, hang=True)
    limits: dict[str, Any] = {f"{limit}.timeout.ms": "100"}
    client.fail(client.link(secret=Secret("secret"), **limits, **SASL), AnswerTimeoutError, "did not answer in time")
    assert client.took == pytest.approx(0.1)


def test_a_connect_timeout_is_a_limit_for_the_connection(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(type(client.network._loop), "sock_connect", never)
    client.fail(client.link(socket_connection_setup_timeout_ms="100"), ConnectTimeoutError)
    assert client.took == pytest.approx(0.1)


def test_each_address_of_a_name_gets_its_share_of_the_time(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    loop, port = type(client.network._loop), client.brokers.ports[1]
    real = loop.sock_connect

    async def connect(loop: Any, connecting: socket.socket, where: Any) -> None:
        if connecting.family is socket.AF_INET6:
            await asyncio.Event().wait()
        await real(loop, connecting, where)

    async def resolve(*_: Any) -> list[Any]:
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", port, 0, 0)),
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)),
        ]

    monkeypatch.setattr(loop, "sock_connect", connect)
    monkeypatch.setattr(client.network, "resolve", resolve)
    assert client.ask(client.link(host="two.example"), 2.0) == CLUSTER
    assert client.took == pytest.approx(1.0)


def test_an_ipv6_address_is_connected_to(client: Client) -> None:
    client.brokers.brokers({"id": 4, "host": "::1"})
    assert client.ask(client.link(4, "::1")) == CLUSTER
    assert len(client.network.run(lambda: client.network.resolve("::1", 1))) == 1


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Until it is set, lookups of names that begin with `hangs` take their time."""
    release, real = threading.Event(), socket.getaddrinfo

    def getaddrinfo(host: str, *arguments: Any, **options: Any) -> Any:
        if host.startswith("hangs") and not options.get("flags"):
            release.wait(REAL_DEADLINE)
        return real(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield release
    release.set()
    for thread in resolving():
        thread.join(REAL_DEADLINE)


def resolving() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "resolve"]


def test_lookups_that_hang_neither_pile_up_nor_keep_the_process(
    client: Client, monkeypatch: pytest.MonkeyPatch, release: threading.Event
) -> None:
    async def ask_all() -> list[Any]:
        until = client.clock.monotonic() + 1.0
        return await asyncio.gather(*(link.ask(METADATA, until) for link in links), return_exceptions=True)

    monkeypatch.setattr(client.clock, "busy", lambda: False)  # the clock does not wait for these threads
    links = [client.link(host="hangs.example") for _ in range(RESOLVERS + 3)]
    faults = client.network.run(ask_all)
    assert {(type(each), "does not resolve" in str(each)) for each in faults} == {(ConnectTimeoutError, True)}
    assert (len(resolving()), {thread.daemon for thread in resolving()}) == (RESOLVERS, {True})
    assert client.ask(client.link()) == CLUSTER


def test_silent_name_servers_take_no_thread_from_names_that_were_found(release: threading.Event) -> None:
    network = Network()

    async def look_up(*hosts: str) -> list[Any]:
        lookups = [asyncio.create_task(network.resolve(host, 1)) for host in hosts]
        await asyncio.wait(lookups, timeout=0 if len(lookups) > 1 else None)
        return lookups

    network.run(lambda: look_up("localhost"))
    network.run(lambda: look_up(*(f"hangs{number}.example" for number in range(RESOLVERS + 1))))
    (found,) = network.run(lambda: look_up("localhost"))
    assert found.result()
    assert len(resolving()) >= RESOLVERS
    release.set()
    for thread in resolving():
        thread.join(REAL_DEADLINE)
    network.close()


def test_more_brokers_than_descriptors_cost_connections_only(client: Client) -> None:
    """Open connections stay. A broker that gets none is not unreachable: nothing is known of it."""
    link = client.link()
    assert client.ask(link) == CLUSTER
    client.network.descriptors = 0
    assert client.ask(link) == CLUSTER
    with pytest.raises(RefusedError, match="no file descriptor is left") as raised:
        client.ask(client.link(2))
    assert raised.value.reached is None


@pytest.mark.parametrize(
    ("port", "message"),
    [(70_000, "refused the connection"), (-1, "does not resolve .*DNS"), (1 << 70, "does not resolve")],
)
def test_an_impossible_address_is_refused(client: Client, port: int, message: str) -> None:
    client.brokers.ports[1] = port
    client.fail(client.link(), RefusedError, message)


def test_a_closed_port_and_a_closed_connection_are_refused(client: Client) -> None:
    link = client.link()
    client.brokers.rule(1, drop=True)
    client.fail(link, RefusedError, "closed the connection")
    client.brokers.do("refuse", broker=1)
    client.fail(link, RefusedError, "refused the connection")


def test_an_old_broker_is_asked_for_its_versions_again(client: Client) -> None:
    link = client.link()
    assert (client.ask(link), link.kafka_version) == (CLUSTER, "4.0")
    client.brokers.do("versions", broker=1, versions=KAFKA_1)
    link = client.link()
    client.brokers.do("forget")
    assert client.ask(link) == CLUSTER
    asked = [(each["request"], each["version"]) for each in client.brokers.seen()[1:]]
    assert asked == [("ApiVersions", 4), ("ApiVersions", 1), ("Metadata", 5)]
    assert link.kafka_version == "1.0"
    client.brokers.rule(1, "ApiVersions", body=b"\0\x23\0\0\0\0", times=1)  # error 35 without a list, as before KIP-511
    client.brokers.do("forget")
    assert client.ask(client.link()) == CLUSTER
    assert [each["version"] for each in client.brokers.seen("ApiVersions")] == [4, 0]


@pytest.mark.parametrize(
    ("request_", "error", "message"),
    [
        (DescribeQuorumRequest(topics=[]), UnsupportedError, "does not know this request"),
        (DeleteTopicsRequest(topics=[]), ForbiddenRequestError, "DeleteTopicsRequest is not a read-only request"),
    ],
)
def test_a_request_that_is_not_sent_costs_no_connection(
    client: Client, request_: Any, error: type[KafkaWardenError], message: str
) -> None:
    client.brokers.do("versions", broker=1, versions={"DescribeQuorum": (0, -1)})
    link = client.link()
    for _ in range(2):
        client.fail(link, error, message, request=request_)
        client.ask(link)
    assert [each["request"] for each in client.brokers.seen()] == [CONNECTED, "ApiVersions", "Metadata", "Metadata"]


@pytest.mark.parametrize(("request_", "sent"), [("ApiVersions", 4), ("Metadata", 5)])
def test_a_pause_beyond_the_deadline_fails_the_question_only(client: Client, request_: str, sent: int) -> None:
    """At once, with a reason that says so; the connection stays, and nothing is sent."""
    client.brokers.do("accounts", mechanism="PLAIN", users={"warden": "secret"})
    client.brokers.rule(1, request_, changes={"throttle_time_ms": 60_000})
    link = client.link(secret=Secret("secret"), **SASL)
    if request_ == "Metadata":
        client.ask(link)
    client.fail(link, AnswerTimeoutError, r"longer than the poll may take; raise the request quota .*poll\.interval$")
    assert client.took == 0.0
    assert len(client.brokers.seen()) == sent
    assert (link.take_throttle_time(), link.take_throttle_time()) == (60.0, 60.0)
    client.clock.advance(20.0)
    assert link.take_throttle_time() == pytest.approx(40.0)
    assert client.ask(link, 41.0) == CLUSTER
    assert client.took == pytest.approx(40.0)
    assert client.connections() == 1


def test_a_pause_leaves_the_reply_its_time(client: Client) -> None:
    client.brokers.rule(1, "Metadata", changes={"throttle_time_ms": 800}, delay=0.3)
    link = client.link()
    client.ask(link)
    assert client.ask(link, 1.0) == CLUSTER
    assert client.took == pytest.approx(1.1)
    assert client.connections() == 1


@pytest.mark.parametrize("request_", ["ApiVersions", "Metadata"])
def test_an_absurd_pause_is_a_protocol_fault(client: Client, request_: str) -> None:
    """The connection is dropped, so the pause ends with it, and the next question is asked at once."""
    client.brokers.rule(1, request_, changes={"throttle_time_ms": (1 << 31) - 1}, times=1)
    link = client.link()
    client.fail(link, ProtocolError, r"a pause of 2147484 s \(throttle_time_ms\); more than 60 s is not accepted")
    assert link.take_throttle_time() in (None, 0.0)
    assert (client.ask(link), client.took) == (CLUSTER, 0.0)
    assert client.connections() == 2


def test_an_old_broker_has_waited_itself(client: Client) -> None:
    """Before Kafka 2.0 the pause is over when the reply comes."""
    client.brokers.do("versions", broker=1, versions=KAFKA_1)
    client.brokers.rule(1, "Metadata", changes={"throttle_time_ms": 60_000})
    link = client.link()
    for _ in range(2):
        assert (client.ask(link), client.took) == (CLUSTER, 0.0)


def test_a_changed_password_is_used_for_the_next_connection(client: Client, tmp_path: Path) -> None:
    file = write_secret(tmp_path / "password", "first")
    client.brokers.do("accounts", mechanism="PLAIN", users={"warden": "first"})
    link = client.link(secret=SecretFile(file), **SASL)
    assert client.ask(link) == CLUSTER
    file.unlink()
    client.close()
    assert client.ask(link) == CLUSTER
    assert not link._settings.changed()

    client.brokers.do("accounts", mechanism="PLAIN", users={"warden": "second"})
    assert client.ask(link) == CLUSTER
    client.close()
    client.fail(link, AuthenticationError, rf"^{link.address} refused user name or password \(Authentication failed\)")
    write_secret(file, "second\n")
    assert (link._settings.changed(), link._settings.changed()) == (True, False)
    assert client.ask(link) == CLUSTER

    client.brokers.rule(1, "SaslAuthenticate", error=34, times=1)
    client.close()
    client.fail(link, AuthenticationError, "IllegalSaslState.*check sasl.mechanism")
    client.brokers.do("accounts", mechanism="GSSAPI", users={})
    client.close()
    client.fail(link, AuthenticationError, "offers: GSSAPI")


def test_a_broker_that_is_too_old_for_sasl_is_not_asked_for_it(client: Client) -> None:
    client.brokers.do("accounts", mechanism="PLAIN", users={"warden": "secret"})
    client.brokers.do("versions", broker=1, versions={"SaslHandshake": (0, -1)})
    client.fail(client.link(secret=Secret("secret"), **SASL), UnsupportedError, "too old for SASL")


def test_a_network_that_is_closed_ends_the_calls_that_wait() -> None:
    network, failures = Network(), []

    async def wait_for_ever() -> None:
        await asyncio.Event().wait()

    def run() -> None:
        try:
            network.run(wait_for_ever)
        except PollAbandonedError as failure:
            failures.append(failure)

    waiting = threading.Thread(target=run)
    waiting.start()
    wait_for(lambda: bool(asyncio.all_tasks(network._loop)))
    assert {thread.daemon for thread in threading.enumerate() if thread.name == "network"} == {True}
    network.close()
    waiting.join(REAL_DEADLINE)
    assert [str(failure) for failure in failures] == ["the network was closed"]
    network.close()
    with pytest.raises(PollAbandonedError, match="the network was closed"):
        network.run(wait_for_ever)


@pytest.mark.parametrize(
    ("code", "error", "says"),
    [
        (7, AnswerTimeoutError, "one:1: RequestTimedOutError (why)"),
        (29, AuthorizationError, "one:1: TopicAuthorizationFailedError (why); docs/reference/acls.md lists the ACLs"),
        (35, UnsupportedError, "one:1: UnsupportedVersionError (why)"),
        (58, AuthenticationError, "one:1 refused user name or password (why)"),
        (-1, ProtocolError, "one:1: UnknownError (why)"),
    ],
)
def test_error_codes_have_a_class(code: int, error: type[SourceError], says: str) -> None:
    fault = error_code_fault(code, "why", "one:1")
    assert type(fault) is error
    assert str(fault).startswith(says)
    assert error_code_fault(0, None, "one:1") is None


def test_an_error_without_a_class_of_its_own_is_named() -> None:
    fault = request_fault(KeyError("x"), "one:1")
    assert (type(fault), str(fault)) == (ProtocolError, "one:1: KeyError: 'x'")
