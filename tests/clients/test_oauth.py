"""The properties of OAUTHBEARER in both spellings, and an issuer's token endpoint over HTTP."""

import http.server
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import confluent_kafka.admin
import pytest

from kafka_warden.clients.kafka import oauth
from kafka_warden.clients.kafka.librdkafka import librdkafka
from kafka_warden.clients.kafka.properties import translate
from kafka_warden.clients.kafka.tokens import Token, Tokens
from kafka_warden.clock import monotonic
from kafka_warden.errors import AuthenticationError, ConfigError, TokenError
from kafka_warden.settings.secrets import Secret, SecretFile
from sandbox import wait_for
from sandbox.certificates import HERE, Authority
from sandbox.issuer import Issuer
from sandbox.passwords import write_secret
from tests.support.serving import answering, dripping, listening

CANARY = "canary-Tr0ub4dor"
WITHIN = 30.0
TOKEN = "/token"
BASE = {"bootstrap.servers": "a:1", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
ENDPOINT, CLIENT_ID = "sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.client.id"
URL = {ENDPOINT: "https://issuer.example/token"}
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer("monitor") as made:
        yield made


def tokens_of(properties: Mapping[str, str], **secrets: str) -> Tokens:
    """The tokens of a configuration; underscores mean dots."""
    hidden = {name.replace("_", "."): Secret(value) for name, value in secrets.items()}
    tokens = translate({**BASE, **properties}, hidden).credentials
    assert isinstance(tokens, Tokens)
    return tokens


def token_of(properties: Mapping[str, str], **secrets: str) -> Token:
    return tokens_of(properties, **secrets).wait(0.0, WITHIN)


def token_from(url: str, client: str = "monitor", secret: str = CANARY, **properties: str) -> Token:
    """A token of the issuer at this URL."""
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return token_of({ENDPOINT: url, CLIENT_ID: client, **named}, sasl_oauthbearer_client_secret=secret)


def test_both_spellings_ask_the_same(issuer: Issuer) -> None:
    url = {ENDPOINT: issuer.token_url}
    secret = issuer.clients["monitor"]
    first = token_of(
        {
            **url,
            "sasl.oauthbearer.method": "OIDC",
            CLIENT_ID: "monitor",
            "sasl.oauthbearer.scope": "a b",
            "sasl.oauthbearer.extensions": "logicalCluster=lkc-1, identityPoolId=pool-1",
        },
        sasl_oauthbearer_client_secret=secret,
    )
    handler = "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler"
    second = token_of(
        {**url, "sasl.login.callback.handler.class": handler},
        sasl_jaas_config=f'{MODULE} clientId="monitor" clientSecret="{secret}" scope="a b"'
        " extension_logicalCluster='lkc-1' extension_identityPoolId='pool-1';",
    )
    third = token_of(
        {
            **url,
            "sasl.oauthbearer.client.credentials.client.id": "monitor",
            "sasl.oauthbearer.scope": "a b",
            "sasl.oauthbearer.jwt.retriever.class": "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
        },
        sasl_oauthbearer_client_credentials_client_secret=secret,
        sasl_jaas_config=f"{MODULE};",
    )
    assert issuer.requests == [("monitor", "a b", 200)] * 3
    assert first.extensions == second.extensions == {"logicalCluster": "lkc-1", "identityPoolId": "pool-1"}
    assert {first.subject, second.subject, third.subject} == {"monitor"}
    assert first.lifetime == issuer.lifetime


def test_the_secret_is_read_again(issuer: Issuer, tmp_path: Path) -> None:
    """A wrong one is refused by the issuer: the class of a refused login, without the secret that the issuer quotes."""
    file = write_secret(tmp_path / "secret", CANARY)
    properties = {
        **BASE,
        ENDPOINT: f"{issuer.token_url}?tenant=1",
        CLIENT_ID: "monitor",
    }
    tokens = translate(properties, {"sasl.oauthbearer.client.secret": SecretFile(file)}).credentials
    assert isinstance(tokens, Tokens)
    with pytest.raises(AuthenticationError) as caught:
        tokens.wait(0.0, WITHIN)
    assert str(caught.value).startswith(f"{issuer.token_url} refused the client monitor (invalid_client: wrong")
    assert CANARY not in str(caught.value)
    assert caught.value.reached is None
    write_secret(file, issuer.clients["monitor"])
    assert tokens.wait(1.0, WITHIN).subject == "monitor"


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        (503, b"<html>", TokenError, "answered HTTP 503, and no token"),
        (404, b'{"error": "not there"}', TokenError, "answered HTTP 404"),
        (200, b"<html>", TokenError, r"answered without a token \(access_token\)"),
        (200, b'["access_token"]', TokenError, "answered without a token"),
        (200, b" " * (oauth.MOST + 1), TokenError, "answers with more than 262 kB"),
        (200, b'{"access_token": "a\\u0001b"}', TokenError, "gives is no bearer token"),
        (200, b'{"access_token": "a", "expires_in": 0}', TokenError, "has expired; look at the clocks"),
        (401, b"", AuthenticationError, r"refused the client monitor \(HTTP 401\)"),
        (400, b'{"error": "invalid_scope"}', AuthenticationError, r"refused the client monitor \(invalid_scope\)"),
        (400, b"nothing", TokenError, "answered HTTP 400"),
    ],
)
def test_each_answer_has_its_sentence(status: int, body: bytes, kind: type[Exception], message: str) -> None:
    with answering({TOKEN: body}, status) as (url, _), pytest.raises(kind, match=message):
        token_from(url + TOKEN)


