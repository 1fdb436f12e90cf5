"""JmxSession with hostile servers, passwords and TLS: each on a real JVM."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafka_warden.clients.jmx import child
from kafka_warden.clients.jmx.protocol import BeanQueries, BeanQuery, JmxTls, RawBeans
from kafka_warden.clients.jmx.session import Answer, JmxSession, JmxTarget
from kafka_warden.errors import AuthenticationError, AuthorizationError, ProtocolError, TlsError
from kafka_warden.settings.secrets import Secret, SecretFile
from sandbox.certificates import HERE, Authority, Identity
from sandbox.key_stores import write_key_store, write_trust_store
from sandbox.passwords import new_password, write_secret
from sandbox.ports import LOOPBACK
from tests.clients.jmx_server import READER, TIME_LIMIT, JmxServer, MakeSession, ask, ask_one, number, password_options

STORE_PASSWORD = "changeit"
ELSEWHERE = "127.0.0.9"
ASK_GADGET = BeanQueries((BeanQuery("test:type=Hostile", ("Gadget",)),))


def test_a_wrong_password_waits_for_another(make_session: MakeSession, classes: Path, tmp_path: Path) -> None:
    password = new_password()
    secret = write_secret(tmp_path / "secret", "wrong\n")
    session = make_session()
    with JmxServer(classes, options=password_options(tmp_path, password)) as server:
        target = server.target(user=READER, password=SecretFile(secret))
        refused = ask_one(session, target)
        assert isinstance(refused, AuthenticationError)
        assert ask_one(session, target) is refused
        assert isinstance(ask_one(session, server.target("bare")), AuthenticationError)

        write_secret(secret, f"{password}\n")
        assert number(ask_one(session, target)) == 1
    assert READER in str(refused)
    assert "wrong" not in str(refused)


def test_a_password_file_that_cannot_be_read(make_session: MakeSession, tmp_path: Path) -> None:
    target = JmxTarget("one", LOOPBACK, 1, READER, SecretFile(tmp_path / "missing"))
    answer = ask_one(make_session(), target)
    assert isinstance(answer, AuthenticationError)
    assert "missing" in str(answer)


def test_a_user_without_access(make_session: MakeSession, classes: Path, tmp_path: Path) -> None:
    password = new_password()
    secret = write_secret(tmp_path / "secret", password)
    with JmxServer(classes, options=password_options(tmp_path, password, access="")) as server:
        answer = ask_one(make_session(), server.target(user=READER, password=SecretFile(secret)))
    assert isinstance(answer, AuthorizationError)
    assert "readonly" in str(answer)


def test_no_process_shows_the_password(
    make_session: MakeSession, classes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No command line has it, and the child inherits nothing of the sidecar's environment that it does not need."""
    password = new_password()
    secret = write_secret(tmp_path / "secret", password)
    monkeypatch.setenv("KAFKA_WARDEN_JMX_PASSWORD", password)
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dwarden.test=inherited")
    session = make_session()
    with JmxServer(classes, options=password_options(tmp_path, password)) as server:
        assert number(ask_one(session, server.target(user=READER, password=SecretFile(secret)))) == 1
        command_lines = [_read(path) for path in Path("/proc").glob("[0-9]*/cmdline")]
        environment = _read(Path(f"/proc/{session.pid}/environ"))
    assert any(b"kafka_warden.clients.jmx.child" in line for line in command_lines)
    assert not [line for line in command_lines if password.encode() in line]
    assert environment
    assert password.encode() not in environment
    assert b"JAVA_TOOL_OPTIONS" not in environment
    assert password not in repr(session.__dict__)


def test_a_hostile_object_is_never_made(make_session: MakeSession, classes: Path, tmp_path: Path) -> None:
    """An MBean's own Serializable is refused before its readObject runs; without the filter it would run."""
    gadget = tmp_path / "gadget"
    # The class is within the child's reach, as a gadget of some library would be.
    reach = f"-Xbootclasspath/a:{classes}"
    with JmxServer(classes, gadget=gadget) as server:
        answer = ask_one(make_session(ASK_GADGET, java_options=(reach,)), server.target())
        assert isinstance(answer, ProtocolError)
        assert "not accepted" in str(answer)
        assert not gadget.exists()

        ask_one(make_session(ASK_GADGET, java_options=(reach, "-Djdk.serialFilter=*")), server.target())
        assert gadget.exists()


