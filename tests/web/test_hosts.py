"""The `Host` header: web pages that resolve their own name to this machine read nothing."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_warden.settings.strict import Address
from kafka_warden.web.hosts import HostNames, host_names
from tests.web.conftest import PAGE, Served, parse, read_all
from tests.web.test_auth import header
from tests.web.test_current import USERS

FOREIGN = "rebound.attacker.example"


def _ask(served: Served, host: str | None, path: str = "/metrics", *headers: str) -> int:
    lines = [f"GET {path} HTTP/1.{0 if host is None else 1}", *headers, "Connection: close"]
    with served.connect() as connection:
        connection.sendall("\r\n".join([*lines, *([] if host is None else [f"Host: {host}"]), "", ""]).encode())
        return parse(read_all(connection)).status


@pytest.mark.parametrize("path", ["/metrics", "/", "/api/v1/topics", "/-/healthy", "/nowhere"])
def test_a_web_page_that_resolves_its_name_to_this_machine_reads_nothing(served: Served, path: str) -> None:
    """421 on every path, with a message that names the option."""
    with served.connect() as connection:
        request = f"GET {path} HTTP/1.1\r\nHost: {FOREIGN}:{served.port}\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        answer = parse(read_all(connection))
    assert (answer.status, b"web.hosts" in answer.body) == (421, True)


@pytest.mark.parametrize(
    "host",
    ["localhost", "LocalHost.:10073", "127.0.0.1", "127.0.0.1:1", "[::1]:10073", "[::1]", "a.localhost", "", None],
)
def test_clients_of_this_machine_are_served(served: Served, host: str | None) -> None:
    """By the names and addresses that reach it; HTTP/1.0 may have no `Host`."""
    assert _ask(served, host) == 200


def test_the_name_of_the_machine_is_accepted(served: Served) -> None:
    """As Prometheus on this machine may have it."""
    assert _ask(served, f"{socket.gethostname()}:{served.port}") == 200


def test_with_a_password_every_name_is_accepted(serve: Callable[..., Served], tmp_path: Path) -> None:
    """A web page has no password."""
    path = tmp_path / "web.yml"
    path.write_text(USERS)
    served = serve(path)
    assert _ask(served, FOREIGN, "/metrics", header("prometheus")) == 200
    assert _ask(served, FOREIGN) == 401


def test_configured_names_are_accepted_and_no_others(serve: Callable[..., Served], tmp_path: Path) -> None:
    """Also with a password. A suffix of a name is another name."""
    path = tmp_path / "web.yml"
    path.write_text(USERS)
    served = serve(path, hosts=frozenset({"warden.example"}))
    login = header("prometheus")
    names = ("warden.example", "Warden.Example.:443", "localhost", "10.0.0.7:80", FOREIGN, "x.warden.example")
    assert [_ask(served, name, "/metrics", login) for name in names] == [200] * 4 + [421] * 2


@pytest.mark.parametrize(
    ("bound", "configured", "accepted"),
    [
        ("127.0.0.1", (), False),
        ("::1", (), False),
        ("127.0.1.1", (), False),
        ("0.0.0.0", (), True),  # noqa: S104  # nothing listens
        ("::", (), True),
        ("10.0.0.7", (), True),
        ("::", ("other.example",), False),
        ("127.0.0.1", (FOREIGN,), True),
    ],
)
def test_servers_that_others_reach_are_scraped_by_any_name(
    bound: str, configured: tuple[str, ...], *, accepted: bool
) -> None:
    """Names of services and of DNS. Only `web.hosts` limits them."""
    names = host_names(frozenset(configured), Address("warden", 0), bound)
    assert names.accept(f"{FOREIGN}:80", protected=False) is accepted
    assert names.accept("warden:80", protected=False)


@pytest.mark.parametrize(
    "host", ["localhost.evil.example", "localhost:80:80", "[::1", "127.0.0.1.evil.example", "a b", ":80"]
)
def test_what_only_looks_like_a_known_name_is_refused(host: str) -> None:
    """Without a match, and as a part of another name."""
    assert not HostNames(own=frozenset({"localhost"}), loopback=True).accept(host, protected=False)


def test_only_a_target_that_starts_with_an_origin_is_in_absolute_form(served: Served) -> None:
    """An escaped one is a path."""
    assert served.get("http%3a//evil/metrics").status in (400, 404)
    assert served.get("/http%3a//evil/metrics").status == 404
    assert served.get("http://x/%6detrics").body == PAGE.text
