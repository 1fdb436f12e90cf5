"""The web configuration file while it changes: authentication and TLS that are on stay on until a restart."""

import errno
import os
import re
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import structlog

from kafka_warden.errors import ConfigError
from kafka_warden.lifecycle import Health, HealthCheck
from kafka_warden.web import current, server
from kafka_warden.web.current import CurrentWebFile, check_web_file
from kafka_warden.web.file import WebFile
from sandbox import wait_for
from sandbox.certificates import Authority
from tests.web.conftest import TIMEOUT, Serve
from tests.web.test_auth import header

HASH = "$2b$04$Esox1j0PZCZ8RoM2KUiDPud4DzmOBVHkwqkBhfUO1fDuUtF8q.vEm"
"""Of the password that `header` sends."""
USERS = f"basic_auth_users:\n  prometheus: {HASH}\n"
TLS = """\
tls_server_config:
  cert_file: server.pem
  key_file: server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.pem
  client_allowed_sans: [prometheus.example]
"""
LIMIT = "rate_limit: {interval: 1ms, burst: 100}\n"


def _refreshed(web: CurrentWebFile) -> WebFile:
    if (new := web.refresh()) is not None:
        web.use(new)
    return web.loaded.file


def _replace(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "web.yml"
    path.write_text(USERS)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "# comment\n",
        "{}",
        "basic_auth_users:\n",
        "basic_auth_users: {}\n",
        LIMIT,
        "rate_limit: [",
        "\0",
        "rate_limit: !!bool maybe",
    ],
)
@pytest.mark.parametrize("write", [Path.write_text, _replace])
def test_authentication_stays_on_without_users_in_the_file(
    serve: Serve, path: Path, text: str, write: Callable[[Path, str], object]
) -> None:
    served = serve(path)
    assert (served.get().status, served.get("/", header("prometheus")).status) == (401, 200)

    with structlog.testing.capture_logs() as logged:
        write(path, text)
        served.refresh()
        assert [served.get().status for _ in range(3)] == [401] * 3
        ready = served.get("/-/ready", header("prometheus"))
    assert [entry["log_level"] for entry in logged] == ["warning"]
    assert str(path) in str(served.server.current.problem)
    assert (ready.status, ready.body.decode()) == (200, f"ready\n{served.server.current.problem}\n")

    path.write_text(USERS)
    served.refresh()
    assert (served.get().status, served.get("/", header("prometheus")).status) == (401, 200)
    assert served.server.current.problem is None


