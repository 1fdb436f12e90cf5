"""Asks an exporter for `/api/v1`, and reads the answers into the rows that they were made from, all of one poll."""

import asyncio
import http
import http.client
import ssl
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from kafka_warden.clients.http import TimeLimit, connection, explained, parts
from kafka_warden.clients.kafka.tls import TlsFiles
from kafka_warden.clock import monotonic
from kafka_warden.config.layers import TOP_PASSWORD
from kafka_warden.config.options import flag_name, read_values
from kafka_warden.config.types import BOOTSTRAP
from kafka_warden.daemon_threads import DaemonThreads
from kafka_warden.errors import ConfigError, NoAnswerError
from kafka_warden.formatting import in_bytes, visible
from kafka_warden.settings.secrets import Secret, SecretFile, SecretSource, basic_authorization
from kafka_warden.settings.strict import parse_json
from kafka_warden.views.plain import read_value, refuse, row_of
from kafka_warden.views.recent import History
from kafka_warden.views.rows import Cluster, ExporterRow, Table
from kafka_warden.views.specs import BY_NAME
from kafka_warden.views.table_spec import TableSpec
from kafka_warden.web.api import MOST_ROWS

HERE: Final = "http://127.0.0.1:10073"
FILES: Final = ("ca", "cert", "key")
REMOTE: Final = ("url", "user", "password_file", *FILES)
LARGEST: Final = 32 << 20
"""Bytes of one answer. A table of 1,000 rows has at most some MB."""
TRIES: Final = 5
PAUSE: Final = 0.4
"""Seconds between two tries, when a new poll came between the answers."""
PROBLEMS: Final = "problems"

