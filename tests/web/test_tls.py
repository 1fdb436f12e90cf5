"""TLS by the web configuration file: versions, client certificates, reload."""

import datetime as dt
import os
import ssl
from contextlib import suppress
from pathlib import Path

import pytest
import structlog.testing
from cryptography import x509

from kafka_warden.errors import ConfigError
from kafka_warden.web.current import check_web_file, server_context
from kafka_warden.web.file import read_web_file
from sandbox.certificates import HERE, Authority, Identity
from tests.web.conftest import PAGE, TIMEOUT, Serve, Served, read_all, request

TLS = "cert_file: server.pem, key_file: server.key"
VERIFIED = f"{TLS}, client_auth_type: RequireAndVerifyClientCert, client_ca_file: authority.pem"
REFUSED = (ssl.SSLError, ConnectionError)


def _write(folder: Path, settings: str = TLS, rest: str = "") -> Path:
    path = folder / "web.yml"
    path.write_text(f"tls_server_config: {{{settings}}}\n{rest}")
    return path


def _client(authority: Authority, pair: Identity | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=authority.certificate)
    if pair is not None:
        context.load_cert_chain(pair.certificate, pair.key)
    return context


def _serial(served: Served, context: ssl.SSLContext) -> int:
    connection = served.connect(context)
    assert isinstance(connection, ssl.SSLSocket)
    certificate = connection.getpeercert()
    assert certificate
    return int(str(certificate["serialNumber"]), 16)


def test_scrapes_work_over_tls(serve: Serve, tmp_path: Path, authority: Authority) -> None:
    served = serve(_write(tmp_path))
    assert served.server.current.loaded.context is not None

    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = _client(authority)
        context.minimum_version = context.maximum_version = version
        context.set_alpn_protocols(["h2", "http/1.1"])
        assert served.get(context=context).body == PAGE.text
        connection = served.connect(context)
        assert isinstance(connection, ssl.SSLSocket)
        assert connection.selected_alpn_protocol() == "http/1.1"
    with pytest.raises(ConnectionError):
        served.get()


def test_old_versions_are_refused(serve: Serve, tmp_path: Path, authority: Authority) -> None:
    tls = read_web_file(_write(tmp_path)).tls
    assert tls is not None
    assert server_context(tls).minimum_version is ssl.TLSVersion.TLSv1_2  # OpenSSL itself may refuse 1.1

    context = _client(authority)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(REFUSED):
        serve(_write(tmp_path, f"{TLS}, min_version: TLS13")).get(context=context)


def test_the_cipher_suite_can_be_chosen(serve: Serve, tmp_path: Path, authority: Authority) -> None:
    suites = "cipher_suites: [TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256]"
    served = serve(_write(tmp_path, f"{TLS}, max_version: TLS12, {suites}, curve_preferences: [CurveP256]"))

    connection = served.connect(_client(authority))

    assert isinstance(connection, ssl.SSLSocket)
    cipher = connection.cipher()
    assert cipher is not None
    assert cipher[0] == "ECDHE-ECDSA-CHACHA20-POLY1305"


def test_client_certificates_are_asked_for_and_verified(serve: Serve, tmp_path: Path, authority: Authority) -> None:
    (tmp_path / "stranger").mkdir()
    stranger = Authority(tmp_path / "stranger", "authority")
    served = serve(_write(tmp_path, VERIFIED))

    assert served.get(context=_client(authority, authority.issue("client"))).body == PAGE.text
    for pair in (None, stranger.issue("client")):
        with pytest.raises(REFUSED):
            served.get(context=_client(authority, pair))


def test_a_connection_ends_when_other_client_certificates_are_accepted(
    serve: Serve, tmp_path: Path, authority: Authority
) -> None:
    """One that was opened without a certificate gets no further page once a certificate is required. New ones do."""
    served = serve(_write(tmp_path), idle_timeout=TIMEOUT)
    without = served.connect(_client(authority))
    without.sendall(request("/metrics"))
    assert without.recv(12) == b"HTTP/1.1 200"
    _write(tmp_path, VERIFIED)
    served.refresh()
    assert served.get(context=_client(authority, authority.issue("client"))).status == 200
    without.sendall(request("/metrics", "Connection: close"))
    with suppress(OSError):
        assert b"HTTP/1.1 200" not in read_all(without)


@pytest.mark.parametrize("name", ["prometheus.example", "10.0.0.7", "0:0:0:0:0:0:0:1"])
def test_only_allowed_names_are_accepted(serve: Serve, tmp_path: Path, authority: Authority, name: str) -> None:
    """client_allowed_sans ends the handshake of a verified certificate with other names, before any request."""
    served = serve(_write(tmp_path, f"{VERIFIED}, client_allowed_sans: [prometheus.example, 10.0.0.7, '::1']"))

    allowed = authority.issue("allowed", hosts=["elsewhere.example", name])
    assert served.get(context=_client(authority, allowed)).body == PAGE.text
    other = authority.issue("other", hosts=["prometheus.example.evil", "10.0.0.8"])
    with pytest.raises(REFUSED):
        served.get(context=_client(authority, other))


def test_an_optional_client_certificate_is_verified_when_given(
    serve: Serve, tmp_path: Path, authority: Authority
) -> None:
    served = serve(_write(tmp_path, VERIFIED.replace("RequireAndVerifyClientCert", "VerifyClientCertIfGiven")))

    assert served.get(context=_client(authority)).body == PAGE.text
    assert served.get(context=_client(authority, authority.issue("client"))).body == PAGE.text


