"""Client files in the shapes of vendors and other projects: accepted with the right values, or refused with help."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from kafka_warden.clients.kafka.kerberos import Kerberos
from kafka_warden.clients.kafka.oauth import Oidc
from kafka_warden.clients.kafka.properties import KafkaClientSettings
from kafka_warden.clients.kafka.tokens import Tokens
from kafka_warden.config import load
from kafka_warden.errors import ConfigError
from sandbox.certificates import Authority
from sandbox.key_stores import write_key_store, write_trust_store
from sandbox.passwords import write_secret
from tests.support.tickets import Tickets, write_keytab

pytestmark = pytest.mark.process

CORPUS: Final = Path(__file__).parent / "corpus" / "clients.txt"
STORE: Final = "canary-store"
LEAST: Final = 60
"""Cases in the corpus."""


class Part(NamedTuple):
    """A file, the variables, or what is expected."""

    name: str
    how: tuple[str, ...]
    text: str


def cases() -> Iterator[Any]:
    for case in CORPUS.read_text(encoding="utf-8").split("\n=== ")[2:]:
        title, *parts = case.split("\n--- ")
        heads = [part.partition("\n") for part in parts]
        named = [(head.split(), text.rstrip("\n")) for head, _, text in heads]
        yield pytest.param([Part(name, tuple(how), text) for (name, *how), text in named], id=title)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    authority = Authority(folder, "authority")
    pair = authority.issue("client")
    shutil.copy(authority.certificate, folder / "ca.pem")
    shutil.copy(pair.certificate, folder / "service.cert")
    shutil.copy(pair.key, folder / "service.key")
    (folder / "both.pem").write_bytes(pair.key.read_bytes() + pair.certificate.read_bytes())
    write_keytab(folder / "canary.keytab", "warden@EXAMPLE.COM", "key")
    for kind, end in (("JKS", "jks"), ("PKCS12", "p12")):
        write_trust_store(folder / f"truststore.{end}", kind, STORE, authority.certificate)
        write_key_store(folder / f"keystore.{end}", kind, STORE, pair)
    return folder


def write(folder: Path, part: Part) -> None:
    text = part.text.replace("·", " ").replace("→", "\t").replace("{folder}", str(folder))
    for pem in ("ca.pem", "service.cert", "service.key"):
        text = text.replace(f"{{{pem}}}", (folder / pem).read_text().strip().replace("\n", "\\n"))
    text = text.replace("\n", "\r\n") if "crlf" in part.how else text
    encoding = "latin-1" if "latin-1" in part.how else "utf-8-sig" if "bom" in part.how else "utf-8"
    write_secret(folder / part.name, "").write_bytes(text.encode(encoding))


def shown(settings: KafkaClientSettings) -> dict[str, str]:
    """What a case may expect of the settings, by name."""
    tls, login, credentials = settings.tls, settings.login(), settings.credentials
    found = {
        "bootstrap": ",".join(map(str, settings.bootstrap)),
        "protocol": settings.security_protocol,
        "mechanism": str(settings.sasl_mechanism),
        "client.id": settings.client_id,
        "request.timeout": str(settings.request_timeout),
        "ignored": " ".join(sorted(name.replace(": ", ":") for name in settings.ignored)),
    }
    if login is not None:
        found["login"] = f"{login.username} {login.password.reveal()}{' delegated' if login.delegated else ''}"
    if isinstance(credentials, Tokens):
        found["token"] = credentials.source.name
        if isinstance(credentials.source, Oidc):
            client = credentials.source._client()
            extensions = ",".join(f"{name}={value}" for name, value in client.extensions.items())
            found["token"] += f" {client.id} {client.secret.reveal()} {client.scope or '-'} {extensions or '-'}"
    if isinstance(credentials, Kerberos):
        found["kerberos"] = f"{credentials._principal} {Path(str(credentials._keytab)).name}"
    if tls is not None:
        context = tls.context()
        found["authorities"] = str(len(context.get_ca_certs()))
        found["certificate"] = "yes" if tls.validity() is not None else "no"
        found["hostnames"] = "yes" if context.check_hostname else "no"
        found["ciphers"] = tls.files.ciphers
    return found


@pytest.mark.parametrize("parts", list(cases()))
def test_a_client_file_is_accepted_or_refused_with_what_to_do(
    parts: list[Part], certificates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Tickets().install(monkeypatch)
    shutil.copytree(certificates, tmp_path, dirs_exist_ok=True)
    *files, expected = parts
    environment = {}
    for part in files:
        if part.name == "environment":
            environment = dict(line.split("=", 1) for line in part.text.splitlines())
        else:
            write(tmp_path, part)
    if (tmp_path / "client.properties").exists() and not (tmp_path / "warden.yml").exists():
        write(tmp_path, Part("warden.yml", (), "kafka: {properties_file: client.properties}"))
    file = tmp_path / "warden.yml" if (tmp_path / "warden.yml").exists() else None
    if expected.name == "gives":
        found = shown(load({}, environment, file).kafka.settings)
        for line in expected.text.splitlines():
            name, _, value = line.partition(" ")
            assert found[name] == value.replace("·", " "), name
        return
    with pytest.raises(ConfigError) as caught:
        load({}, environment, file)
    (line,) = str(caught.value).splitlines()
    assert [part for part in expected.text.splitlines() if part not in line] == [], line
    assert "canary" not in line.replace(str(tmp_path), "").replace("canary.keytab", "")


def test_the_corpus_is_read_whole() -> None:
    found = [parameters.values[0] for parameters in cases()]
    assert len(found) >= LEAST
    assert {parts[-1].name for parts in found} == {"gives", "refused"}
    assert all(len(parts) > 1 for parts in found)