def test_a_reply_that_fills_the_heap_is_not_read(make_session: MakeSession, classes: Path) -> None:
    answer = _beside_a_good_one(make_session, classes, BeanQueries((BeanQuery("test:type=Large", ("Text",)),)))
    assert isinstance(answer, ProtocolError)
    assert "larger than 4194304 bytes" in str(answer)


def test_many_replies_that_fill_the_heap_are_not_kept(make_session: MakeSession, classes: Path) -> None:
    texts = "test:type=Texts,*"
    answer = _beside_a_good_one(make_session, classes, BeanQueries((), (BeanQuery(texts, ("Text",)),)))
    assert isinstance(answer, RawBeans)
    assert not answer.rows[texts]


def _beside_a_good_one(make_session: MakeSession, classes: Path, hostile: BeanQueries) -> Answer:
    """The second answer of a process to this question, while another one is asked for its number."""
    session = make_session(controller=hostile, timeout=TIME_LIMIT)
    with JmxServer(classes, options=("-Xmx256m",)) as server:
        for _ in range(2):
            answers = ask(session, server.target("good"), server.target("bad", kind="controller"))
            assert number(answers["good"]) == 1
    assert session.starts == 1
    return answers["bad"]


def test_the_filter_has_no_room_for_tls_stubs_without_tls() -> None:
    assert "SslRMIClientSocketFactory" not in child.serial_filter(tls=False)
    assert "SslRMIClientSocketFactory" in child.serial_filter(tls=True)
    assert child.serial_filter(tls=True).endswith(";!*")


def test_a_stub_that_points_elsewhere_is_not_followed(make_session: MakeSession, classes: Path) -> None:
    """A server may not send us, and our password, to another host: no connection to it is tried."""
    with JmxServer(classes, host=ELSEWHERE) as server, socket.create_server((ELSEWHERE, server.rmi_port)) as elsewhere:
        elsewhere.settimeout(0.5)
        answer = ask_one(make_session(), server.target())
        with pytest.raises(TimeoutError):
            elsewhere.accept()
    assert isinstance(answer, ProtocolError)
    assert ELSEWHERE in str(answer)
    assert "java.rmi.server.hostname" in str(answer)


def test_a_stub_may_spell_the_same_host_otherwise(make_session: MakeSession, classes: Path) -> None:
    with JmxServer(classes, host="localhost") as server:
        assert number(ask_one(make_session(timeout=TIME_LIMIT), server.target())) == 1


@dataclass(frozen=True)
class Certificates:
    """A server's certificates, of names that fit and that do not, and a client's."""

    authority: Authority
    server: Identity
    misnamed: Identity
    client: Identity
    foreign: Authority
    trust: Path
    """A store of Java's with the authority."""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    directory = tmp_path_factory.mktemp("certificates")
    authority = Authority(directory, "authority")
    trust = write_trust_store(directory / "trust.p12", "PKCS12", STORE_PASSWORD, authority.certificate)
    return Certificates(
        authority,
        authority.issue("server", "server", HERE),
        authority.issue("misnamed", "server", ("kafka.elsewhere.example",)),
        authority.issue("client", "client"),
        Authority(directory / "foreign", "foreign"),
        trust,
    )


def test_tls_end_to_end(make_session: MakeSession, classes: Path, certificates: Certificates, tmp_path: Path) -> None:
    password = new_password()
    secret = write_secret(tmp_path / "secret", password)
    options = [*password_options(tmp_path, password), *_tls_options(tmp_path, certificates, certificates.server)]
    trusted = str(certificates.authority.certificate)
    own = certificates.client
    with JmxServer(classes, options=options) as server:
        target = server.target(user=READER, password=SecretFile(secret))
        session = make_session(tls=JmxTls(trusted, str(own.certificate), str(own.key)))
        assert number(ask_one(session, target)) == 1
        assert number(ask_one(session, target)) == 1
        assert isinstance(ask_one(make_session(tls=JmxTls(trusted)), target), TlsError)
        assert isinstance(ask_one(make_session(), target), ProtocolError | TlsError)