@pytest.mark.parametrize(
    ("body", "lifetime"),
    [
        (b'{"access_token": "opaque"}', oauth.UNKNOWN_LIFETIME),
        (b'{"access_token": "opaque", "expires_in": "60"}', 60.0),
        (b'{"access_token": "opaque", "expires_in": true}', oauth.UNKNOWN_LIFETIME),
    ],
)
def test_a_lifetime_may_be_text_or_missing(body: bytes, lifetime: float) -> None:
    with answering({TOKEN: body}) as (url, _):
        token = token_from(url + TOKEN)
    assert token.lifetime == lifetime


def test_a_redirect_is_not_followed() -> None:
    """The secret goes to the host that the configuration names, and to no other."""
    with answering({TOKEN: b"{}"}) as (other, seen), answering({TOKEN: b""}, 302, Location=other + TOKEN) as (url, _):
        with pytest.raises(TokenError, match=r"redirects \(HTTP 302\)"):
            token_from(url + TOKEN)
        assert seen == []


@pytest.mark.parametrize(("encoded", "header"), [("false", "Basic YSBiOmMrZA=="), ("true", "Basic YStiOmMlMkJk")])
def test_id_and_secret_may_be_encoded_for_urls(encoded: str, header: str) -> None:
    """RFC 6749 asks for it, many issuers do not: `sasl.oauthbearer.header.urlencode`, as in Java."""
    with answering({TOKEN: b'{"access_token": "opaque"}'}) as (url, seen):
        token_from(url + TOKEN, "a b", "c+d", sasl_oauthbearer_header_urlencode=encoded)
        assert seen[0][1]["Authorization"] == header


def test_an_issuer_over_tls_must_be_trusted(issuer: Issuer, tmp_path: Path) -> None:
    """By `https.ca.location`, or by the system; `https.ca.pem` is the same as text."""
    authority = Authority(tmp_path, "authority")
    pair = authority.issue("issuer", hosts=HERE)
    issuer.use(pair.certificate, pair.key)
    ask = partial(token_from, issuer.token_url.replace("http:", "https:"), secret=issuer.clients["monitor"])
    with pytest.raises(TokenError, match=r"not trusted: .* set https\.ca\.location"):
        ask()
    assert ask(https_ca_location=str(authority.certificate)).subject == "monitor"
    assert ask(https_ca_pem=authority.certificate.read_text()).subject == "monitor"


def test_an_issuer_that_cannot_be_reached_is_its_own_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    port = silent.server_address[1]
    monkeypatch.setattr(oauth, "TIMEOUT", 0.2)
    with pytest.raises(TokenError, match=f":{port}/token cannot be reached .no answer in time"):
        token_from(f"http://127.0.0.1:{port}/token")
    silent.server_close()
    with pytest.raises(TokenError, match=r"cannot be reached \(nothing listens there"):
        token_from(f"http://127.0.0.1:{port}/token")


