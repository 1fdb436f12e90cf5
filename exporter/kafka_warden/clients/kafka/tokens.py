"""Tokens for the login with OAUTHBEARER: shared by all connections and by history, and renewed before they end."""

import asyncio
import base64
import json
import math
import re
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from kafka_warden.errors import AuthenticationError, ConfigError, SourceError, TokenError
from kafka_warden.settings.secrets import FileWatch, Secret, SecretFile, scrub

RENEW_AT: Final = 0.8
"""Part of a token's life after which the next one is wanted, as Java's clients do it."""
REFUSED_PAUSE: Final = 60.0
"""Seconds before an issuer that refused is asked again, or a token that brokers refused is replaced."""
LONGEST_PAUSE: Final = 30.0
"""Seconds before an issuer that could not be reached is asked again; 1 at first, then 2, 4 ..."""
GIVE_UP: Final = 60.0
"""Seconds after which an answer of the issuer is not waited for any more; an AWS request tries this long."""

_LONGEST_SAID: Final = 300

_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""RFC 6750. Other characters would end the field of the SASL message that the token is in."""


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token. `lifetime`: seconds from now, infinite if unknown; `subject`: whose it is, if known."""

    value: Secret
    lifetime: float = math.inf
    subject: str = ""
    extensions: Mapping[str, str] = field(default_factory=dict)

    def message(self) -> bytes:
        """Return the client's message of OAUTHBEARER (RFC 7628, with the SASL extensions of KIP-342)."""
        fields = {"auth": f"Bearer {self.value.reveal()}", **self.extensions}
        return ("n,,\1" + "".join(f"{name}={value}\1" for name, value in fields.items()) + "\1").encode()


class TokenSource(Protocol):
    """Where tokens come from."""

    name: str
    """For messages: without secrets."""

    def get(self) -> Token:
        """Get a token. It may block.

        Raises:
            SourceError: `AuthenticationError` if the issuer refuses, `TokenError` otherwise.
            ConfigError: a file that it needs cannot be used.
        """

    def paths(self) -> tuple[Path, ...]:
        """Return the files whose change asks for another token."""


def said(text: object) -> str:
    """Return what an issuer said in one line, without secrets and not longer than messages may be."""
    return " ".join(scrub(str(text)).split())[:_LONGEST_SAID]


def refused(message: str) -> AuthenticationError:
    """Return the fault of an issuer that refuses to give a token: of the broker nothing is known."""
    fault = AuthenticationError(message)
    fault.reached = None
    return fault


class TokenFile:
    """A file with one token, which something else replaces: Kubernetes, an agent."""

    def __init__(self, file: SecretFile, extensions: Mapping[str, str]) -> None:
        self.name = str(file.path)
        self._file = file
        self._extensions = extensions

    def get(self) -> Token:
        """Read the file.

        Raises:
            TokenError: the token has expired.
            ConfigError: the file cannot be used.
        """
        token = read_token(self._file.read().reveal().strip(), None, self.name, self._extensions)
        if token.lifetime <= 0:
            raise TokenError(
                f"the token in {self.name} expired {-token.lifetime:.0f} s ago; look at what writes this file, and at"
                " the clock of this machine"
            )
        return token

    def paths(self) -> tuple[Path, ...]:
        """Return the file."""
        return self._file.paths()


def read_token(text: str, lifetime: float | None, source: str, extensions: Mapping[str, str]) -> Token:
    """Make a token of its text. Without a `lifetime`, `exp` of a JWT is used; nothing is verified.

    Raises:
        TokenError: it has characters that no bearer token has.
    """
    if not _TOKEN.fullmatch(text):
        raise TokenError(f"what {source} gives is no bearer token")
    claims = _claims(text)
    expiry, subject = claims.get("exp"), claims.get("sub")
    if lifetime is None:
        lifetime = expiry - time.time() if isinstance(expiry, int | float) else math.inf
    return Token(Secret(text), lifetime, subject if isinstance(subject, str) else "", extensions)


