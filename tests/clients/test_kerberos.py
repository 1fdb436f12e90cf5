"""Logins with Kerberos: properties, messages, faults and the renewal of sessions, with a stand-in for gssapi."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.sasl import SaslAuthenticateResponse

from kafka_warden.clients.kafka import kerberos
from kafka_warden.clients.kafka.librdkafka import librdkafka
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.properties import translate
from kafka_warden.clients.kafka.tokens import REFUSED_PAUSE
from kafka_warden.config.load import load
from kafka_warden.errors import AuthenticationError, ConfigError, TokenError
from kafka_warden.settings.secrets import Secret
from tests.support import tickets
from tests.support.linking import CLUSTER, DEADLINE, Client
from tests.support.tickets import Tickets, write_keytab

USER = "monitor@TEST"
SERVICE = "kafka@127.0.0.1"


@pytest.fixture
def kdc(monkeypatch: pytest.MonkeyPatch) -> Tickets:
    made = Tickets(keys={"monitor": "key"}, services={SERVICE})
    made.install(monkeypatch)
    return made


@pytest.fixture
def keytab(tmp_path: Path) -> Path:
    return write_keytab(tmp_path / "keytab", "monitor", "key")


def link(client: Client, keytab: Path, users: Mapping[str, str] | None = None, **accounts: Any) -> BrokerLink:
    client.brokers.do("accounts", mechanism="GSSAPI", users=users or {USER: SERVICE}, **accounts)
    return client.link(
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="GSSAPI",
        sasl_kerberos_keytab=str(keytab),
        sasl_kerberos_principal="monitor",
    )


def test_a_ticket_logs_in(client: Client, kdc: Tickets, keytab: Path) -> None:
    first, second = link(client, keytab), link(client, keytab)
    assert [client.ask(first), client.ask(second)] == [CLUSTER] * 2
    client.close()
    assert client.ask(first) == CLUSTER
    assert kdc.asked == ["monitor"] * 2  # of two settings


def test_a_session_is_renewed_before_its_end(client: Client, kdc: Tickets, keytab: Path) -> None:
    asked = link(client, keytab, session_ms=10_000)
    assert client.ask(asked) == CLUSTER
    client.brokers.do("clear")
    for _ in range(4):
        client.clock.advance(9.6)
        assert client.ask(asked) == CLUSTER
    assert client.connections() == 1


def test_a_wrong_key_is_refused_until_the_keytab_changes(client: Client, kdc: Tickets, keytab: Path) -> None:
    """No connection is made with it, and the tickets of an old key are not used for the new one."""
    write_keytab(keytab, "monitor", "old")
    asked = link(client, keytab)
    client.fail(asked, AuthenticationError, r"the KDC refuses monitor \(code 24\)")
    assert client.connections() == 0
    assert not asked._settings.changed()
    write_keytab(keytab, "monitor", "key")
    assert asked._settings.changed()
    assert client.ask(asked) == CLUSTER
    client.close()
    write_keytab(keytab, "monitor", "old")
    client.fail(asked, AuthenticationError, "the KDC refuses")


def test_a_broker_may_refuse_the_ticket(client: Client, kdc: Tickets, keytab: Path) -> None:
    client.fail(link(client, keytab, {"other@TEST": SERVICE}), AuthenticationError, f"refused the ticket of {USER}")


def test_a_layer_that_kafka_does_not_have_is_refused(client: Client, kdc: Tickets, keytab: Path) -> None:
    client.fail(link(client, keytab, layers=6), AuthenticationError, "security layer")


def test_a_broker_that_does_not_prove_itself_is_refused(client: Client, kdc: Tickets, keytab: Path) -> None:
    forged = SaslAuthenticateResponse(error_code=0, error_message=None, auth_bytes=b"forged", session_lifetime_ms=0)
    client.brokers.rule(1, "SaslAuthenticate", body=bytes(forged.encode(version=2)))
    client.fail(link(client, keytab), AuthenticationError, r"Kerberos message is not valid \(code 31\)")


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        (tickets.UNREACHABLE, TokenError, r"no Kerberos ticket \(code 156\)"),
        (tickets.SKEW, TokenError, "the clocks of this machine and of the KDC differ too much"),
        (tickets.TABLE + 6, AuthenticationError, r"the KDC refuses monitor \(code 6\)"),
    ],
)
def test_faults_of_the_kdc(
    client: Client, kdc: Tickets, keytab: Path, fault: int, error: type[Any], message: str
) -> None:
    kdc.fault = fault
    asked = link(client, keytab)
    client.fail(asked, error, message)
    kdc.fault = 0
    if error is AuthenticationError:
        before = len(kdc.asked)
        client.fail(asked, error, message)
        assert len(kdc.asked) == before
        client.clock.advance(REFUSED_PAUSE)
    assert client.ask(asked) == CLUSTER


def test_a_service_and_a_principal_that_are_not_known(client: Client, kdc: Tickets, keytab: Path) -> None:
    kdc.services.clear()
    client.fail(link(client, keytab), AuthenticationError, r"refuses monitor \(code 7\)")
    write_keytab(keytab, "other", "key")
    client.fail(link(client, keytab), AuthenticationError, f"{keytab} has no key of monitor")


def test_a_silent_kdc_costs_no_more_than_the_deadline(client: Client, kdc: Tickets, keytab: Path) -> None:
    asked = link(client, keytab)
    kdc.gate.clear()
    try:
        client.fail(asked, TokenError, "no ticket from the KDC in time")
        assert client.took == pytest.approx(DEADLINE)
    finally:
        kdc.gate.set()
    assert client.ask(asked) == CLUSTER


def test_a_keytab_that_is_gone_is_no_reason_to_connect(client: Client, kdc: Tickets, keytab: Path) -> None:
    asked = link(client, keytab)
    keytab.rename(keytab.with_name("away"))
    client.fail(asked, TokenError, "cannot read")
    keytab.with_name("away").rename(keytab)
    keytab.chmod(0o644)
    client.fail(asked, TokenError, "chmod 600")


BASE = {"bootstrap.servers": "a:1", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI"}
JAAS = (
    "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true"
    ' keyTab="FILE:{keytab}" principal="monitor@TEST" serviceName="kafka";'
)


def test_java_and_librdkafka_name_the_same(kdc: Tickets, keytab: Path) -> None:
    ours = translate({**BASE, "sasl.kerberos.keytab": str(keytab), "sasl.kerberos.principal": "monitor@TEST"})
    javas = translate(BASE, {"sasl.jaas.config": Secret(JAAS.format(keytab=keytab))})
    for made in (ours.credentials, javas.credentials):
        assert isinstance(made, kerberos.Kerberos)
        assert (made.service, made.subject, made.paths()) == ("kafka", "monitor", (keytab,))
    assert not ours.ignored


def test_kerberos_is_the_mechanism_of_other_clients(kdc: Tickets, keytab: Path) -> None:
    without = {name: value for name, value in BASE.items() if name != "sasl.mechanism"}
    named = translate({**without, "sasl.kerberos.service.name": "kafka"})
    module = translate(without, {"sasl.jaas.config": Secret(JAAS.format(keytab=keytab))})
    assert [named.sasl_mechanism, module.sasl_mechanism] == ["GSSAPI", "GSSAPI"]
    with pytest.raises(ConfigError, match=r"kafka\.sasl\.mechanism: missing"):
        translate(without)


@pytest.mark.parametrize(
    ("changes", "jaas", "message"),
    [
        ({"sasl.kerberos.keytab": "/missing"}, "", "kafka.sasl.kerberos.keytab: cannot read '/missing'"),
        ({"sasl.kerberos.keytab": __file__}, "", "chmod 600"),
        ({"sasl.username": "u"}, "", "kafka.sasl.username: no effect with sasl.mechanism GSSAPI"),
        ({}, "PlainLoginModule required;", "PlainLoginModule does not do GSSAPI"),
        ({}, "Krb5LoginModule required tryFirstPass=true;", "the option tryFirstPass is not supported"),
    ],
)
def test_mistakes_are_one_line(kdc: Tickets, changes: Mapping[str, str], jaas: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        translate({**BASE, **changes}, {"sasl.jaas.config": Secret(jaas)} if jaas else {})
    assert message in str(caught.value)
    assert kdc.asked == []


def test_what_is_no_keytab_is_refused(kdc: Tickets, keytab: Path) -> None:
    keytab.write_text("junk")
    with pytest.raises(ConfigError, match="is not a keytab"):
        translate({**BASE, "sasl.kerberos.keytab": str(keytab)})


def test_the_package_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kerberos, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"in a checkout pip install '\.\[kerberos\]'"):
        translate(BASE)


def test_history_in_a_topic_is_refused(kdc: Tickets, keytab: Path, tmp_path: Path) -> None:
    file = tmp_path / "warden.yml"
    properties = {**BASE, "sasl.kerberos.keytab": str(keytab)}
    file.write_text(f"kafka: {properties}\nhistory: {{kafka: {{topic: history}}}}\n")
    with pytest.raises(
        ConfigError, match=r"history\.kafka\.topic: the topic of the history cannot be used with GSSAPI"
    ):
        load({}, {}, file)
    with pytest.raises(ConfigError, match="cannot be used with GSSAPI"):
        librdkafka(translate(properties))
