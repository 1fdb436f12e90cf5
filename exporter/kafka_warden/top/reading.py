"""Reads `/api/v1` into the rows that it was made from, all of one poll."""

import asyncio
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, is_dataclass, replace
from functools import partial
from typing import Any, Final, NoReturn, get_args, get_origin

from kafka_warden.clock import monotonic
from kafka_warden.errors import NoAnswerError
from kafka_warden.formatting import visible
from kafka_warden.settings.strict import parse_json
from kafka_warden.top.client import Answer, Get
from kafka_warden.views.fields import fields_of
from kafka_warden.views.recent import History
from kafka_warden.views.rows import Cluster, SidecarRow, Table
from kafka_warden.views.specs import BY_NAME
from kafka_warden.views.table_spec import TableSpec
from kafka_warden.web.api import INFINITE, MOST_ROWS

OK: Final = 200
BLIND: Final = 503
TRIES: Final = 5
PAUSE: Final = 0.4
"""Seconds between two tries, when a new poll came between the answers."""
PROBLEMS: Final = "problems"

_INFINITE: Final = {INFINITE: math.inf, f"-{INFINITE[1:]}": -math.inf}
_REFUSED: Final = {
    401: "the user name or the password is missing or wrong (--user, --password-file)",
    404: "there is no such path: is this the address of a sidecar of this version?",
    429: "too many requests for rate_limit of its web configuration file (--every)",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown: everything in it is of one poll."""

    time: float | None
    """Unix time of the poll."""
    fresh: bool
    sidecar: SidecarRow
    cluster: Cluster | None
    problems: Table[Any]
    history: History | None
    """The last hour, if it was asked for."""
    tables: Mapping[str, Table[Any]]
    clock: float
    """Unix time at the sidecar when it answered."""
    read_at: float
    """The same moment on the monotonic clock of this process."""

    def table(self, name: str) -> Table[Any] | None:
        """Return a table, if it was read; the problems always are."""
        return self.problems if name == PROBLEMS else self.tables.get(name)

    def age(self, now: float) -> float | None:
        """Return the seconds since the poll, at a monotonic time."""
        return None if self.time is None else max(self.clock - self.time + now - self.read_at, 0.0)


async def read(get: Get, wanted: Mapping[str, int], sides: int | None = None) -> Shown:
    """Read cluster, sidecar, all problems and some tables of one poll.

    Args:
        get: asks for a path.
        wanted: the tables, with the most rows of each.
        sides: brokers and sides of the last hour; 0 for the totals only, `None` for nothing.

    Raises:
        NoAnswerError: there is no answer, or it is not that of a sidecar.
    """
    for left in reversed(range(TRIES)):
        reader = _Reader(get)
        shown = await reader.read(wanted, sides)
        if len(reader.polls) == 1:
            return shown
        if left:
            await asyncio.sleep(PAUSE)
    raise NoAnswerError("a new poll ended during each of several readings; read again later")


class _Reader:
    """One reading. `polls` has the time of each answer: more than one is a mixture."""

    def __init__(self, get: Get) -> None:
        self._get = get
        self.polls: set[tuple[float | None, bool]] = set()
        self._clock = 0.0

    async def read(self, wanted: Mapping[str, int], sides: int | None) -> Shown:
        sidecar = row_of(SidecarRow, (await self._ask("sidecar")).get("data"))
        at, ((time, fresh),) = monotonic(), self.polls
        problems = await self._table(BY_NAME[PROBLEMS], MOST_ROWS, fresh)
        history = None if sides is None else row_of(History, (await self._ask(f"history?sides={sides}")).get("data"))
        shown = Shown(time, fresh, sidecar, None, problems, history, {}, self._clock, at)
        if fresh and (answer := await self._ask("cluster")):
            shown = replace(shown, cluster=row_of(Cluster, answer.get("data")))
        tables = {
            name: problems if name == PROBLEMS else await self._table(BY_NAME[name], most, fresh)
            for name, most in wanted.items()
        }
        return replace(shown, tables=tables)

    async def _table(self, spec: TableSpec, most: int, fresh: bool) -> Table[Any]:
        rows: list[Any] = []
        total = 1
        while len(rows) < min(total, most) and (fresh or spec.of_sidecar):
            limit = min(most - len(rows), MOST_ROWS)
            answer = await self._ask(f"{spec.name}?limit={limit}&offset={len(rows)}")
            if len(self.polls) > 1:
                break
            part, count = answer.get("data"), answer.get("total")
            if not isinstance(part, list) or not isinstance(count, int):
                _refuse(spec.name)
            total = count
            rows += [row_of(spec.row, each) for each in part]
            if not part:
                break
        return Table(tuple(rows), total if rows else 0)

    async def _ask(self, path: str) -> dict[str, Any]:
        """Return the object that is answered; empty when the data became too old meanwhile, which `polls` notes."""
        answer = await self._get(path)
        self._clock = answer.clock
        if answer.status == BLIND and any(fresh for _, fresh in self.polls):
            self.polls.add((None, False))
            return {}
        if answer.status != OK:
            raise NoAnswerError(f"{answer.status}: {_REFUSED.get(answer.status) or _first_line(answer)}")
        document = _parsed(answer.body)
        time, fresh = document.get("time"), document.get("fresh")
        if not isinstance(fresh, bool) or not isinstance(time, float | int | None):
            _refuse("time")
        self.polls.add((time, fresh))
        return document


def _first_line(answer: Answer) -> str:
    """Return what a sidecar says is wrong, or the first line of what something else answers."""
    with suppress(ValueError, TypeError, KeyError):
        return visible(str(parse_json(answer.body)["error"])[:300])
    text = answer.body[:300].decode(errors="replace").strip().partition("\n")[0]
    return visible(text) or "an empty answer"


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        document = parse_json(body)
    except ValueError:
        raise NoAnswerError("its answer is not JSON: is this the address of a sidecar?") from None
    if not isinstance(document, dict):
        _refuse("the whole")
    return document


def row_of(kind: type, values: Any) -> Any:
    """Make a row. A field that this version of the sidecar does not have is unknown."""
    if not isinstance(values, dict):
        _refuse(kind.__name__)
    return kind(**{name: _value(name, hint, values.get(name)) for name, (hint, _) in fields_of(kind).items()})


def _value(name: str, hint: Any, value: Any) -> Any:
    kinds = get_args(hint) or (hint,)
    if get_origin(hint) is tuple:
        if not isinstance(value, list | None):
            _refuse(name)
        read = row_of if is_dataclass(kinds[0]) else partial(_value, name)
        return tuple(read(kinds[0], each) for each in value or ())
    if get_origin(hint) is Mapping:
        if value is None or (isinstance(value, dict) and all(type(each) in kinds for each in value.values())):
            return value or {}
    elif float in kinds and isinstance(value, str) and value in _INFINITE:
        return _INFINITE[value]
    elif value is None or type(value) in kinds or (float in kinds and type(value) is int):
        return value
    return _refuse(name)


def _refuse(what: str) -> NoReturn:
    raise NoAnswerError(f"its answer has an unexpected {what}: is this the address of a sidecar?")