def _claims(text: str) -> Mapping[str, Any]:
    """Return the claims of a JWT, none of a token of another kind."""
    parts = text.split(".")
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (IndexError, ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


@dataclass(slots=True)
class _Held:
    """A token in use, with monotonic times."""

    token: Token
    since: float
    until: float
    renew_at: float
    good: bool = True
    """Neither refused by a broker nor replaced in its file, as far as is known."""


class Tokens:
    """One token for all connections. Every `now` is monotonic seconds of the caller's clock.

    One thread at a time gets the next one, so that nothing else waits while the present one is good. A failure is
    remembered for a while, so that many brokers do not ask an issuer many times.
    """

    def __init__(self, source: TokenSource) -> None:
        self.source = source
        self._lock = threading.Lock()
        self._watch = FileWatch(source.paths())
        self._held: _Held | None = None
        self._flight: Future[Token | SourceError] | None = None
        self._flown_since = -math.inf
        self._fault: SourceError | None = None
        self._failures = 0
        self._not_before = -math.inf
        self._news = False

    @property
    def subject(self) -> str:
        """Whose the present token is; empty while that is not known."""
        return self._held.token.subject if self._held is not None else ""

    def changed(self, now: float) -> bool:
        """Return whether there is another token, or a file for it changed, since the last call; renew what is due."""
        with self._lock:
            self._renew(now)
            news, self._news = self._news, False
            return news

    def refuse(self, token: Token) -> None:
        """Note that a broker refused this token: the next one may do, but not at once."""
        with self._lock:
            if self._held is not None and self._held.token is token:
                self._held.good = self._news = False
                self._held.renew_at = min(self._held.renew_at, self._held.since + REFUSED_PAUSE)

    async def token(self, now: float, timeout_at: float) -> Token:
        """Return a token that is good now, without waiting where there is one. `timeout_at` is a time of the loop.

        Raises:
            SourceError: there is none, by the cause.
        """
        try:
            async with asyncio.timeout_at(timeout_at):
                return _result(await asyncio.wrap_future(self._next(now)))
        except TimeoutError:
            raise self._late() from None

    def wait(self, now: float, seconds: float) -> Token:
        """Return the same to a thread that may wait for so many seconds.

        Raises:
            SourceError: as above.
        """
        try:
            return _result(self._next(now).result(seconds))
        except TimeoutError:
            raise self._late() from None

    def left(self, token: Token, now: float) -> float:
        """Return how many seconds a token that was just returned lives from now on."""
        held = self._held
        return held.until - now if held is not None and held.token is token else token.lifetime

    def _late(self) -> TokenError:
        return TokenError(f"no token from {self.source.name} in time; is it reachable, and fast enough?")

    def _next(self, now: float) -> Future[Token | SourceError]:
        with self._lock:
            self._renew(now)
            held = self._held
            flight = self._flight
            if held is not None and now < held.until and (held.good or flight is None):
                return _done(held.token)
            return flight or _done(self._fault or self._late())

    def _renew(self, now: float) -> None:
        """Start to get the next token if there is a reason to."""
        if self._watch.changed():
            self._news, self._not_before, self._failures, self._fault = True, -math.inf, 0, None
            if self._held is not None:
                self._held.good, self._held.renew_at = False, -math.inf
        due = self._held is None or now >= min(self._held.renew_at, self._held.until)
        if self._flight is not None and now < self._flown_since + GIVE_UP:
            return
        self._flight = None
        if due and now >= self._not_before:
            flight = Future[Token | SourceError]()
            flight.set_running_or_notify_cancel()  # a caller that gives up must not cancel it for the others
            try:
                threading.Thread(target=self._get, args=(flight, now), name="token", daemon=True).start()
            except RuntimeError:
                self._take(TokenError(f"no token from {self.source.name}: no thread could start to get it"), now)
                return
            self._flight, self._flown_since = flight, now

    def _get(self, flight: Future[Token | SourceError], now: float) -> None:
        try:
            got: Token | SourceError = self.source.get()
        except SourceError as fault:
            got = fault
        except ConfigError as fault:
            got = TokenError(str(fault))
        except Exception as failure:  # noqa: BLE001  # whatever a library raises: others wait for the result
            got = TokenError(f"no token from {self.source.name}: {type(failure).__name__}")
        with self._lock:
            if flight is self._flight:
                self._flight = None
                got = self._take(got, now)
        flight.set_result(got)

    def _take(self, got: Token | SourceError, now: float) -> Token | SourceError:
        """Keep a token, or a failure; return what those who wait get."""
        if isinstance(got, Token):
            self._held = _Held(got, now, now + got.lifetime, now + RENEW_AT * got.lifetime)
            self._news, self._failures, self._fault = True, 0, None
            self._not_before = -math.inf
            return got
        refused = isinstance(got, AuthenticationError)
        self._not_before = now + (REFUSED_PAUSE if refused else min(2.0**self._failures, LONGEST_PAUSE))
        self._failures += 1
        self._fault = got
        held = self._held
        return held.token if held is not None and now < held.until else got


def _done(result: Token | SourceError) -> Future[Token | SourceError]:
    done = Future[Token | SourceError]()
    done.set_result(result)
    return done


def _result(result: Token | SourceError) -> Token:
    if isinstance(result, Token):
        return result
    # A copy: the same exception raised by several tasks would collect the frames of all of them.
    fault = type(result)(str(result))
    fault.reached = result.reached
    raise fault
