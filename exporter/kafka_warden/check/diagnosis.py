"""Names what is wrong with a connection: one code, one sentence, one thing to do.

Where a failure may mean two things, a second connection without a login decides.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from kafka_warden.clients.kafka.kerberos import PRINCIPAL, SERVICE, Kerberos
from kafka_warden.clients.kafka.link import Ask, BrokerLink, Step
from kafka_warden.clients.kafka.msk import MskSigner
from kafka_warden.clients.kafka.network import Network
from kafka_warden.clients.kafka.properties import KafkaClientSettings
from kafka_warden.clients.kafka.requests import SaslHandshakeRequest
from kafka_warden.clients.kafka.tokens import Tokens
from kafka_warden.errors import (
    AnswerTimeoutError,
    AuthenticationError,
    ConnectTimeoutError,
    OtherClusterError,
    ProtocolError,
    RefusedError,
    SourceError,
    TlsError,
    TokenError,
    TooLargeError,
)

CODES: Final = {
    Step.RESOLVE: "KW-DNS",
    Step.CONNECT: "KW-TCP",
    Step.TLS: "KW-TLS",
    Step.VERSIONS: "KW-API",
    Step.LOGIN: "KW-LOGIN",
    Step.REQUEST: "KW-CLUSTER",
}

EXPIRED, NOT_YET_VALID, REVOKED = 10, 9, 23
OTHER_HOST: Final = (62, 64)
"""Codes of OpenSSL's verification (X509_V_ERR_...)."""

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
class Connector:
    """Makes links. `within`: seconds for each connection and each question."""

    network: Network
    settings: KafkaClientSettings
    within: float

    def link(
        self, host: str, port: int, *, login: bool = True, verify: Callable[[Ask], Awaitable[None]] | None = None
    ) -> BrokerLink:
        """Make a link, without a login if that is wanted. `verify`: as in `BrokerLink`."""
        settings = self.settings if login else replace(self.settings, sasl_mechanism=None, credentials=None)
        return BrokerLink(self.network, settings, host, port, verify=verify)

    def until(self) -> float:
        """Return the monotonic time at which a question that begins now is given up."""
        return self.network.clock.monotonic() + self.within

    async def try_connection(self, link: BrokerLink) -> Finding | None:
        """Connect, and log in where the link does; return what is wrong."""
        try:
            await link.supports(SaslHandshakeRequest, 0, self.until())
        except SourceError as fault:
            return await self.diagnose(link, fault)
        return None

    async def diagnose(self, link: BrokerLink, fault: SourceError) -> Finding:
        """Find out what a failure of a link means. Its step is the one that failed."""
        step, where = link.step, link.address
        if isinstance(fault, TlsError) and isinstance(fault.__cause__, ssl.SSLCertVerificationError):
            return _distrusted(where, fault.__cause__)
        if step in (Step.RESOLVE, Step.CONNECT):
            return _unreachable(link, fault)
        if step in (Step.TLS, Step.VERSIONS):
            return await self._unusable(link, fault)
        if step is Step.LOGIN:
            return _refused_login(where, fault, self.settings.credentials)
        if (
            isinstance(fault, RefusedError)
            and self.settings.sasl_mechanism is None
            and (offered := await self._mechanisms(link))
        ):
            return _login_wanted(where, offered, tls=self.settings.tls is not None)
        text, fix = str(fault), LOG
        if isinstance(fault, OtherClusterError):
            text, _, fix = text.partition("; ")
        return Finding(CODES[step], text, fix)

    async def _unusable(self, link: BrokerLink, fault: SourceError) -> Finding:
        """Name what keeps a connection from speaking Kafka."""
        where, tls = link.address, self.settings.tls is not None
        if disagreement := await self._tls_on_one_side(link):
            return disagreement
        if isinstance(fault, TlsError) or (tls and isinstance(fault, RefusedError) and link.step is Step.VERSIONS):
            fix = "check ssl.certificate.location, ssl.key.location, and ssl.client.auth of the listener"
            wants = "" if isinstance(fault, TlsError) else "; does it want a client certificate?"
            return Finding("KW-TLS", f"{fault}{wants}", fix)
        if isinstance(fault, AnswerTimeoutError):
            return Finding(
                "KW-API",
                f"{where} accepts connections and does not answer within {self.within:g} s",
                "look whether that broker hangs (kill -QUIT prints its threads), or a proxy or firewall drops packets",
                silent=True,
            )
        if isinstance(fault, (ProtocolError, TooLargeError, RefusedError)):
            fix = "use the port of a broker's listener for clients"
            return Finding("KW-API", f"{where} does not speak the Kafka protocol ({fault})", fix)
        return Finding("KW-API", str(fault), LOG)

    async def _tls_on_one_side(self, link: BrokerLink) -> Finding | None:
        where, sasl = link.address, self.settings.sasl_mechanism is not None
        if self.settings.tls is None:
            if not await speaks_tls(link.host, link.port, self.within):
                return None
            fix = f"set security.protocol to {'SASL_SSL' if sasl else 'SSL or SASL_SSL'}, and ssl.ca.location"
            return Finding("KW-TLS", f"{where} speaks TLS, and security.protocol does not", fix)
        plain = replace(self.settings, tls=None, sasl_mechanism=None, credentials=None)
        if not await BrokerLink(self.network, plain, link.host, link.port).answers(self.until()):
            return None
        protocol = "SASL_PLAINTEXT" if sasl else "PLAINTEXT"
        fix = f"use the port of a TLS listener, or set security.protocol to {protocol}"
        return Finding("KW-TLS", f"{where} speaks Kafka without TLS, and security.protocol asks for TLS", fix)

    async def _mechanisms(self, link: BrokerLink) -> Sequence[str]:
        """Return the SASL mechanisms of a listener, none where it wants no login."""
        asking = self.link(link.host, link.port, login=False)
        try:
            reply: Any = await asking.ask(SaslHandshakeRequest(mechanism=NO_MECHANISM), self.until())
        except SourceError:
            return ()
        finally:
            asking.close()
        return [str(each) for each in reply.mechanisms]


