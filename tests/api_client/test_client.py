"""Servers that are slow, refuse, close or are none: what is wrong is named, in time. And the flags of a client."""

import asyncio
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import bcrypt
import pytest

from kafka_warden import api_client
from kafka_warden.api_client import ApiClient, Reading, read, read_client
from kafka_warden.cli import _parser
from kafka_warden.errors import ConfigError, NoAnswerError, SecretError
from kafka_warden.exposition import PageHolder
from kafka_warden.top.command import read_request
from sandbox.certificates import Authority
from sandbox.passwords import write_secret
from tests.building import known
from tests.support import status_rows
from tests.support.asking import differences_from, shown_of, views_of
from tests.support.serving import listening
from tests.web.conftest import Served

PASSWORD = "canary-Tr0ub4dor"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def flags(**values: Any) -> dict[str, Any]:
    return {**vars(_parser().parse_args(["top"])), **values}


def made(url: str, **values: str) -> ApiClient:
    return replace(known(read_client(flags(url=url, **values), {}, {})), seconds=60.0)


def problem(asking: ApiClient) -> str:
    with pytest.raises(NoAnswerError) as raised:
        asyncio.run(read(asking.get, {"moves": 10}))
    assert PASSWORD not in str(raised.value)
    return str(raised.value)


def _wait(connection: socket.socket) -> None:
    while connection.recv(10_000):
        pass


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_silent_server_is_given_up(scheme: str) -> None:
    """Also if it does not answer a TLS handshake; its thread ends, too."""
    started = time.monotonic()
    with listening(_wait) as address:
        assert problem(replace(made(f"{scheme}://{address}"), seconds=1.0)) == "no answer within 1 s"
    assert time.monotonic() - started < 30
    while any(thread.name == "top" for thread in threading.enumerate()):
        assert time.monotonic() < started + 60, threading.enumerate()
        time.sleep(0.05)


