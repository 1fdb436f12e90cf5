"""GSSAPI: the login with Kerberos tickets (RFC 4752), by MIT's library and the package gssapi.

The library asks the KDC, which may take long: all its calls run on threads. Tickets are kept in memory, shared by all
connections, and renewed by the library after half of their life.
"""

import asyncio
import math
import threading
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeVar

from kafka_warden.clients.kafka.jaas import parse_jaas, read_jaas
from kafka_warden.clients.kafka.network import Network
from kafka_warden.clients.kafka.tokens import REFUSED_PAUSE, refused, said
from kafka_warden.errors import AuthenticationError, ConfigError, SecretError, SourceError, TokenError
from kafka_warden.settings.secrets import FileWatch, SecretSource, refuse_shared
from kafka_warden.settings.strict import read_file, reason

T = TypeVar("T")

MECHANISM: Final = "GSSAPI"
KEYTAB: Final = "sasl.kerberos.keytab"
PRINCIPAL: Final = "sasl.kerberos.principal"
SERVICE: Final = "sasl.kerberos.service.name"

_MODULE: Final = "Krb5LoginModule"
_OPTIONS: Final = ("keyTab", "principal", "serviceName", "ticketCache")
_SWITCHES: Final = frozenset(
    {"debug", "doNotPrompt", "isInitiator", "refreshKrb5Config", "renewTGT", "storeKey", "useKeyTab", "useTicketCache"}
)
"""Options of Java's module whose effect the library has anyway, or that a client does not need."""
_KEYTAB_MARK: Final = b"\5"

_TABLE: Final = -1765328384
"""First error code of Kerberos; that of the protocol (RFC 4120, section 7.5.9) is added. As signed 32 bits."""
_REFUSALS: Final = frozenset(_TABLE + code for code in (1, 2, 3, 6, 7, 9, 12, 14, 18, 20, 21, 22, 23, 24))
"""Principal, key, password or service that the KDC does not know, or does not accept now."""
_NO_SERVICE: Final = _TABLE + 7
"""The one refusal that is not about the principal."""
_SKEW: Final = _TABLE + 37
_NO_KEY: Final = frozenset({-1765328203, -1765328189})
"""KRB5_KT_NOTFOUND, and KRB5_FCC_NOFILE: of no file is there a ticket, since the key for it is missing."""

_NO_LAYER: Final = 1
"""The security layer that Kafka has: none (RFC 4752, section 3.3)."""
_LAYERS: Final = 4
"""Bytes: a mask of layers, and the size of a buffer."""
_numbers: Final = count()


class Kerberos:
    """Makes logins of one principal. Without a keytab the library's own ticket cache is used (KRB5CCNAME)."""

    def __init__(self, service: str, principal: str, keytab: Path | None, cache: str) -> None:
        self.service = service
        self.name = f"Kerberos for {principal or (keytab or 'the ticket cache')}"
        self._principal = principal
        self._keytab = keytab
        self._cache = cache
        self._lock = threading.Lock()
        self._watch = FileWatch(self.paths())
        self._memory = next(_numbers)
        self._refusal = ""
        self._refused_until = self._now = -math.inf

    @property
    def subject(self) -> str:
        """The user that Kafka makes of the principal by its own rule; empty where it is not configured."""
        return self._principal.partition("@")[0].partition("/")[0]

    def paths(self) -> tuple[Path, ...]:
        """Return the file whose change makes another login."""
        return (self._keytab,) if self._keytab is not None else ()

    def check(self) -> None:
        """Read the keytab.

        Raises:
            ConfigError: it cannot be used.
        """
        if self._keytab is None:
            return
        try:
            keytab = read_file(self._keytab, accept=partial(refuse_shared, self._keytab))
        except (OSError, ValueError) as failure:
            raise SecretError(f"kafka.{KEYTAB}: cannot read {str(self._keytab)!r}: {reason(failure)}") from None
        if not keytab.startswith(_KEYTAB_MARK):
            raise SecretError(f"kafka.{KEYTAB}: {str(self._keytab)!r} is not a keytab")

    async def ticket(self, network: Network, timeout_at: float) -> tuple[str, float]:
        """Get the first ticket, as far as it is not there; return the principal and the seconds that it lives.

        Raises:
            SourceError: there is none, by the cause.
        """
        return await self._run(network, lambda found: (str(found.name), float(found.lifetime)), timeout_at)

    async def login(self, network: Network, host: str, timeout_at: float) -> "KerberosLogin":
        """Begin a login at a broker, with all that the KDC must be asked for. `timeout_at` is a time of the loop.

        Raises:
            SourceError: there is no ticket, by the cause.
        """
        return await self._run(network, partial(self._begin, host), timeout_at)

    async def _run(self, network: Network, use: Callable[[Any], T], timeout_at: float) -> T:
        """Use the tickets, on a thread."""
        self._now = network.clock.monotonic()
        try:
            async with asyncio.timeout_at(timeout_at):
                return await network.kerberos.run(partial(self._use, use))
        except TimeoutError:
            raise TokenError("no ticket from the KDC in time; is it reachable, and fast enough?") from None

    def _use(self, use: Callable[[Any], T]) -> T:
        from gssapi.exceptions import GSSError  # noqa: PLC0415  # only this login needs it

        try:
            return use(self._credentials())
        except GSSError as failure:
            raise self._fault(failure) from None

    def _begin(self, host: str, credentials: Any) -> "KerberosLogin":
        import gssapi  # noqa: PLC0415  # only this login needs it

        context = gssapi.SecurityContext(
            name=gssapi.Name(f"{self.service}@{host}", gssapi.NameType.hostbased_service),
            creds=credentials,
            mech=gssapi.MechType.kerberos,
            flags=gssapi.RequirementFlag.mutual_authentication | gssapi.RequirementFlag.integrity,
            usage="initiate",
        )
        return KerberosLogin(context, str(credentials.name), context.step())

    def _credentials(self) -> Any:
        """Return the tickets of the principal. The library asks the KDC where they are missing or soon end."""
        import gssapi  # noqa: PLC0415  # only this login needs it

        try:
            self.check()
        except ConfigError as problem:
            raise TokenError(str(problem)) from None
        store = {"ccache": self._cache} if self._cache else {}
        if self._keytab is not None:
            with self._lock:
                if self._watch.changed():  # tickets of the old key would hide that the new one is wrong
                    self._memory, self._refused_until = next(_numbers), -math.inf
                store = {"client_keytab": str(self._keytab), "ccache": f"MEMORY:kafka-warden-{self._memory}"}
        if self._now < self._refused_until:
            # Each of many brokers would ask again: a KDC may lock an account after some wrong keys.
            raise refused(self._refusal)
        name = gssapi.Name(self._principal, gssapi.NameType.kerberos_principal) if self._principal else None
        return gssapi.Credentials(name=name, usage="initiate", mechs=[gssapi.MechType.kerberos], store=store or None)

    def _fault(self, failure: Any) -> SourceError:
        """Name what the library, or the KDC, says."""
        code = (int(failure.min_code) + (1 << 31)) % (1 << 32) - (1 << 31)
        text = _minor(failure)
        if code in _NO_KEY and self._keytab is not None:
            return refused(f"{self._keytab} has no key{f' of {self._principal}' if self._principal else ''}")
        if code in _NO_KEY:
            return TokenError(f"there is no Kerberos ticket ({text}); set kafka.{KEYTAB}, or KRB5CCNAME")
        if code in _REFUSALS:
            fault = refused(f"the KDC refuses {self._principal or 'the principal'} ({text})")
            if code != _NO_SERVICE:
                self._refusal, self._refused_until = str(fault), self._now + REFUSED_PAUSE
            return fault
        if code == _SKEW:
            return TokenError(f"the clocks of this machine and of the KDC differ too much ({text})")
        return TokenError(f"no Kerberos ticket ({text})")