def test_a_new_certificate_is_served_to_the_next_connection(serve: Serve, tmp_path: Path, authority: Authority) -> None:
    served = serve(_write(tmp_path))
    context = _client(authority)
    first = _serial(served, context)
    open_one = served.connect(context)

    second = authority.issue("server", hosts=HERE)
    served.refresh()

    assert second.serial != first
    assert _serial(served, context) == second.serial
    open_one.sendall(request("/-/healthy"))
    assert open_one.recv(4096).startswith(b"HTTP/1.1 200")


def test_half_a_rotation_keeps_the_old_certificate(serve: Serve, tmp_path: Path, authority: Authority) -> None:
    served = serve(_write(tmp_path))
    context = _client(authority)
    first = _serial(served, context)
    key = (tmp_path / "server.key").read_bytes()
    second = authority.issue("server", hosts=HERE)
    new_key = second.key.read_bytes()

    with structlog.testing.capture_logs() as logged:
        second.key.write_bytes(key)
        served.refresh()
        assert [_serial(served, context) for _ in range(3)] == [first] * 3
    assert [entry["log_level"] for entry in logged] == ["warning"]
    assert "tls_server_config.cert_file and key_file" in str(served.server.current.problem)

    second.key.write_bytes(new_key)
    served.refresh()
    assert _serial(served, context) == second.serial
    assert served.server.current.problem is None


@pytest.mark.parametrize(
    "text",
    [
        "tls_server_config: [",
        "rate_limit: {interval: 1ms, burst: 100}",
        "{}",
        "tls_server_config: {cert_file: missing, key_file: missing}",
    ],
)
def test_a_bad_new_file_is_not_used(serve: Serve, tmp_path: Path, authority: Authority, text: str) -> None:
    """TLS stays on with the last good certificate. Switching TLS off needs a restart."""
    path = _write(tmp_path)
    served = serve(path)

    path.write_text(text)
    served.refresh()

    assert served.get(context=_client(authority)).body == PAGE.text
    assert str(path) in str(served.server.current.problem)


def test_a_certificate_that_comes_after_the_file_that_names_it_is_used(
    serve: Serve, tmp_path: Path, authority: Authority
) -> None:
    """The new file names certificates that do not exist yet: the last good ones are served until they do."""
    path = _write(tmp_path)
    served = serve(path)
    context = _client(authority)
    first = _serial(served, context)

    _write(tmp_path, "cert_file: next.pem, key_file: next.key")
    served.refresh()
    assert _serial(served, context) == first

    second = authority.issue("next", hosts=HERE)
    served.refresh()
    assert _serial(served, context) == second.serial
    assert served.server.current.problem is None


def test_headers_of_the_file_win(serve: Serve, tmp_path: Path, authority: Authority) -> None:
    rest = "http_server_config: {headers: {X-Frame-Options: sameorigin, Strict-Transport-Security: max-age=60}}"
    answer = serve(_write(tmp_path, rest=rest)).get(context=_client(authority))

    assert answer.headers["x-frame-options"] == "sameorigin"
    assert answer.headers["strict-transport-security"] == "max-age=60"


def test_files_that_cannot_be_used_are_one_line_at_the_start(tmp_path: Path, authority: Authority) -> None:
    authority.issue("locked", password="canary")
    (tmp_path / "empty.pem").touch()
    os.mkfifo(tmp_path / "fifo")
    for settings, message in (
        ("cert_file: missing.pem, key_file: server.key", r"cannot read '.*missing\.pem': No such file"),
        ("cert_file: ., key_file: server.key", r"cannot read '.*': Is a directory"),
        ("cert_file: server.pem, key_file: locked.key", "unusable, expected PEM"),
        ("cert_file: server.key, key_file: server.key", "unusable, expected PEM"),
        ("cert_file: fifo, key_file: server.key", r"cannot read '.*fifo': not a regular file"),
        (VERIFIED.replace("authority", "empty"), "client_ca_file: unusable"),
        (VERIFIED.replace("client_ca_file: authority.pem", "client_ca: nonsense"), "client_ca: "),
        (VERIFIED.replace("client_ca_file: authority.pem", "client_ca: nöt"), "client_ca: unusable, expected PEM"),
    ):
        with pytest.raises(ConfigError, match=message) as caught:
            check_web_file(_write(tmp_path, settings))
        assert str(tmp_path / "web.yml") in str(caught.value)
        assert len(str(caught.value).splitlines()) == 1


def test_the_validity_of_certificates_is_known(serve: Serve, tmp_path: Path, authority: Authority) -> None:
    lifetime = dt.timedelta(days=5)
    files = {
        "web": authority.issue("server", hosts=HERE, lifetime=lifetime).certificate,
        "web_client_ca": authority.certificate,
    }
    read = {name: x509.load_pem_x509_certificate(file.read_bytes()) for name, file in files.items()}

    served = serve(_write(tmp_path, VERIFIED))

    assert served.server.current.loaded.certificates == {
        name: (each.not_valid_before_utc.timestamp(), each.not_valid_after_utc.timestamp())
        for name, each in read.items()
    }
    assert serve().server.current.loaded.certificates == {}
