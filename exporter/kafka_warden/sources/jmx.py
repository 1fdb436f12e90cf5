"""JMX of brokers and controllers: what to ask (`QUESTIONS`), and the parser of the answer (`parse_beans`, pure)."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import unquote

from kafka_warden.clients.jmx.protocol import BeanQueries, BeanQuery, BeanRow, Kind, RawBeans, Scalar
from kafka_warden.model import ClientBean, ProcessBeans
from kafka_warden.sources.bean_list import BEANS, CLIENTS, MUTATIONS, REQUESTS, ClientBeans


def _question(where: Kind) -> BeanQueries:
    beans: dict[str, list[str]] = {}
    for bean in BEANS:
        if bean.where == where:
            beans.setdefault(bean.object_name, []).append(bean.attribute)
    patterns = (clients for clients in CLIENTS if clients.where == where)
    return BeanQueries(
        beans=tuple(BeanQuery(name, tuple(attributes)) for name, attributes in beans.items()),
        patterns=tuple(BeanQuery(clients.pattern, tuple(clients.attributes)) for clients in patterns),
    )


QUESTIONS: Final[Mapping[Kind, BeanQueries]] = {"broker": _question("broker"), "controller": _question("controller")}
"""What :class:`kafka_warden.clients.jmx.session.JmxSession` asks of each kind of process."""


def parse_beans(reply: RawBeans) -> ProcessBeans:
    """The numbers of one process under their short names, in base units.

    Values that are absent there, not a number or not finite are absent here. Tokens of a client without a quota (some
    1e20) stay as they are.
    """
    found = ((bean, _number(reply.values.get((bean.object_name, bean.attribute)), bean.factor)) for bean in BEANS)
    return ProcessBeans(
        at=reply.at,
        values={bean.name: value for bean, value in found if value is not None},
        mutations=_clients(MUTATIONS, reply.rows),
        requests=_clients(REQUESTS, reply.rows),
        left_out=reply.left_out,
        every=reply.every,
    )


def _clients(kind: ClientBeans, rows: Mapping[str, Iterable[BeanRow]]) -> tuple[ClientBean, ...]:
    clients = []
    for row in rows.get(kind.pattern, ()):
        named = ((*kind.attributes[name], value) for name, value in row.values.items() if name in kind.attributes)
        numbers = ((name, _number(value, factor)) for name, factor, value in named)
        values = {name: number for name, number in numbers if number is not None}
        if values:
            tags = properties(row.name)
            user = tags.get("user")
            clients.append(ClientBean(None if user is None else unquote(user), tags.get("client-id"), values))
    return tuple(clients)


def _number(value: Scalar | None, factor: float) -> float | None:
    if value is None or isinstance(value, str | bool):
        return None
    number = value * factor
    return number if math.isfinite(number) else None


# A key begins after a comma: else each character of a name that is none is a new try, and the time is quadratic.
_PROPERTY = re.compile(r'(?:^|(?<=,))([^=,]+)=("(?:[^"\\]|\\.)*"|[^,"]*)(?:,|$)', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def properties(object_name: str) -> dict[str, str]:
    """The key properties of an object name, quoted values unquoted as `javax.management.ObjectName.unquote` does it.

    Kafka quotes a value only when it holds anything but letters, digits and `_-%. ` (JmxReporter, Sanitizer). The user
    is URL-encoded before that (`Sanitizer.sanitize`), the client id is not: a `%41` in a client id is just that.
    """
    _, _, listed = object_name.partition(":")
    return {key: _unquoted(value) for key, value in _PROPERTY.findall(listed)}


def _unquoted(value: str) -> str:
    if not value.startswith('"'):
        return value
    return _ESCAPE.sub(lambda found: "\n" if found[1] == "n" else found[1], value[1:-1])
