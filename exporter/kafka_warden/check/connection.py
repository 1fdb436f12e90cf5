"""Names what is wrong with a connection, by the step that failed: one code, one sentence, one thing to do.

Where a failure may mean two things, a second connection without a login decides.
"""

import asyncio
import logging
import math
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from kafka_warden.check.results import Report
from kafka_warden.clients.kafka.kerberos import PRINCIPAL, SERVICE, Kerberos
from kafka_warden.clients.kafka.librdkafka import librdkafka, refusal
from kafka_warden.clients.kafka.link import BrokerLink, Step
from kafka_warden.clients.kafka.msk import MskSigner
from kafka_warden.clients.kafka.network import Network
from kafka_warden.clients.kafka.properties import KafkaClientSettings
from kafka_warden.clients.kafka.requests import FRAMED_LOGIN, SaslHandshakeRequest
from kafka_warden.clients.kafka.tokens import Tokens
from kafka_warden.config import Config
from kafka_warden.errors import (
    AnswerTimeoutError,
    AuthenticationError,
    ConnectTimeoutError,
    RefusedError,
    SourceError,
    TlsError,
    TokenError,
)
from kafka_warden.model import Snapshot
from kafka_warden.settings.strict import Address

STEPS: Final = {
    Step.RESOLVE: "KW-DNS",
    Step.CONNECT: "KW-TCP",
    Step.TLS: "KW-TLS",
    Step.VERSIONS: "KW-API",
    Step.LOGIN: "KW-LOGIN",
    Step.REQUEST: "KW-CLUSTER",
}
"""Step of a link to the code of its failure."""

LOG: Final = "look into the log of that broker"

NO_MECHANISM: Final = "KAFKA-WARDEN-CHECK"
"""No broker has it, so each answers with those that it has."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, and what to do. `silent`: nothing came back from that host."""

    code: str
    text: str
    fix: str
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Explains failures of links. `within`: seconds for each connection and each question."""

    network: Network
    settings: KafkaClientSettings
    within: float

    def link(self, host: str, port: int, **settings: Any) -> BrokerLink:
        """Make a link with some settings replaced."""
        return BrokerLink(self.network, replace(self.settings, **settings), host, port)

    def link_without_login(self, host: str, port: int, **settings: Any) -> BrokerLink:
        """Make a link that does not log in."""
        return self.link(host, port, sasl_mechanism=None, credentials=None, **settings)

    def until(self) -> float:
        """Return the monotonic time at which a question that begins now is given up."""
        return self.network.clock.monotonic() + self.within

    async def connect(self, link: BrokerLink) -> Finding | None:
        """Connect, and log in where the link does; return what is wrong."""
        try:
            await link.supports(FRAMED_LOGIN, self.until())
        except SourceError as fault:
            return await self.explain(link, fault)
        return None

    async def explain(self, link: BrokerLink, fault: SourceError, step: Step | None = None) -> Finding:
        """Find out what a failure of a link means. `step`: the one that failed, by default that of the link."""
        step, found = step or link.step, None
        distrusted = isinstance(fault.__cause__, ssl.SSLCertVerificationError)
        if step in (Step.TLS, Step.VERSIONS) and not distrusted:
            found = await self._explain_handshake(link, fault)
        elif step is Step.LOGIN:
            found = _explain_login(link.address, fault, self.settings.credentials)
        elif step is Step.REQUEST and isinstance(fault, RefusedError) and self.settings.sasl_mechanism is None:
            found = await self._login_wanted(link)
        text, _, fix = str(fault).partition("; ")
        silent = step is Step.RESOLVE or isinstance(fault, ConnectTimeoutError | AnswerTimeoutError)
        return found or Finding(STEPS[step], text, fix or LOG, silent)

    async def _explain_handshake(self, link: BrokerLink, fault: SourceError) -> Finding | None:
        """Name what keeps a connection from speaking Kafka."""
        where, tls, sasl = link.address, self.settings.tls is not None, self.settings.sasl_mechanism is not None
        if not tls and await _speaks_tls(link.host, link.port, self.within):
            fix = f"set security.protocol to {'SASL_SSL' if sasl else 'SSL or SASL_SSL'}, and ssl.ca.location"
            return Finding("KW-TLS", f"{where} speaks TLS, and security.protocol does not", fix)
        if tls and await self.link_without_login(link.host, link.port, tls=None).answers(self.until()):
            protocol = "SASL_PLAINTEXT" if sasl else "PLAINTEXT"
            fix = f"use the port of a TLS listener, or set security.protocol to {protocol}"
            return Finding("KW-TLS", f"{where} speaks Kafka without TLS, and security.protocol asks for TLS", fix)
        if isinstance(fault, TlsError) or (tls and isinstance(fault, RefusedError) and link.step is Step.VERSIONS):
            wants = "does it want a client certificate? check ssl.certificate.location, and ssl.client.auth there"
            return Finding("KW-TLS", str(fault).partition("; ")[0], wants)
        if isinstance(fault, AnswerTimeoutError):
            text = f"{where} accepts connections and does not answer within {self.within:g} s"
            fix = "look whether that broker hangs (kill -QUIT prints its threads), or a proxy or firewall drops packets"
            return Finding(STEPS[link.step], text, fix, silent=True)
        fix = "use the port of a broker's listener for clients"
        return Finding(STEPS[link.step], f"{where} does not speak the Kafka protocol ({fault})", fix)

    async def _login_wanted(self, link: BrokerLink) -> Finding | None:
        """Name the SASL mechanisms of a listener; `None` where it wants no login."""
        asking = self.link_without_login(link.host, link.port)
        try:
            reply = await asking.ask(SaslHandshakeRequest(mechanism=NO_MECHANISM), self.until())
        except SourceError:
            return None
        finally:
            asking.close()
        protocol = "SASL_PLAINTEXT" if self.settings.tls is None else "SASL_SSL"
        fix = f"set security.protocol to {protocol}, with sasl.mechanism, sasl.username and sasl.password.file"
        text = f"{link.address} wants a login; it offers {', '.join(map(str, reply.mechanisms))}"
        return Finding("KW-LOGIN", text, fix) if reply.mechanisms else None


async def _speaks_tls(host: str, port: int, within: float) -> bool:
    """Return whether a port answers a TLS handshake. Nothing is verified and nothing is sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(within):
            _, writer = await asyncio.open_connection(host, port, ssl=context)
    except ssl.SSLError as failure:
        return "ALERT" in (failure.reason or "")  # an answer, of a port that wants a certificate for example
    except (OSError, TimeoutError):
        return False
    writer.transport.abort()
    return True


