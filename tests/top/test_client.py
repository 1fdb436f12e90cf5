"""Servers that are slow, refuse, close or are none: what is wrong is named, in time."""

import asyncio
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import bcrypt
import pytest

from kafka_warden.errors import ConfigError, NoAnswerError, SecretError
from kafka_warden.exposition import PageHolder
from kafka_warden.top import client
from kafka_warden.top.client import Client
from kafka_warden.top.flags import read as read_flags
from kafka_warden.top.reading import read
from sandbox.certificates import Authority
from sandbox.passwords import write_secret
from tests.building import known
from tests.support import status_rows
from tests.top.flags import flags
from tests.web.conftest import Served

PASSWORD = "canary-Tr0ub4dor"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def made(url: str, seconds: float = 60.0, **values: str) -> Client:
    made = known(read_flags(flags(url=url, **values), {}, {}).client)
    made._seconds = seconds
    return made


def problem(asking: Client) -> str:
    with pytest.raises(NoAnswerError) as raised:
        asyncio.run(read(asking.get, {"moves": 10}))
    assert PASSWORD not in str(raised.value)
    return str(raised.value)


@pytest.fixture
def listen() -> Iterator[Callable[[Callable[[socket.socket], object]], str]]:
    listening: list[socket.socket] = []

    def start(answer: Callable[[socket.socket], object]) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listening.append(listener)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=serve, args=(connection,), daemon=True).start()

        def serve(connection: socket.socket) -> None:
            with closing(connection), suppress(OSError):
                answer(connection)

        threading.Thread(target=accept, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for listener in listening:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _drip(connection: socket.socket) -> None:
    connection.recv(10_000)
    connection.sendall(HEAD + b"Content-Length: 100000\r\n\r\n")
    for _ in range(100_000):
        connection.sendall(b" ")
        time.sleep(0.05)


def _drip_head(connection: socket.socket) -> None:
    for _ in range(100_000):
        connection.sendall(b"H")
        time.sleep(0.05)


def _wait(connection: socket.socket) -> None:
    while connection.recv(10_000):
        pass


@pytest.mark.parametrize("answer", [_drip, _drip_head, _wait])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_slow_server_is_given_up(
    listen: Callable[..., str], answer: Callable[[socket.socket], None], scheme: str
) -> None:
    """It sends nothing, or a byte at a time, also instead of a TLS handshake; its thread ends, too."""
    before = threading.active_count()
    address = listen(answer).replace("http:", f"{scheme}:")
    started = time.monotonic()
    found = problem(made(address, seconds=1.0))

    if scheme == "http" or answer is _wait:
        assert found == "no answer within 1 s"
    else:
        assert "TLS failed" in found
    assert time.monotonic() - started < 30
    until = time.monotonic() + 30
    while any(thread.name == "top" for thread in threading.enumerate()):
        assert time.monotonic() < until, (before, threading.enumerate())
        time.sleep(0.05)


def _answering(*answer: bytes) -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        connection.recv(10_000)
        for part in answer:
            connection.sendall(part)

    return serve


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ((), "it closed the connection without a whole answer"),
        ((b"SSH-2.0-OpenSSH\r\n",), "the answer is not HTTP"),
        ((HEAD + b"Content-Length: 100\r\n\r\n{",), "it closed the connection within the answer"),
        ((HEAD + b"Content-Length: 2\r\n\r\n{}",), "its answer has an unexpected time"),
        (
            (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",),
            "302: an empty answer",
        ),
        ((b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",), "404: there is no such path"),
        ((b"HTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n",), "429: too many requests"),
        ((b"HTTP/1.1 503 No\r\nContent-Length: 11\r\n\r\n\x1b[2Jlater\nx",), r"503: \\x1b\[2Jlater"),
        ((HEAD + b"Content-Length: 99999999999\r\n\r\n", b" " * 2000), "its answer has more than 0 MiB"),
    ],
)
def test_what_is_no_sidecar_is_named(
    listen: Callable[..., str], answer: tuple[bytes, ...], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LARGEST", 1000)
    assert re.match(expected, problem(made(listen(_answering(*answer)))))


def test_addresses_without_a_server_are_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert problem(made(f"http://127.0.0.1:{port}")) == "nothing listens there: connection refused"
    assert problem(made("http://no-such-host.invalid:1")) == "the host name does not resolve"


@pytest.fixture
def secured(serve: Callable[..., Served], tmp_path: Path, authority: Authority) -> Served:
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    tls = "tls_server_config: {cert_file: server.pem, key_file: server.key}\n"
    (tmp_path / "web.yml").write_text(f"{tls}basic_auth_users:\n  ada: {hashed}\n")
    served = serve(tmp_path / "web.yml")
    served.holder.page = status_rows.troubled()
    return served


def test_tls_and_password(secured: Served, tmp_path: Path, authority: Authority) -> None:
    """With both it is read; without either, what is missing is named; the password file is read each time."""
    address, ca = f"https://localhost:{secured.port}", str(authority.certificate)
    password = write_secret(tmp_path / "password", PASSWORD)
    right = made(address, ca=ca, user="ada", password_file=str(password))

    async def replaced() -> None:
        assert (await read(right.get, {"moves": 10})).tables["moves"].total == 2
        write_secret(password, "another")
        with pytest.raises(NoAnswerError, match=r"^401"):
            await read(right.get, {})
        password.unlink()
        with pytest.raises(SecretError):
            await read(right.get, {})

    asyncio.run(replaced())
    assert problem(made(address, ca=ca)).startswith("401: the user name or the password is missing or wrong")
    assert problem(made(address)).startswith("its certificate is not trusted: ")
    assert "Is the address https://?" in problem(made(address.replace("https", "http")))


def test_another_host_than_that_of_the_certificate(serve: Callable[..., Served], tmp_path: Path) -> None:
    made_up = Authority(tmp_path / "tls", "authority")
    made_up.issue("server", hosts=["elsewhere.example"])
    (tmp_path / "tls" / "web.yml").write_text("tls_server_config: {cert_file: server.pem, key_file: server.key}\n")
    served = serve(tmp_path / "tls" / "web.yml")
    found = problem(made(f"https://127.0.0.1:{served.port}", ca=str(made_up.certificate)))

    assert found.startswith("its certificate is not trusted: IP address mismatch")


def test_plain_http_is_not_https(serve: Callable[..., Served]) -> None:
    found = problem(made(f"https://127.0.0.1:{serve().port}"))
    assert re.match(r"TLS failed \(\w+\). Is the address http://", found)


def test_a_client_certificate_is_shown(serve: Callable[..., Served], tmp_path: Path, authority: Authority) -> None:
    pair = authority.issue("client")
    settings = "cert_file: server.pem, key_file: server.key, client_ca_file: authority.pem"
    (tmp_path / "web.yml").write_text(
        f"tls_server_config: {{{settings}, client_auth_type: RequireAndVerifyClientCert}}\n"
    )
    served = serve(tmp_path / "web.yml")
    served.holder.page = status_rows.troubled()
    address, ca = f"https://localhost:{served.port}", str(authority.certificate)

    assert "--cert missing?" in problem(made(address, ca=ca))
    shown = asyncio.run(read(made(address, ca=ca, cert=str(pair.certificate), key=str(pair.key)).get, {}))
    assert shown.fresh


def test_no_page_yet(serve: Callable[..., Served]) -> None:
    served = serve()
    served.holder.page = PageHolder().page
    assert problem(made(f"http://127.0.0.1:{served.port}")) == "503: no page has been rendered yet; try again"


def test_age_is_measured_on_the_clock_of_the_server(listen: Callable[..., str]) -> None:
    head = HEAD + b"Date: Wed, 21 Oct 2015 07:28:00 GMT\r\nContent-Length: 2\r\n\r\n{}"
    answer = asyncio.run(made(listen(_answering(head))).get("sidecar"))
    assert answer.clock == 1445412480.0
    now = asyncio.run(made(listen(_answering(head.replace(b"Wed, 21", b"soon")))).get("sidecar")).clock
    assert abs(now - time.time()) < 60


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"url": "localhost:10073"}, "--url: expected an address such as"),
        ({"url": "http://a:b"}, "--url: expected an address"),
        ({"url": "http://a/\x1b"}, "--url: expected an address"),
        ({"url": "http://a/?q"}, "--url: expected an address"),
        ({"url": f"http://ada:{PASSWORD}@a"}, "--url: no user and password in an address"),
        ({"user": "ada"}, "--user: needs --password-file, or the environment variable KAFKA_WARDEN_TOP_PASSWORD"),
        ({"user": "a:b"}, "--user: expected a name"),
        ({"password_file": "/dev/null"}, "--password-file: needs --user"),
        ({"ca": "x"}, "--ca: only with an address that begins with https://"),
        ({"url": "https://a", "ca": "/nowhere"}, "--ca: cannot use the file: No such file"),
        ({"url": "https://a", "cert": "/nowhere"}, "--cert: cannot use the file: No such file"),
        ({"url": "https://a", "key": "x"}, "--key: needs --cert"),
        ({"url": "https://a", "ca": "/dev/zero"}, "/dev/zero: neither a file nor a folder"),
        ({"config": Path("x"), "url": "http://a"}, "--url: not with --bootstrap-servers or --config"),
        ({"config": Path("x"), "user": "ada"}, "--user: not with"),
        ({"table": "move"}, "--table: 'move' is no table; did you mean moves?"),
        ({"sort": "eta"}, "--sort: needs --table"),
        ({"table": "moves", "sort": "etas"}, "--sort: moves has no column 'etas'; did you mean eta?"),
        ({"rows": "0"}, "--rows: expected a whole number above 0"),
        ({"every": "5"}, "--every: expected a duration"),
    ],
)
def test_flags_are_read_strictly(values: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read_flags(flags(**values), {}, {})
    assert str(raised.value).startswith(message)
    assert PASSWORD not in str(raised.value)


def test_options_need_own_polls() -> None:
    """A running sidecar has its own; the password may come from the environment."""
    with pytest.raises(ConfigError, match="--jmx-port: only with --bootstrap-servers or --config"):
        read_flags(flags(), {"--jmx-port": "1"}, {})
    assert read_flags(flags(), {"--bootstrap-servers": "a:1", "--jmx-port": "1"}, {}).client is None
    login = known(known(read_flags(flags(user="ada"), {}, {"KAFKA_WARDEN_TOP_PASSWORD": PASSWORD}).client)._login)
    assert login.password.read().reveal() == PASSWORD
    assert known(read_flags(flags(), {}, {}).client)._base == "/api/v1/"
    assert known(read_flags(flags(url="http://a/kafka/"), {}, {}).client)._base == "/kafka/api/v1/"


def test_certificates_of_the_system_are_the_default() -> None:
    context = known(known(read_flags(flags(url="https://a"), {}, {}).client)._tls)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
