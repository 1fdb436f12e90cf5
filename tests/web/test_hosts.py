"""The `Host` header: web pages that resolve their own name to this machine read nothing."""

import socket
import threading
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from kafka_warden.exposition import PageHolder
from kafka_warden.lifecycle import Health
from kafka_warden.settings.strict import Address
from kafka_warden.web.server import WebServer, WebSettings
from kafka_warden.web.site import HostNames
from sandbox import wait_for
from tests.web.conftest import PAGE, Serve, Served
from tests.web.test_auth import header
from tests.web.test_current import USERS

FOREIGN = "rebound.attacker.example"


@pytest.mark.parametrize("path", ["/metrics", "/", "/api/v1/topics", "/-/healthy", "/nowhere"])
def test_a_web_page_that_resolves_its_name_to_this_machine_reads_nothing(served: Served, path: str) -> None:
    """421 on every path, with a message that names the option."""
    answer = served.get(path, host=f"{FOREIGN}:{served.port}")
    assert (answer.status, b"web.hosts" in answer.body) == (421, True)


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LocalHost.:10073", "127.0.0.1", "127.0.0.1:1", "[::1]:10073", "[::1]", "a.localhost", "", None),
        f"{socket.gethostname()}:10073",
    ],
)
def test_clients_of_this_machine_are_served(served: Served, host: str | None) -> None:
    """By the names and addresses that reach it; HTTP/1.0 may have no `Host`."""
    assert served.get(host=host).status == 200


def test_with_a_password_every_name_is_accepted(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "web.yml"
    path.write_text(USERS)
    served = serve(path)
    assert served.get("/metrics", header("prometheus"), host=FOREIGN).status == 200
    assert served.get(host=FOREIGN).status == 401


@pytest.mark.parametrize("login", [False, True])
def test_configured_names_are_accepted_and_no_other_public_ones(serve: Serve, tmp_path: Path, *, login: bool) -> None:
    """Also with a password. A suffix of a name is another name."""
    path = tmp_path / "web.yml"
    path.write_text(USERS)
    served = serve(path if login else None, hosts=frozenset({"warden.example"}))
    names = ("warden.example", "Warden.Example.:443", "localhost", "10.0.0.7:80", FOREIGN, "x.warden.example")
    assert [served.get("/metrics", header("prometheus"), host=name).status for name in names] == [200] * 4 + [421] * 2


@pytest.mark.parametrize(
    "name",
    [
        "warden",
        "kafka_warden_1",
        "10-0-0-7.kafka.pod.cluster.local",
        "kafka-warden.monitoring.svc",
        "kafka-warden.monitoring.svc.cluster.local.",
        "ip-10-0-0-7.eu-west-1.compute.internal",
        "kafka-warden.service.consul",
        "nas.home.arpa",
    ],
)
def test_names_that_public_dns_does_not_have_are_accepted(name: str) -> None:
    """Prometheus in the same Kubernetes or compose file needs no option."""
    assert HostNames().accept(f"{name}:10073", protected=False)


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])  # noqa: S104  # this machine only, for the test
def test_the_address_of_the_server_does_not_matter(address: str) -> None:
    made = WebServer(WebSettings(Address(address, 0)), PageHolder(PAGE, ready=True), health=Health)
    served = Served(made, made.start(), PageHolder(), [])
    try:
        assert [served.get(host=name).status for name in (FOREIGN, "warden")] == [421, 200]
    finally:
        made.stop()


def test_the_full_name_of_the_machine_is_accepted(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may come from DNS: the server starts without it, and has it as soon as DNS answers."""
    answered = threading.Event()
    monkeypatch.setattr(socket, "getfqdn", lambda: answered.wait(60) and "Warden.Corp.example")
    served = serve()
    assert served.get(host="warden.corp.example").status == 421
    answered.set()
    wait_for(lambda: served.get(host="warden.corp.example").status == 200)
    assert served.get(host=FOREIGN).status == 421


def test_unknown_names_are_logged_once(served: Served) -> None:
    """Prometheus does not show the text of the response. Clients choose the names: few are logged."""
    with capture_logs() as logs:
        for number in range(12):
            for _ in range(2):
                assert served.get(host=f"{number}.attacker.example").status == 421
    assert [entry["host"] for entry in logs] == [f"{number}.attacker.example" for number in range(10)]
    assert all("web.hosts" in entry["fix"] for entry in logs)


@pytest.mark.parametrize(
    "host",
    [
        "localhost.evil.example",
        "localhost:80:80",
        "[::1",
        "127.0.0.1.evil.example",
        "a b",
        ":80",
        "warden.svc.evil.example",
        "warden.notlocal",
        "7.0.0.10.in-addr.arpa",
        "kafka-warden.dev",
    ],
)
def test_what_only_looks_like_a_known_name_is_refused(host: str) -> None:
    assert not HostNames(own=frozenset({"localhost"})).accept(host, protected=False)