def explain_token(fault: SourceError, credentials: object) -> Finding:
    """Name what keeps a token, or a ticket, from being had: a refusal is a refused login."""
    if isinstance(credentials, Kerberos):
        options, where = f"{PRINCIPAL}, the keytab or {SERVICE}", "the KDC, the clocks, krb5.conf"
    elif _signed_by_aws(credentials):
        options = where = "the AWS role and its trust policy, the profile or the variables"
    else:
        options, where = "the id, the secret or the scope of the client", "the issuer"
    if isinstance(fault, AuthenticationError):
        return Finding("KW-LOGIN", str(fault), f"correct {options}")
    return Finding(
        "KW-TOKEN", str(fault), f"look at {where}, at the way to it, and at docs/reference/check.md#kw-token"
    )


def _signed_by_aws(credentials: object) -> bool:
    return isinstance(credentials, Tokens) and isinstance(credentials.source, MskSigner)


def _explain_login(where: str, fault: SourceError, credentials: object) -> Finding:
    if isinstance(fault, TokenError) or (isinstance(fault, AuthenticationError) and fault.reached is None):
        return explain_token(fault, credentials)
    if isinstance(fault, RefusedError) or str(fault).endswith("offers: nothing"):
        fix = "use the port of a SASL listener, or set security.protocol to PLAINTEXT or SSL"
        return Finding("KW-LOGIN", f"{where} has no login", fix)
    fixes = {
        "does not offer": "set sasl.mechanism to one of these",
        "refused the delegation token": "create another one (kafka-delegation-tokens.sh): this one expired, or its id"
        f" or HMAC is wrong; {LOG}",
        "refused the token": "allow kafka-cluster:Connect on this cluster in the policy of the AWS role; check the"
        f" region; {LOG}"
        if _signed_by_aws(credentials)
        else f"compare issuer, audience and lifetime of the token with what the brokers expect; {LOG}",
    }
    if isinstance(credentials, Kerberos):
        other = f"look at the keytab of that broker, and at the clocks of this machine, of it and of the KDC; {LOG}"
    else:
        other = "correct sasl.username and the password; a SCRAM user needs its credentials for this very mechanism"
    other = other if isinstance(fault, AuthenticationError) else LOG
    return Finding("KW-LOGIN", str(fault), next((fix for part, fix in fixes.items() if part in str(fault)), other))


Servers = Mapping[Address, Finding | None]
"""The bootstrap servers; `None` for one that answers."""