_REFUSED: Final = {
    401: "the user name or the password is missing or wrong (--user, --password-file)",
    404: "there is no such path: is this the address of an exporter of this version?",
    429: "too many requests for rate_limit of its web configuration file (--every)",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of `/api/v1`. `clock` is the Unix time on the machine that answered."""

    status: int
    body: bytes
    clock: float


Get = Callable[[str], Coroutine[Any, Any, Answer]]
"""Asks for a path below `/api/v1/`, with its query. Raises NoAnswerError."""


@dataclass(frozen=True, slots=True)
class ApiClient:
    """The exporter at one address. Redirects are not followed and no proxy is used: the password goes to this host."""

    url: SplitResult
    tls: ssl.SSLContext | None = None
    login: tuple[str, SecretSource] | None = None
    seconds: float = 10.0
    """Longest time for one answer."""
    _threads: DaemonThreads = field(default_factory=lambda: DaemonThreads(1, "top"))

    async def get(self, path: str) -> Answer:
        """Ask for a path.

        Raises:
            NoAnswerError: there is no answer in time, or none of a web server; the message says why.
            SecretError: the file with the password cannot be used.
        """
        try:
            async with asyncio.timeout(self.seconds):  # also for the lookup of the name
                return await self._threads.run(lambda: self._ask(path))
        except (OSError, http.client.HTTPException) as failure:
            hint = ". Is the address http://, or --cert missing?" if self.tls else ". Is the address https://?"
            raise NoAnswerError(explained(failure, f"no answer within {self.seconds:g} s", hint)) from None

    def _ask(self, path: str) -> Answer:
        headers = {"Accept": "application/json", "Connection": "close", "User-Agent": "kafka-warden-top"}
        if self.login is not None:
            # Read each time, since the file may have been replaced.
            headers["Authorization"] = basic_authorization(self.login[0], self.login[1].read()).reveal()
        limit, (host, port) = TimeLimit(self.seconds), (self.url.hostname or "", self.url.port)
        with limit, closing(connection(limit, host, port, timeout=self.seconds, context=self.tls)) as asked:
            asked.request("GET", f"{self.url.path.rstrip('/')}/api/v1/{path}", headers=headers)
            response = asked.getresponse()
            large = f"its answer has more than {in_bytes(LARGEST)}: this is no exporter"
            body = b"".join(parts(response, LARGEST, NoAnswerError(large)))
        clock = time.time()
        with suppress(ValueError):  # its clock and ours may differ, and the age of data must not
            clock = parsedate_to_datetime(response.headers.get("Date", "")).timestamp()
        return Answer(response.status, body, clock)


def read_client(
    flags: Mapping[str, Any], options: Mapping[str, str], environment: Mapping[str, str]
) -> ApiClient | None:
    """Return the exporter to ask; `None` is to poll without one.

    Raises:
        ConfigError: a bad value, or flags that exclude each other.
    """
    own, given = (f"{BOOTSTRAP.name} or --config", [flag_name(name) for name in REMOTE if flags[name] is not None])
    if flags["config"] is not None or BOOTSTRAP.name in options:
        if given:
            raise ConfigError(f"{given[0]}: not with {own}, which poll without an exporter")
        return None
    if options:
        raise ConfigError(f"{next(iter(options))}: only with {own}, as an exporter has its own")
    url, login = read_values(flags, {"url": _url})["url"] or urlsplit(HERE), _login(flags, environment)
    files = {name: Path(flags[name]) for name in FILES if flags[name] is not None}
    if url.scheme == "http" and files:
        raise ConfigError(f"--{next(iter(files))}: only with an address that begins with https://")
    if "key" in files and "cert" not in files:
        raise ConfigError("--key: needs --cert")
    tls = TlsFiles(ca=files.get("ca"), certificate=files.get("cert"), key=files.get("key"))
    return ApiClient(url, None if url.scheme == "http" else tls.context(), login)


def _url(text: str) -> SplitResult:
    try:
        url = urlsplit(text)
        fits = url.scheme in {"http", "https"} and url.hostname and url.port != 0 and not url.query and not url.fragment
    except ValueError:
        fits = False
    if "@" in text:
        raise ValueError(
            "no user and password in an address, since ps shows it to all users of this machine; set --user"
        )
    if not fits or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError(f"expected an address such as {HERE} or https://HOST:PORT/PREFIX")
    return url


def _login(flags: Mapping[str, Any], environment: Mapping[str, str]) -> tuple[str, SecretSource] | None:
    user, file, variable = flags["user"], flags["password_file"], environment.get(TOP_PASSWORD)
    if user is None:
        if file is not None:
            raise ConfigError("--password-file: needs --user")
        return None
    if file is None and not variable:
        raise ConfigError(f"--user: needs --password-file, or the environment variable {TOP_PASSWORD}")
    password: SecretSource = SecretFile(Path(file)) if file is not None else Secret(variable or "")
    password.read()
    return user, password


@dataclass(frozen=True, slots=True)
class Reading:
    """What is shown: everything in it is of one poll."""

    time: float | None
    """Unix time of the poll."""
    fresh: bool
    polled_at: float
    """The same moment on the monotonic clock of this process."""
    exporter: ExporterRow
    cluster: Cluster | None
    history: History | None
    """The last hour, if it was asked for."""
    tables: Mapping[str, Table[Any]]
    """The problems always, and the tables that were asked for."""

    def knows(self, spec: TableSpec) -> bool:
        """Return whether the exporter has the table now."""
        return self.fresh or spec.of_sidecar


class _OtherPollError(Exception):
    """This answer is not of the poll that the first one was of."""


async def read(get: Get, wanted: Mapping[str, int], sides: int | None = None) -> Reading:
    """Read cluster, exporter, all problems and some tables of one poll.

    Args:
        get: asks for a path.
        wanted: the tables, with the most rows of each.
        sides: brokers and sides of the last hour; 0 for the totals only, `None` for nothing.

    Raises:
        NoAnswerError: there is no answer, or it is not that of an exporter.
    """
    for _ in range(TRIES):
        with suppress(_OtherPollError):
            return await _read(get, {**wanted, PROBLEMS: MOST_ROWS}, sides)
        await asyncio.sleep(PAUSE)
    raise NoAnswerError("a new poll ended during each of several readings; read again later")


async def _read(get: Get, wanted: Mapping[str, int], sides: int | None) -> Reading:
    """Read once; all answers are of the poll of the first one."""
    polled_at, time, fresh, document = await _document(get, "exporter")
    exporter = row_of(ExporterRow, document.get("data"))

    async def ask(path: str) -> Mapping[str, Any]:
        _, *poll, document = await _document(get, path, was_fresh=fresh)
        if poll != [time, fresh]:
            raise _OtherPollError
        return document

    async def table(spec: TableSpec, most: int) -> Table[Any]:
        rows: tuple[Any, ...] = ()
        while True:
            document = await ask(f"{spec.name}?limit={min(most - len(rows), MOST_ROWS)}&offset={len(rows)}")
            part = read_value(spec.name, tuple[spec.row, ...], document.get("data"))  # type: ignore[name-defined]
            total = read_value("total", int, document.get("total") or 0)
            rows += part
            if not part or len(rows) >= min(total, most):
                return Table(rows, total if rows else 0)

    cluster = row_of(Cluster, (await ask("cluster")).get("data")) if fresh else None
    history = None if sides is None else row_of(History, (await ask(f"history?sides={sides}")).get("data"))
    shown = (name for name in wanted if fresh or BY_NAME[name].of_sidecar)
    tables = {name: await table(BY_NAME[name], wanted[name]) for name in shown}
    return Reading(time, fresh, polled_at, exporter, cluster, history, dict.fromkeys(wanted, Table()) | tables)


async def _document(
    get: Get, path: str, *, was_fresh: bool = False
) -> tuple[float, float | None, bool, Mapping[str, Any]]:
    """Return when its poll was on the monotonic clock, the time of the poll, whether it is fresh, and the answer."""
    answer = await get(path)
    if answer.status == http.HTTPStatus.SERVICE_UNAVAILABLE and was_fresh:
        raise _OtherPollError  # the data became too old meanwhile
    if answer.status != http.HTTPStatus.OK:
        raise NoAnswerError(f"{answer.status}: {_REFUSED.get(answer.status) or _first_line(answer)}")
    try:
        document = parse_json(answer.body)
    except ValueError:
        raise NoAnswerError("its answer is not JSON: is this the address of an exporter?") from None
    if not isinstance(document, dict):
        refuse("the whole")
    time, fresh = read_value("time", float | None, document.get("time")), document.get("fresh")
    if not isinstance(fresh, bool):
        refuse("time")
    return monotonic() - max(answer.clock - (time or 0.0), 0.0), time, fresh, document


def _first_line(answer: Answer) -> str:
    """Return what an exporter says is wrong, or the first line of what something else answers."""
    with suppress(ValueError, TypeError, KeyError):
        return visible(str(parse_json(answer.body)["error"])[:300])
    text = answer.body[:300].decode(errors="replace").strip().partition("\n")[0]
    return visible(text) or "an empty answer"