async def speaks_tls(host: str, port: int, within: float) -> bool:
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


def _distrusted(where: str, failure: ssl.SSLCertVerificationError) -> Finding:
    code, why = failure.verify_code, failure.verify_message
    if code == EXPIRED:
        text, fix = "has expired", "renew the certificate in the broker's key store; check the clock of this machine"
    elif code == NOT_YET_VALID:
        text, fix = "is not valid yet", "check the clock of this machine, and that of the one that issued it"
    elif code == REVOKED:
        text, fix = "is revoked", "renew the certificate in the broker's key store"
    elif code in OTHER_HOST:
        text = "is for another host"
        fix = "use a name that the certificate has, or issue one with this name (subjectAltName)"
    else:
        text, fix = "is not trusted", "set ssl.ca.location to the authority that issued the brokers' certificates"
    return Finding("KW-TLS", f"the certificate of {where} {text} ({why})", fix)


def _unreachable(link: BrokerLink, fault: SourceError) -> Finding:
    if link.step is Step.RESOLVE:
        fix = "correct the host name, or its entry in the DNS"
        return Finding("KW-DNS", f"{link.host} does not resolve", fix, silent=True)
    if isinstance(fault, ConnectTimeoutError):
        text = f"{link.address} does not accept a connection in time"
        return Finding("KW-TCP", text, "look for a firewall on the way", silent=True)
    return Finding("KW-TCP", str(fault), "correct the port, or start the broker")


def token_finding(fault: SourceError, credentials: object) -> Finding:
    """Name what keeps a token, or a ticket, from being had: a refusal is a refused login."""
    if isinstance(credentials, Kerberos):
        options, where = f"{PRINCIPAL}, the keytab or {SERVICE}", "the KDC, the clocks, krb5.conf"
    elif _signed_by_aws(credentials):
        options = where = "the AWS role and its trust policy, the profile or the variables"
    else:
        options, where = "the id, the secret or the scope of the client", "the issuer"
    if isinstance(fault, AuthenticationError):
        return Finding("KW-LOGIN", str(fault), f"correct {options}")
    return Finding("KW-TOKEN", str(fault), f"look at {where}, at the way to it, and at docs/check.md#kw-token")


def _signed_by_aws(credentials: object) -> bool:
    return isinstance(credentials, Tokens) and isinstance(credentials.source, MskSigner)


def _refused_login(where: str, fault: SourceError, credentials: object) -> Finding:
    fix = LOG
    if isinstance(fault, TokenError) or (isinstance(fault, AuthenticationError) and fault.reached is None):
        return token_finding(fault, credentials)
    if isinstance(fault, AuthenticationError):
        if "does not offer" in str(fault):
            fix = "set sasl.mechanism to one of these"
            if str(fault).endswith("offers: nothing"):
                return _no_login(where)
        elif _signed_by_aws(credentials):
            fix = f"allow kafka-cluster:Connect on this cluster in the policy of the AWS role; check the region; {LOG}"
        elif "refused the delegation token" in str(fault):
            fix = f"create another one (kafka-delegation-tokens): this one expired, or its id or HMAC is wrong; {LOG}"
        elif "refused the token" in str(fault):
            fix = f"compare issuer, audience and lifetime of the token with what the brokers expect; {LOG}"
        elif isinstance(credentials, Kerberos):
            fix = f"look at the keytab of that broker, and at the clocks of this machine, of it and of the KDC; {LOG}"
        else:
            fix = "correct sasl.username and the password; a SCRAM user needs its credentials for this very mechanism"
    elif isinstance(fault, RefusedError):
        return _no_login(where)
    return Finding("KW-LOGIN", str(fault), fix)


def _no_login(where: str) -> Finding:
    return Finding(
        "KW-LOGIN",
        f"{where} has no login",
        "use the port of a SASL listener, or set security.protocol to PLAINTEXT or SSL",
    )


def _login_wanted(where: str, offered: Sequence[str], *, tls: bool) -> Finding:
    return Finding(
        "KW-LOGIN",
        f"{where} wants a login; it offers {', '.join(offered)}",
        f"set security.protocol to {'SASL_SSL' if tls else 'SASL_PLAINTEXT'}, with sasl.mechanism, sasl.username and"
        " sasl.password.file",
    )