async def connect(diagnosis: Diagnosis) -> Servers:
    """Connect to all servers, without a login: with a wrong password each would count a failure."""

    async def check(server: Address) -> Finding | None:
        link = diagnosis.link_without_login(*server)
        found = await diagnosis.connect(link)
        link.close()
        return found

    servers = tuple(dict.fromkeys(diagnosis.settings.bootstrap))
    return dict(zip(servers, await asyncio.gather(*map(check, servers)), strict=True))


def report_servers(servers: Servers, report: Report, snapshot: Snapshot | None, *, tls: bool) -> None:
    """A server that fails beside one that answers is a warning, unless it is a broker that fails everywhere."""
    brokers = {(each.host, each.port): each for each in (snapshot.brokers.values() if snapshot is not None else ())}
    for server, found in servers.items():
        if found is not None:
            broker = brokers.get(server)
            fenced = broker is not None and broker.fenced
            note = report.warning if None in servers.values() and (broker is None or fenced) else report.error
            text = f"{found.text}; it is broker {broker.id}, which is fenced" if broker and fenced else found.text
            note(found.code, str(server), text, found.fix)
    order = list(STEPS.values())
    for step in (Step.RESOLVE, Step.CONNECT, *([Step.TLS] if tls else []), Step.VERSIONS):
        place = order.index(STEPS[step])
        if passed := sum(found is None or order.index(found.code) > place for found in servers.values()):
            report.ok(STEPS[step], "", f"{passed} of {len(servers)} bootstrap servers")


async def log_in(servers: Servers, diagnosis: Diagnosis, report: Report) -> Address | None:
    """Get the token or ticket, and log in at the first server that accepts it; return that server.

    A refused password is not tried elsewhere: some servers lock accounts.
    """
    working = [server for server, found in servers.items() if found is None]
    if not working or not await _token(diagnosis, report):
        return None
    if diagnosis.settings.sasl_mechanism is None:
        return working[0]
    for server in working:
        link = diagnosis.link(*server)
        found = await diagnosis.connect(link)
        link.close()
        if found is None:
            report.ok("KW-LOGIN", str(server), f"accepted with {diagnosis.settings.sasl_mechanism}")
            return server
        last = found.code == "KW-LOGIN" or server == working[-1]
        (report.error if last else report.warning)(found.code, str(server), found.text, found.fix)
        if last:
            break
    return None


async def _token(diagnosis: Diagnosis, report: Report) -> bool:
    """Get the token or the ticket for the login, where it needs one; return whether to go on."""
    credentials, until = diagnosis.settings.credentials, diagnosis.until()
    try:
        if isinstance(credentials, Kerberos):
            name, what = credentials.name, "ticket"
            subject, lifetime = await credentials.ticket(diagnosis.network, until)
        elif isinstance(credentials, Tokens):
            token = await credentials.token(diagnosis.network.clock.monotonic(), until)
            name, what, subject, lifetime = credentials.source.name, "token", token.subject, token.lifetime
        else:
            return True
    except SourceError as fault:
        found = explain_token(fault, credentials)
        report.error(found.code, "", found.text, found.fix)
        return False
    lives = f"lives {lifetime:.0f} s" if math.isfinite(lifetime) else "does not say how long it lives"
    report.ok("KW-TOKEN", name, f"the {what}{f' of {subject}' if subject else ''} {lives}")
    return True


def uses_librdkafka(config: Config) -> bool:
    """Return whether librdkafka can be asked to log in with the same properties, or has to."""
    if refusal(config.kafka.settings) is not None:
        return False
    return config.kafka.settings.sasl_mechanism is not None or config.history.kafka.topic is not None


def check_librdkafka(config: Config, report: Report) -> None:
    """Connect with librdkafka, which sends the history: a second opinion on the same properties."""
    from confluent_kafka import KafkaException  # noqa: PLC0415  # 14 MB of memory, for this check only
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415  # the same

    code, errors = "KW-LOGIN-LIBRDKAFKA", list[str]()
    settings: dict[str, Any] = dict(librdkafka(config.kafka.settings))
    settings["error_cb"] = lambda error: errors.append(str(error))
    silent = logging.getLogger(f"{__name__}.librdkafka")
    silent.addHandler(logging.NullHandler())
    silent.propagate = False
    try:
        AdminClient(settings, logger=silent).list_topics(timeout=config.poll.deadline)
    except KafkaException as failure:
        needed = config.history.kafka.topic is not None
        fix = "history.kafka.topic needs it" if needed else "only history in a topic needs librdkafka"
        (report.error if needed else report.warning)(code, "", errors[0] if errors else str(failure), fix)
    else:
        report.ok(code, "", "connects, too")
