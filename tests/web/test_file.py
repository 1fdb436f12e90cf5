"""The web configuration file in exporter-toolkit's format, and its error messages."""

from pathlib import Path

import pytest

from kafka_warden.errors import ConfigError
from kafka_warden.web.file import RateLimit, WebFile, read_web_file

HASH = "$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG"
CERT = "cert_file: c, key_file: k"


def _read(folder: Path, text: str) -> WebFile:
    path = folder / "web.yml"
    path.write_text(text)
    return read_web_file(path)


def test_every_key_is_understood(tmp_path: Path) -> None:
    file = _read(
        tmp_path,
        f"""
tls_server_config:
  cert_file: c.pem
  key_file: /keys/k.pem
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.pem
  client_allowed_sans: [a, b]
  min_version: TLS12
  max_version: TLS13
  cipher_suites: [TLS_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]
  prefer_server_cipher_suites: false
  curve_preferences: [X25519]
http_server_config:
  http2: true
  headers: {{X-Content-Type-Options: nosniff, Content-Security-Policy: ""}}
basic_auth_users: {{prometheus: {HASH}, 7: {HASH}}}
rate_limit: {{interval: 100ms, burst: 20}}
""",
    )

    assert file.tls is not None
    assert (file.tls.cert_file, file.tls.key_file) == (tmp_path / "c.pem", Path("/keys/k.pem"))
    assert (file.tls.client_ca_file, file.tls.client_allowed_sans) == (tmp_path / "ca.pem", frozenset("ab"))
    assert (file.tls.cipher_suites, file.tls.curve_preferences) == ("ECDHE-RSA-AES128-GCM-SHA256", "X25519")
    assert file.users == {"prometheus": HASH, "7": HASH}
    assert file.headers == {"X-Content-Type-Options": "nosniff"}
    assert file.rate_limit == RateLimit(0.1, 20)
    assert HASH not in repr(file)


@pytest.mark.parametrize("user", ["007", "yes", "null", "1e3", "0x10", "2020-01-01", "a  b", "jürgen"])
def test_a_user_name_is_text_as_it_is_written(tmp_path: Path, user: str) -> None:
    """YAML has other types for most of these. Go's YAML library reads it as text, too."""
    written = f"'{user}'" if "  " in user else user
    assert list(_read(tmp_path, f"basic_auth_users: {{{written}: {HASH}}}").users) == [user]
    assert list(_read(tmp_path, f"basic_auth_users: {{<<: {{{written}: {HASH}}}}}").users) == [user]


@pytest.mark.parametrize("text", ["tls_server_config: {}\n", "rate_limit: {interval: 0}"])
def test_empty_sections_have_no_effect(tmp_path: Path, text: str) -> None:
    assert _read(tmp_path, text) == WebFile()


_MISTAKES = (
    ("", "the file is empty; write tls_server_config or"),
    ("tls_server_config:", "tls_server_config: expected keys and values below it"),
    ("basic_auth_users:", "basic_auth_users: expected keys and values below it"),
    ("tls_server_confg: {}", "tls_server_confg: unknown key; did you mean tls_server_config?"),
    ("tls_server_config: {cert_fil: x}", "tls_server_config.cert_fil: unknown key; did you mean cert_file?"),
    ("tls_server_config: {cert_file: c}", "tls_server_config.key_file: missing; TLS needs both"),
    (
        "tls_server_config: {key: inline}",
        "tls_server_config.key: not supported inline; put it into a file and set key_fi",
    ),
    (f"tls_server_config: {{{CERT}, min_version: TLS10}}", "tls_server_config.min_version: TLS10 is not safe"),
    (f"tls_server_config: {{{CERT}, min_version: 1.2}}", "tls_server_config.min_version: expected TLS12 or TLS13"),
    (f"tls_server_config: {{{CERT}, min_version: TLS13, max_version: TLS12}}", "must not be above max_version"),
    (f"tls_server_config: {{{CERT}, client_auth_type: RequireAnyClientCert}}", "verifies nothing and is not supported"),
    (f"tls_server_config: {{{CERT}, client_auth_type: Maybe}}", "expected one of NoClientCert"),
    (f"tls_server_config: {{{CERT}, client_auth_type: RequireAndVerifyClientCert}}", "needs client_ca_file"),
    (f"tls_server_config: {{{CERT}, client_ca_file: x}}", "has no effect without client_auth_type"),
    (f"tls_server_config: {{{CERT}, client_allowed_sans: [a]}}", "needs client_auth_type: RequireAndVerifyClientCert"),
    (f"tls_server_config: {{{CERT}, client_allowed_sans: a}}", "client_allowed_sans: expected a list of texts"),
    (f"tls_server_config: {{{CERT}, cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]}}", "unknown or unsafe cipher suite"),
    (f"tls_server_config: {{{CERT}, curve_preferences: [CurveP256, X25519]}}", "takes a single curve"),
    ("http_server_config: {http2: maybe}", "http_server_config.http2: expected true or false"),
    ("http_server_config: {headers: {Server: x}}", "http_server_config.headers.Server: unknown key"),
    ("http_server_config: {headers: {X-Frame-Options: allow}}", "expected deny or sameorigin, got 'allow'"),
    ('http_server_config: {headers: {Content-Security-Policy: "a\\r\\nX: b"}}', "expected printable ASCII"),
    ("basic_auth_users: {u: canary-password}", "basic_auth_users.u: expected a bcrypt hash; make one with: htpasswd"),
    (
        f"basic_auth_users: {{u: {HASH.replace('$10$', '$17$')}}}",
        "basic_auth_users.u: bcrypt cost 17 is above 16; use: ht",
    ),
    (f"basic_auth_users: {{'a:b': {HASH}}}", "has no colon"),
    ("basic_auth_users: {u: !!bool maybe}", "not valid YAML"),
    ("basic_auth_users: [u]", "basic_auth_users: expected keys and values below it"),
    ("rate_limit: {interval: 1}", "rate_limit.interval: expected a duration"),
    (f"rate_limit: {{interval: 1s, burst: {10**400}}}", "rate_limit.burst: expected at most 1000000000"),
    ("rate_limit: {interval: 1s, burst: 0}", "rate_limit.burst: expected a whole number above 0"),
)


@pytest.mark.parametrize(("text", "message"), _MISTAKES)
def test_a_mistake_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _read(tmp_path, text)

    line = str(caught.value)
    assert line.startswith(f"{tmp_path / 'web.yml'}: ")
    assert message in line
    assert len(line.splitlines()) == 1
    assert "canary" not in line