class KerberosLogin:
    """One login at one broker. `first`: the message to begin with; `done`: the last answer was the last message."""

    def __init__(self, context: Any, principal: str, first: bytes) -> None:
        self.principal = principal
        self.first = first
        self.done = False
        self._context = context

    def answer(self, message: bytes) -> bytes:
        """Return the answer to a broker's message: of Kerberos, then of the choice of the security layer.

        Raises:
            AuthenticationError: the message is not valid, or asks for a layer that Kafka does not have.
        """
        from gssapi.exceptions import GSSError  # noqa: PLC0415  # only this login needs it

        try:
            if not self._context.complete:
                return self._context.step(message) or b""
            offered = self._context.unwrap(message).message
            if len(offered) != _LAYERS or not offered[0] & _NO_LAYER:
                raise AuthenticationError("the broker asks for a security layer of GSSAPI, which Kafka does not have")
            self.done = True
            chosen = bytes([_NO_LAYER]).ljust(_LAYERS, b"\0") + self.principal.encode()
            return bytes(self._context.wrap(chosen, encrypt=False).message)
        except GSSError as failure:
            raise AuthenticationError(f"the broker's Kerberos message is not valid ({_minor(failure)})") from None


def _minor(failure: Any) -> str:
    """Return what the mechanism says, without the general text of GSSAPI."""
    return said("; ".join(failure.get_all_statuses(failure.min_code, is_maj=False)))


def kerberos(properties: Mapping[str, str], secrets: Mapping[str, SecretSource]) -> Kerberos:
    """Choose principal and keytab, in librdkafka's spelling or Java's. The keytab is read once; no KDC is asked.

    Raises:
        ConfigError: the package is missing, or something cannot be used.
    """
    if find_spec("gssapi") is None:
        raise ConfigError(
            f"kafka.sasl.mechanism: {MECHANISM} needs gssapi, which is not installed:"
            " in a checkout pip install '.[kerberos]'"
        )
    jaas = read_jaas(secrets.get("sasl.jaas.config"), MECHANISM, _MODULE)
    jaas.only((*_OPTIONS, *_SWITCHES))
    keytab, principal, service, cache = map(jaas.text, _OPTIONS)
    keytab = properties.get(KEYTAB) or keytab.removeprefix("FILE:").removeprefix("file:")
    made = Kerberos(
        properties.get(SERVICE) or service or "kafka",
        properties.get(PRINCIPAL) or principal,
        Path(keytab) if keytab else None,
        cache,
    )
    made.check()
    return made


def is_meant(properties: Mapping[str, str], secrets: Mapping[str, SecretSource]) -> bool:
    """Return whether properties without a mechanism are for Kerberos, the default of other clients.

    Raises:
        SecretError: `sasl.jaas.config` cannot be read.
    """
    jaas = secrets.get("sasl.jaas.config")
    return SERVICE in properties or (jaas is not None and parse_jaas(jaas.read()).module == _MODULE)