def test_tls_of_the_objects_alone(
    make_session: MakeSession, classes: Path, certificates: Certificates, tmp_path: Path
) -> None:
    trusted = JmxTls(str(certificates.authority.certificate), registry=False)
    foreign = JmxTls(str(certificates.foreign.certificate), registry=False)
    options = _tls_options(tmp_path, certificates, certificates.server, registry=False, client=False)
    with JmxServer(classes, options=options) as server:
        assert number(ask_one(make_session(tls=trusted), server.target())) == 1
        assert isinstance(ask_one(make_session(tls=foreign), server.target()), TlsError)


def test_tls_refuses_whom_it_should(
    make_session: MakeSession, classes: Path, certificates: Certificates, tmp_path: Path
) -> None:
    right, foreign = str(certificates.authority.certificate), str(certificates.foreign.certificate)
    with JmxServer(classes, options=_tls_options(tmp_path, certificates, certificates.server, client=False)) as server:
        untrusted = ask_one(make_session(tls=JmxTls(foreign)), server.target())
        absent = ask_one(make_session(tls=JmxTls(str(tmp_path / "missing.pem"))), server.target())
    options = _tls_options(tmp_path, certificates, certificates.misnamed, client=False)
    with JmxServer(classes, options=options) as server:
        misnamed = ask_one(make_session(tls=JmxTls(right)), server.target())
    with JmxServer(classes) as server:
        clear = ask_one(make_session(tls=JmxTls(right)), server.target())
    answers = {"untrusted": untrusted, "absent": absent, "misnamed": misnamed, "clear": clear}
    assert {name: type(answer) for name, answer in answers.items()} == dict.fromkeys(answers, TlsError)
    assert "missing.pem" in str(absent)


def test_a_stopped_tls_target_is_a_time_out(
    make_session: MakeSession, classes: Path, certificates: Certificates, tmp_path: Path
) -> None:
    session = make_session(tls=JmxTls(str(certificates.authority.certificate)))
    with JmxServer(classes, options=_tls_options(tmp_path, certificates, certificates.server, client=False)) as server:
        with server.paused():
            first, second = (ask_one(session, server.target()) for _ in range(2))
        third = ask_one(session, server.target())
    where = f"{server.target().host}:{server.target().port}"
    assert all(where in str(answer) and "did not answer in time" in str(answer) for answer in (first, second))
    assert isinstance(third, RawBeans)


def test_the_password_goes_in_clear_only_where_the_user_says(
    make_session: MakeSession, certificates: Certificates
) -> None:
    """To hosts that the configuration names, this machine among them; with TLS to any. The message names both ways."""

    def refused(session: JmxSession, host: str, *, named: bool = False) -> bool:
        answer = ask_one(session, JmxTarget("one", host, 1, READER, Secret("secret"), named=named))
        return isinstance(answer, TlsError) and "jmx.tls.ca_file, or name the address in jmx.brokers" in str(answer)

    session, secure = make_session(), make_session(tls=JmxTls(str(certificates.authority.certificate)))
    assert refused(session, "192.0.2.1")
    assert refused(session, "elsewhere.invalid")
    assert all(refused(session, host) for host in ("localhost", "127.0.0.2", "::1"))
    assert not refused(session, "192.0.2.1", named=True)
    assert not refused(secure, "192.0.2.1")
    assert not refused(session, "127.0.0.2", named=True)


def _tls_options(
    directory: Path, certificates: Certificates, identity: Identity, *, registry: bool = True, client: bool = True
) -> Sequence[str]:
    store = write_key_store(directory / f"{identity.key.name}.p12", "PKCS12", STORE_PASSWORD, identity)
    agent = {"ssl": "true", "registry.ssl": str(registry).lower(), "ssl.need.client.auth": str(client).lower()}
    stores = {"keyStore": store, "trustStore": certificates.trust}
    return [
        *(f"-Dcom.sun.management.jmxremote.{key}={value}" for key, value in agent.items()),
        *(f"-Djavax.net.ssl.{key}={value}" for key, value in stores.items()),
        *(f"-Djavax.net.ssl.{key}Password={STORE_PASSWORD}" for key in stores),
    ]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
