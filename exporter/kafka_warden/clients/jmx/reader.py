"""One connection to one process, and one reading. Runs in the child, on the target's worker.

The work is done in Java (`java/warden/BeanReader.java`), which returns failures as values: a Java exception that
reaches Python leaks 20 kB of native memory (JPype 1.7.1), and a broker that is down raises in every poll.

Why the JDK's remote interfaces and not jmxquery's `JMXConnector`: both were measured in one warm JVM on 36 attributes
of one broker. jmxquery needs 8-11 ms of CPU and 17-22 ms of wall time, this 3.3 and 6 ms: jmxquery sends a query, a
getMBeanInfo and a getAttribute for each attribute. It also catches every exception of getAttribute, so a time-out in
the middle of a reading looks like an absent bean. It passes no environment, so a registry with TLS cannot be asked,
and a heartbeat thread hangs beside the worker. `RMIConnector`, which JMXConnectorFactory makes, adds the same
heartbeat (`jmx.remote.x.client.connection.check.period`) to `RMIConnection`, and a reconnect that turns one time-out
into four. The remote interfaces have neither. They also have no JNDI: only host and port can be configured, so no
other kind of URL.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from jpype import JArray, JClass, JString

from kafka_warden.clients.jmx.protocol import MAX_ROWS, BeanQuery, BeanRow, Hello, Question, Reply, Request, Scalar

MAX_STEPS = 5
"""A reading may take this many time-outs in all: a process that answers each call slowly is given up too."""


class ReadError(Exception):
    """The process could not be read; `chain` has Java's exceptions."""

    def __init__(self, failure: Iterable[Any]) -> None:
        texts = [str(text) for text in failure]
        self.chain = list(zip(texts[::2], texts[1::2], strict=True))
        super().__init__(self.chain)


class Connection:
    """An authenticated session with the MBean server of one process. Raises :class:`ReadError`."""

    def __init__(self, request: Request, hello: Hello, registry_sockets: Any) -> None:
        self._millis = round(1000 * MAX_STEPS * hello.timeout)
        self._reader = JClass("warden.BeanReader")(round(1000 * hello.absent_recheck))
        credentials = None
        if request.user is not None and request.password is not None:
            credentials = JString[:]((request.user, request.password))
        failure = self._reader.connect(request.host, request.port, registry_sockets, credentials)
        if failure is not None:
            raise ReadError(failure)

    def read(self, question: Question, number: int) -> Reply:
        """Everything that the question asks, as the reply to the request of that number."""
        asked = (*_columns(question.beans), *_columns(question.patterns))
        reading = self._reader.read(*asked, MAX_ROWS, self._millis)
        if reading.failure is not None:
            raise ReadError(reading.failure)
        names = (pattern.name for pattern in question.patterns)
        return Reply(
            id=number,
            beans=_rows(reading.beans),
            rows={name: _rows(rows) for name, rows in zip(names, reading.rows, strict=True)},
            left_out=int(reading.leftOut),
        )

    def close(self) -> None:
        """End this session in the process too. Only for a connection that works: the call may hang otherwise."""
        self._reader.close()


_asked: dict[tuple[BeanQuery, ...], tuple[Any, Any]] = {}


def _columns(queries: tuple[BeanQuery, ...]) -> tuple[Any, Any]:
    """Names and attributes as Java's `String[]` and `String[][]`, made once."""
    if queries not in _asked:
        names = JString[:]([query.name for query in queries])
        _asked[queries] = names, JArray(JString, 2)([query.attributes for query in queries])
    return _asked[queries]


def _rows(rows: Iterable[Sequence[Any]]) -> tuple[BeanRow, ...]:
    return tuple(
        BeanRow(
            str(row[0]),
            {str(name): _scalar(value) for name, value in zip(row[1::2], row[2::2], strict=True)},
        )
        for row in rows
    )


def _scalar(value: Any) -> Scalar:
    if isinstance(value, JClass("java.lang.Boolean")):
        return bool(value)
    if isinstance(value, JClass("java.lang.StringBuilder")):  # a floating-point number, see BeanReader.java
        return float(str(value))
    if isinstance(value, JClass("java.lang.Number")):
        return int(value)
    return str(value)
