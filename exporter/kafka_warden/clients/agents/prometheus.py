"""A page in Prometheus format, of which only the lines of wanted beans are read."""

import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from kafka_warden.clients.agents.names import LONGEST_NAME, START_TIME, Names, Number, label
from kafka_warden.clients.jmx.protocol import MAX_ROWS, BeanRow, RawBeans, Scalar
from kafka_warden.errors import ProtocolError

_NAME: Final = re.compile(rb"[a-zA-Z_:][a-zA-Z0-9_:]*")
MOST_CLIENTS: Final = 8 << 20
"""Bytes of the beans of clients, of which a page may have any number. They are those of some 13,000."""
_AT_ONCE: Final = 50
"""Lines that are parsed together: the samples of a whole page need ten times its memory."""
_ROW: Final = 500
"""Bytes of a bean beside its name."""
_KEYS: Final = {"client_id": "client-id", "user": "user"}
"""Labels of clients, and the keys in the names of their beans."""


def read_page(lines: Iterable[bytes], names: Names) -> RawBeans:
    """Read the wanted numbers; the answer has no time.

    Raises:
        ProtocolError: a wanted line is not in the format, or no line is a metric of Kafka.
    """
    values: dict[tuple[str, str], Scalar] = {}
    clients: dict[str, dict[str, dict[str, Scalar]]] = defaultdict(lambda: defaultdict(dict))
    size, beyond = 0, Counter[Number]()
    for name, labels, value in _samples(lines, names.wanted()):
        keyed = frozenset((label(key), text) for key, text in labels.items())
        if (number := names.exact.get((name, keyed))) is not None:
            values.setdefault((number.bean, number.attribute), value * number.factor)
        elif (number := names.of_clients.get(name)) is not None and {key for key, _ in keyed} <= _KEYS.keys():
            found, bean = clients[number.bean], _object_name(number.bean, dict(keyed))
            if bean not in found:
                if size >= MOST_CLIENTS or len(bean) > LONGEST_NAME:
                    beyond[number] += 1
                    continue
                size += sys.getsizeof(bean) + _ROW
            found[bean][number.attribute] = value
    rows = {
        pattern: tuple(BeanRow(bean, found[bean]) for bean in sorted(found)[:MAX_ROWS])
        for pattern, found in clients.items()
    }
    left_out = sum(max(0, len(found) - MAX_ROWS) for found in clients.values())
    # Each bean has a line for each of its attributes.
    left_out += sum(
        max(beyond[each] for each in beyond if each.bean == bean) for bean in {each.bean for each in beyond}
    )
    return RawBeans(math.nan, values, rows, left_out)


def _samples(lines: Iterable[bytes], wanted: frozenset[str]) -> Iterator[tuple[str, Mapping[str, str], float]]:
    """Yield the samples of wanted names, which are in lower case."""
    kept = _wanted(lines, wanted)
    try:
        while some := list(islice(kept, _AT_ONCE)):
            for family in text_string_to_metric_families(b"\n".join([*some, b""]).decode()):
                for sample in family.samples:
                    yield sample.name.lower(), sample.labels, sample.value
    except ValueError as failure:
        raise ProtocolError(f"a line of the page is not in Prometheus format: {failure}") from None


def _wanted(lines: Iterable[bytes], wanted: frozenset[str]) -> Iterator[bytes]:
    any_of_kafka = False
    for line in lines:
        if (found := _NAME.match(line)) is not None:
            name = found[0].lower().decode()
            # Pages of other programs have the start time, too.
            any_of_kafka |= name.startswith("kafka_") or (name in wanted and name != START_TIME)
            if name in wanted:
                yield line
    if not any_of_kafka:
        raise ProtocolError("the answer is no page with metrics of Kafka; correct jmx.port or jmx.path")


def _object_name(pattern: str, labels: Mapping[str, str]) -> str:
    """Return the name of a client's bean. The agent leaves values that JMX quotes in their quotes."""
    listed = (f"{_KEYS[key]}={_quoted(text)}" for key, text in sorted(labels.items()))
    return ",".join((pattern.removesuffix(",*"), *listed))


def _quoted(text: str) -> str:
    if text.startswith('"') and text.endswith('"') and len(text) > 1:
        return text
    escaped = re.sub(r'(["\\*?])', r"\\\1", text).replace("\n", "\\n")
    return f'"{escaped}"'