@pytest.mark.parametrize(
    ("scheme", "head"),
    [
        ("http", b""),
        ("http", b"HTTP/1.1 200 OK\r\nX-Header: "),
        ("http", b"HTTP/1.1 200 OK\r\n\r\n"),
        ("http", b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"),
        ("http", b"HTTP/1.1 503 Busy\r\n\r\n"),
        pytest.param("https", b"\x16\x03\x03\x40\x00", id="handshake"),
        ("proxy", b""),
        ("proxy", b"HTTP/1.1 200 OK\r\nX-Header: "),
    ],
)
def test_an_issuer_that_sends_byte_after_byte(monkeypatch: pytest.MonkeyPatch, scheme: str, head: bytes) -> None:
    monkeypatch.setattr(oauth, "LONGEST", 0.3)
    monkeypatch.setattr(oauth, "TIMEOUT", 0.3)
    with dripping(head) as address:
        issuer = f"{scheme}://{address}/"
        if scheme == "proxy":
            monkeypatch.setenv("HTTPS_PROXY", f"http://{address}")
            issuer = "https://issuer.example/"
        with pytest.raises(TokenError, match=f"{issuer} cannot be reached .no answer in time"):
            token_from(issuer)

        def left(thread: threading.Thread) -> bool:
            return thread.name == "token" or isinstance(thread, threading.Timer)

        wait_for(lambda: not any(map(left, threading.enumerate())))


def test_a_proxy_is_asked_for_a_tunnel_with_its_own_password(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def refuse(connection: socket.socket) -> None:
        seen.append(connection.recv(10_000).decode())
        connection.sendall(b"HTTP/1.1 502 No\r\n\r\n")

    with listening(refuse) as address:
        monkeypatch.setenv("HTTPS_PROXY", f"http://ada:l%40ve@{address}")
        with pytest.raises(TokenError, match=r"cannot be reached \(Tunnel connection failed: 502 No\)"):
            token_from("https://127.0.0.1:1/token")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1:1")
        with pytest.raises(TokenError, match="nothing listens there"):
            token_from("https://127.0.0.1:1/token")
    (request,) = seen
    assert request.startswith("CONNECT 127.0.0.1:1 ")
    assert request.partition("Proxy-Authorization: ")[2].split() == ["Basic", "YWRhOmxAdmU="]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "kafka.sasl.oauthbearer.token.endpoint.url: missing"),
        ({ENDPOINT: "issuer.example"}, "expected https://HOST/PATH or file:///PATH"),
        ({ENDPOINT: "file:token"}, "expected https://HOST/PATH or file:///PATH"),
        ({ENDPOINT: f"https://a:{CANARY}@b/"}, "a user or password is not allowed in it"),
        ({ENDPOINT: "file:///missing"}, "/missing: cannot read the secret"),
        (URL, "kafka.sasl.oauthbearer.client.id: missing"),
        ({**URL, CLIENT_ID: "a"}, "kafka.sasl.oauthbearer.client.secret.file: missing"),
        ({**URL, "sasl.username": "u"}, "kafka.sasl.username: no effect with sasl.mechanism OAUTHBEARER"),
        ({**URL, "sasl.mechanism": "PLAIN"}, "token.endpoint.url: no effect with sasl.mechanism PLAIN"),
        ({**URL, "security.protocol": "SSL"}, "no effect with security.protocol SSL"),
        ({**URL, "sasl.oauthbearer.method": "azure"}, "'azure' is not supported; expected default or oidc"),
        ({**URL, "sasl.oauthbearer.grant.type": "urn:ietf:params:oauth:grant-type:jwt-bearer"}, "is not supported"),
        ({**URL, "sasl.oauthbearer.metadata.authentication.type": "azure_imds"}, "is not supported; expected none"),
        ({**URL, "sasl.login.callback.handler.class": "com.example.Handler"}, "is not supported"),
        ({**URL, "sasl.oauthbearer.extensions": "auth=x"}, "expected SASL extensions as name=value"),
        ({**URL, "sasl.jaas.config": "ScramLoginModule required;"}, "ScramLoginModule does not do OAUTHBEARER"),
        (
            {**URL, "sasl.jaas.config": f"{MODULE} clientSecrets={CANARY};"},
            "has no option clientSecrets; did you mean clientSecret?",
        ),
        ({**URL, "sasl.jaas.config": f"{MODULE} ssl.truststore.password={CANARY};"}, "set https.ca.location"),
        ({**URL, "sasl.jaas.config": f"{MODULE} clientId=a clientSecret={CANARY} extension_auth=x;"}, "extensions"),
        (
            {
                **URL,
                CLIENT_ID: "a",
                "sasl.oauthbearer.client.secret": CANARY,
                "https.ca.location": "/missing.pem",
            },
            "/missing.pem: cannot read",
        ),
        (
            {**URL, CLIENT_ID: "a", "sasl.oauthbearer.client.credentials.client.id": "b"},
            "kafka.sasl.oauthbearer.client.credentials.client.id: set either this or",
        ),
    ],
)
def test_mistakes_are_one_line_that_names_the_property(changes: Mapping[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        translate({**BASE, **changes})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert CANARY not in str(caught.value)


def test_a_token_from_a_file_needs_no_client(tmp_path: Path) -> None:
    url = {ENDPOINT: write_secret(tmp_path / "a token", "opaque").as_uri()}
    token = token_of({**url, "sasl.oauthbearer.extensions": "a=b"})
    assert (token.value.reveal(), token.extensions) == ("opaque", {"a": "b"})
    with pytest.raises(ConfigError, match="no effect with a token from a file"):
        tokens_of({**url, CLIENT_ID: "a"})


def test_librdkafka_gets_the_token_of_the_sidecar(issuer: Issuer) -> None:
    """One token for polling and for history, with the time of its end."""
    properties = {
        **BASE,
        ENDPOINT: issuer.token_url,
        CLIENT_ID: "monitor",
        "sasl.oauthbearer.extensions": "a=b",
    }
    secrets = {"sasl.oauthbearer.client.secret": Secret(issuer.clients["monitor"])}
    settings = translate(properties, secrets)
    assert isinstance(settings.credentials, Tokens)
    token = settings.credentials.wait(monotonic(), WITHIN)
    options = librdkafka(settings)
    text, until, subject, extensions = options["oauth_cb"]("")
    assert (text, subject, extensions) == (token.value.reveal(), "monitor", {"a": "b"})
    assert until - time.time() == pytest.approx(issuer.lifetime, abs=30)
    assert len(issuer.requests) == 1
    assert issuer.clients["monitor"] not in repr(options)
    confluent_kafka.admin.AdminClient(options)