@pytest.mark.parametrize(
    ("make", "remove", "problem"),
    [
        (None, None, "cannot read the file"),
        (Path.mkdir, Path.rmdir, "cannot read the file"),
        (os.mkfifo, Path.unlink, "not a regular file"),
    ],
)
def test_a_file_that_cannot_be_read_keeps_authentication_on(
    serve: Serve, path: Path, make: Any, remove: Any, problem: str
) -> None:
    served = serve(path)
    assert served.server.current.problem is None

    with structlog.testing.capture_logs() as logged:
        path.unlink()
        if make is not None:
            make(path)
        served.refresh()
        assert [served.get().status for _ in range(3)] == [401] * 3
    assert [entry["log_level"] for entry in logged] == ["warning"]
    assert problem in str(served.server.current.problem)

    if remove is not None:
        remove(path)
    path.write_text(USERS.replace("prometheus", "other"))
    served.refresh()
    assert [served.get("/", header(user)).status for user in ("prometheus", "other")] == [401, 200]
    assert served.server.current.problem is None


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO, errno.EACCES])
def test_a_file_that_cannot_be_read_for_a_moment_is_read_again(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    web = CurrentWebFile(path)
    path.write_text(USERS.replace("prometheus", "other"))

    def fail(*_: object, **__: object) -> str:
        raise OSError(number, os.strerror(number))

    with structlog.testing.capture_logs() as logged, monkeypatch.context() as patched:
        patched.setattr(os, "open", fail)
        for _ in range(3):
            assert set(_refreshed(web).users) == {"prometheus"}
    assert "cannot read the file" in str(web.problem)
    assert [entry["log_level"] for entry in logged] == ["warning"]
    assert (set(_refreshed(web).users), web.problem) == ({"other"}, None)


def test_whatever_is_wrong_with_a_file_keeps_authentication_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what no reader expects: it is logged and shown, and no request fails."""

    def fail(_: object) -> None:
        raise ZeroDivisionError

    web = CurrentWebFile(path)
    monkeypatch.setattr(current, "read_web_file", fail)
    path.write_text(LIMIT)
    with structlog.testing.capture_logs() as logged:
        assert [set(_refreshed(web).users) for _ in range(3)] == [{"prometheus"}] * 3
    assert ([entry["log_level"] for entry in logged], web.problem) == (["warning"], "ZeroDivisionError()")


def test_files_are_read_again_on_request(path: Path) -> None:
    web = CurrentWebFile(path)
    web.reread = True
    with structlog.testing.capture_logs() as logged:
        assert set(_refreshed(web).users) == set(_refreshed(web).users) == {"prometheus"}
    assert len(logged) == 1


@pytest.mark.parametrize("text", [USERS, LIMIT + USERS, USERS + LIMIT, USERS + f"  other: {HASH}\n"])
def test_no_prefix_of_a_file_lets_a_request_without_a_password_in(serve: Serve, path: Path, text: str) -> None:
    """A file that is written byte by byte: at every length requests get 401, and the users are users of the file."""
    path.write_text(text)
    served = serve(path)
    web = CurrentWebFile(path)
    users = web.loaded.file.users

    for end in range(len(text)):
        path.write_text(text[:end])
        served.refresh()
        assert served.get().status == 401, text[:end]
        assert set(_refreshed(web).users.items()) & set(users.items()), text[:end]
        assert web.loaded.file.users.items() <= users.items(), text[:end]

    path.write_text(text)
    assert (_refreshed(web).users, web.problem) == (users, None)


@pytest.mark.parametrize("text", [USERS, USERS + LIMIT, USERS + f"  other: {HASH}\n" + LIMIT])
def test_no_prefix_of_a_file_with_users_first_starts_without_a_password(path: Path, text: str) -> None:
    for end in range(len(text)):
        path.write_text(text[:end])
        try:
            assert CurrentWebFile(path).loaded.file.users, text[:end]
        except ConfigError:
            continue


def test_what_a_new_file_removes_is_a_warning(path: Path) -> None:
    """It is used, since users may be removed. The log names what is gone, in case the file is cut off."""
    path.write_text(USERS + f"  other: {HASH}\nhttp_server_config: {{headers: {{X-Frame-Options: deny}}}}\n" + LIMIT)
    web = CurrentWebFile(path)
    with structlog.testing.capture_logs() as logged:
        for text in (LIMIT + USERS, USERS, LIMIT + USERS):
            path.write_text(text)
            assert _refreshed(web).users == {"prometheus": HASH}
    assert [(entry["log_level"], entry["removed"]) for entry in logged] == [
        ("warning", ["X-Frame-Options", "other"]),
        ("warning", ["rate_limit"]),
        ("info", []),
    ]


def test_no_prefix_of_a_file_weakens_the_check_of_client_certificates(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current, "server_context", lambda tls: tls)
    path.write_text(TLS)
    web = CurrentWebFile(path)

    for end in range(len(TLS)):
        path.write_text(TLS[:end])
        tls = _refreshed(web).tls
        assert tls is not None, TLS[:end]
        assert (tls.client_auth_type, bool(tls.client_allowed_sans)) == (ssl.CERT_REQUIRED, True), TLS[:end]


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("RequireAndVerifyClientCert", "VerifyClientCertIfGiven", "client_auth_type"),
        ("  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n", "", "client_auth_type"),
        ("", "  client_allowed_sans: [a]\n", None),
        ("  client_allowed_sans: [a]\n", "", "client_allowed_sans"),
        ("", "  min_version: TLS13\n", None),
        ("  min_version: TLS13\n", "  min_version: TLS12\n", "min_version"),
        ("  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]\n", "", "cipher_suites"),
    ],
)
def test_weaker_tls_needs_a_restart(
    path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, key: str | None
) -> None:
    """Stronger settings are used at once. Weaker ones are not, and the problem names the key."""
    monkeypatch.setattr(current, "server_context", lambda tls: tls)
    base = TLS.replace("  client_allowed_sans: [prometheus.example]\n", "")
    before, after = (base, base.replace(old, new)) if old and old in base else (base + old, base + new)
    path.write_text(before)
    web = CurrentWebFile(path)
    first = web.loaded.file

    path.write_text(after)

    assert (_refreshed(web) == first) is (key is not None)
    assert re.search(f"tls_server_config.{key}: .*restart", str(web.problem)) if key else web.problem is None
    assert CurrentWebFile(path).loaded.file != first


def test_authentication_can_be_switched_on_while_running(serve: Serve, path: Path) -> None:
    path.write_text(LIMIT)
    served = serve(path)
    assert served.get().status == 200

    path.write_text(USERS)
    served.refresh()

    assert (served.get().status, served.get("/", header("prometheus")).status) == (401, 200)


@pytest.mark.parametrize("text", ["", "\n", "# comment\n", "{}", "basic_auth_users:\n", "tls_server_config:\n"])
def test_a_file_without_settings_is_refused_at_the_start(path: Path, text: str) -> None:
    """An empty file may be cut off: the server does not start."""
    path.write_text(text)

    with pytest.raises(ConfigError, match=r"web\.yml: "):
        check_web_file(path)
    with pytest.raises(ConfigError, match=r"web\.yml: "):
        CurrentWebFile(path)


def test_a_change_of_the_mode_is_a_change(path: Path) -> None:
    """A file is read again after `chmod`: it may have been unreadable before."""
    web = CurrentWebFile(path)
    before = path.stat()

    with structlog.testing.capture_logs() as logged:
        path.chmod(0o600)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        _refreshed(web)
    assert [entry["log_level"] for entry in logged] == ["info"]


@pytest.mark.parametrize("hung", ["file_status", "read_web_file"])
def test_a_hung_volume_delays_no_request(
    serve: Serve, path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch, hung: str
) -> None:
    """Connections and requests are served with the last settings. The new ones are used when the volume answers.

    The thread that waits for it may end: that is no thread of `/-/healthy`.
    """
    path.write_text(f"tls_server_config: {{cert_file: server.pem, key_file: server.key}}\n{USERS}")
    context = ssl.create_default_context(cafile=authority.certificate)
    monkeypatch.setattr(server, "READ_EVERY", 0.01)
    served = serve(path)
    original, asked, answers = getattr(current, hung), threading.Event(), threading.Event()

    def hang(path: Path) -> object:
        asked.set()
        assert answers.wait(TIMEOUT)
        return original(path)

    monkeypatch.setattr(current, hung, hang)
    path.write_text(path.read_text().replace("prometheus", "other"))
    assert asked.wait(TIMEOUT)
    health = HealthCheck(notes=[lambda: None])
    assert health().healthy
    assert served.get("/-/healthy", header("prometheus"), context=context).status == 200

    answers.set()
    wait_for(lambda: served.get("/", header("other"), context=context).status == 200, TIMEOUT)
    assert served.get("/", header("prometheus"), context=context).status == 401
    assert health() == Health()