def _answering(*answer: bytes) -> AbstractContextManager[str]:
    def serve(connection: socket.socket) -> None:
        connection.recv(10_000)
        for part in answer:
            connection.sendall(part)

    return listening(serve)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ((), "it closed the connection before a whole answer"),
        ((b"SSH-2.0-OpenSSH\r\n",), "the answer is not HTTP"),
        ((HEAD + b"Content-Length: 100\r\n\r\n{",), "it closed the connection before a whole answer"),
        ((HEAD + b"Content-Length: 2\r\n\r\n{}",), "its answer has an unexpected time"),
        ((b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",), "302: an empty"),
        ((b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",), "404: there is no such path"),
        ((b"HTTP/1.1 503 No\r\nContent-Length: 11\r\n\r\n\x1b[2Jlater\nx",), r"503: \\x1b\[2Jlater"),
        ((HEAD + b"Content-Length: 99999999999\r\n\r\n", b" " * 2000), "its answer has more than 1 kB"),
    ],
)
def test_what_is_no_sidecar_is_named(answer: tuple[bytes, ...], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_client, "LARGEST", 1000)
    with _answering(*answer) as address:
        assert re.match(expected, problem(made(f"http://{address}")))


def test_addresses_without_a_server_are_named(serve: Callable[..., Served]) -> None:
    served = serve()
    served.holder.page = PageHolder().page
    assert problem(made(f"http://127.0.0.1:{served.port}")) == "503: no page has been rendered yet; try again"
    assert re.match(r"TLS failed \(\w+\). Is the address http://", problem(made(f"https://127.0.0.1:{served.port}")))
    assert problem(made("http://127.0.0.1:1")) == "nothing listens there: connection refused"
    assert problem(made("http://no-such-host.invalid:1")) == "Name or service not known"


@pytest.fixture
def secured(serve: Callable[..., Served], tmp_path: Path, authority: Authority) -> Callable[[str], tuple[str, str]]:
    def start(settings: str) -> tuple[str, str]:
        tls = "cert_file: server.pem, key_file: server.key"
        (tmp_path / "web.yml").write_text(f"tls_server_config: {{{tls}{settings}\n")
        served = serve(tmp_path / "web.yml")
        served.holder.page = status_rows.troubled()
        return f"https://localhost:{served.port}", str(authority.certificate)

    return start


def test_tls_and_password(secured: Callable[[str], tuple[str, str]], tmp_path: Path) -> None:
    """With both it is read; without either, what is missing is named; the password file is read each time."""
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    address, ca = secured(f"}}\nbasic_auth_users:\n  ada: {hashed}")
    password = write_secret(tmp_path / "password", PASSWORD)
    right = {"ca": ca, "user": "ada", "password_file": str(password)}

    assert differences_from(shown_of(made(address, **right).get), views_of(status_rows.troubled())) == []
    client = made(address, **right)
    write_secret(password, "another")
    assert problem(client).startswith("401: the user name or the password is missing or wrong")
    client = made(address, **(right | {"password_file": str(write_secret(tmp_path / "other", PASSWORD))}))
    (tmp_path / "other").unlink()
    with pytest.raises(SecretError):
        asyncio.run(read(client.get, {}))
    assert problem(made(address)).startswith("its certificate is not trusted: ")
    elsewhere = made(address.replace("localhost", "0.0.0.0"), ca=ca)  # noqa: S104  # it is loopback, under another name
    assert problem(elsewhere).startswith("its certificate is not trusted: IP address mismatch")
    assert "Is the address https://?" in problem(made(address.replace("https", "http")))


def test_a_client_certificate_is_shown(secured: Callable[[str], tuple[str, str]], authority: Authority) -> None:
    pair = authority.issue("client")
    address, ca = secured(", client_ca_file: authority.pem, client_auth_type: RequireAndVerifyClientCert}")

    assert "--cert missing?" in problem(made(address, ca=ca))
    shown: Reading = asyncio.run(read(made(address, ca=ca, cert=str(pair.certificate), key=str(pair.key)).get, {}))
    assert shown.fresh


@pytest.mark.parametrize(("date", "clock"), [(b"Wed, 21", 1445412480.0), (b"soon", None)])
def test_age_is_measured_on_the_clock_of_the_server(date: bytes, clock: float | None) -> None:
    with _answering(HEAD + b"Date: " + date + b" Oct 2015 07:28:00 GMT\r\nContent-Length: 2\r\n\r\n{}") as address:
        answer = asyncio.run(made(f"http://{address}").get("exporter"))
    assert answer.clock == pytest.approx(clock or time.time(), abs=60)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"url": "localhost:10073"}, "--url: expected an address such as"),
        ({"url": "http://a:b"}, "--url: expected an address"),
        ({"url": "http://a/\x1b"}, "--url: expected an address"),
        ({"url": "http://a/?q"}, "--url: expected an address"),
        ({"url": f"http://ada:{PASSWORD}@a"}, "--url: no user and password in an address"),
        ({"user": "ada"}, "--user: needs --password-file, or the environment variable KAFKA_WARDEN_TOP_PASSWORD"),
        ({"password_file": "/dev/null"}, "--password-file: needs --user"),
        ({"ca": "x"}, "--ca: only with an address that begins with https://"),
        ({"url": "https://a", "ca": "/nowhere"}, "/nowhere: cannot read the certificate authorities: No such"),
        ({"url": "https://a", "key": "x"}, "--key: needs --cert"),
        ({"config": Path("x"), "url": "http://a"}, "--url: not with --bootstrap-servers or --config"),
        ({"table": "move"}, "--table: expected one of problems, "),
        ({"sort": "eta"}, "--sort: needs --table"),
        ({"table": "moves", "sort": "etas"}, "--sort: expected one of topic, cause, eta, "),
        ({"rows": "0"}, "--rows: expected a whole number above 0"),
        ({"every": "5"}, "--every: expected a duration"),
    ],
)
def test_flags_are_read_strictly(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        _ = read_client(flags(**values), {}, {}), read_request(flags(**values), "")
    assert str(raised.value).startswith(message)
    assert PASSWORD not in str(raised.value)


def test_a_running_sidecar_has_its_own_options() -> None:
    with pytest.raises(ConfigError, match="--jmx-port: only with --bootstrap-servers or --config"):
        read_client(flags(), {"--jmx-port": "1"}, {})
    assert read_client(flags(), {"--bootstrap-servers": "a:1", "--jmx-port": "1"}, {}) is None


def test_the_password_may_come_from_the_environment_and_authorities_from_the_system() -> None:
    client = known(read_client(flags(user="ada", url="https://a"), {}, {"KAFKA_WARDEN_TOP_PASSWORD": PASSWORD}))
    assert known(client.login)[1].read().reveal() == PASSWORD
    context = known(client.tls)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.get_ca_certs()
