"""One connection to one process, and one reading of what it is asked. Runs in the child, on the target's worker.

Why the JDK's remote interfaces and not jmxquery's `JMXConnector`, whose jar was read with javap and measured beside
this, both in one warm JVM, on 36 attributes of one broker: jmxquery 8-11 ms of CPU and 17-22 ms of wall, this 3.3 and
6 ms, for jmxquery asks a query, a getMBeanInfo and a getAttribute for each attribute. More than that, it catches every
exception of getAttribute, so that a time-out half-way reads as a bean that is not there, and "absent" must be true
here; and it passes no environment, so that a registry with TLS cannot be asked and a heartbeat thread hangs beside us.
`RMIConnector`, what JMXConnectorFactory makes, hides the same `RMIConnection` behind that heartbeat
(`jmx.remote.x.client.connection.check.period`) and a reconnect of its own, which makes one time-out four. Without it
there is neither, and no JNDI: host and port are all that can be configured, so no other kind of URL can be asked for.
"""

import time
from typing import Any

from jpype import JClass, JException, JObject, JString

from kafka_warden.clients.jmx.protocol import BeanQuery, BeanRow, Question, Reply, Request, Scalar

MAX_ROWS = 1000
"""Beans read for one pattern. A controller has one for every client that mutated within an hour: a bound on cost."""

MAX_STEPS = 5
"""A reading may take this many time-outs in all: a process that answers each call, but slowly, is given up too."""


class Connection:
    """An authenticated session with the MBean server of one process; every failure is a Java exception."""

    def __init__(self, request: Request, timeout: float, registry_sockets: Any) -> None:
        self.address = (request.host, request.port)
        self._budget = MAX_STEPS * timeout
        registry = JClass("java.rmi.registry.LocateRegistry").getRegistry(request.host, request.port, registry_sockets)
        server = JObject(registry.lookup("jmxrmi"), JClass("javax.management.remote.rmi.RMIServer"))
        self._remote = server.newClient(_credentials(request))

    def read(self, question: Question, number: int) -> Reply:
        """Everything that the question asks, as the reply to the request of that number."""
        until = time.monotonic() + self._budget
        beans = self._beans(question.beans, until)
        rows, left_out = {}, 0
        for pattern in question.patterns:
            names = sorted(str(name) for name in self._remote.queryNames(_object_name(pattern.name), None, None))
            left_out += max(0, len(names) - MAX_ROWS)
            queries = [BeanQuery(name, pattern.attributes) for name in names[:MAX_ROWS]]
            rows[pattern.name] = self._beans(queries, until)
        return Reply(id=number, beans=beans, rows=rows, left_out=left_out)

    def close(self) -> None:
        """Tell the process that this session ends; for a connection that works, as the call may hang otherwise."""
        try:
            self._remote.close()
        except JException:
            return

    def _beans(self, queries: Any, until: float) -> tuple[BeanRow, ...]:
        found = []
        for query in queries:
            if time.monotonic() > until:
                raise JClass("java.net.SocketTimeoutException")(f"reading took longer than {self._budget} s")
            values = self._attributes(query)
            if values:
                found.append(BeanRow(query.name, values))
        return tuple(found)

    def _attributes(self, query: BeanQuery) -> dict[str, Scalar]:
        """Absent beans, absent attributes and attributes that fail in the process are simply not there."""
        names = _string_array(query.attributes)
        try:
            attributes = self._remote.getAttributes(_object_name(query.name), names, None)
        except (JClass("javax.management.JMException"), JClass("javax.management.JMRuntimeException")):
            return {}
        pairs = ((str(each.getName()), _scalar(each.getValue())) for each in attributes)
        return {name: value for name, value in pairs if value is not None}


_names: dict[str, Any] = {}
_arrays: dict[tuple[str, ...], Any] = {}


def _object_name(text: str) -> Any:
    """Parsed once: the same beans are asked for in every poll. Rows of patterns come and go, hence the bound."""
    if text not in _names:
        if len(_names) > 10 * MAX_ROWS:
            _names.clear()
        _names[text] = JClass("javax.management.ObjectName")(text)
    return _names[text]


def _string_array(texts: tuple[str, ...]) -> Any:
    if texts not in _arrays:
        _arrays[texts] = JString[:](texts)
    return _arrays[texts]


def _credentials(request: Request) -> Any:
    if request.user is None or request.password is None:
        return None
    return JString[:]((request.user, request.password))


def _scalar(value: Any) -> Scalar | None:
    if value is None:
        return None
    if isinstance(value, JClass("java.lang.Boolean")):
        return bool(value)
    if isinstance(value, (JClass("java.lang.Double"), JClass("java.lang.Float"))):
        return float(value)
    if isinstance(value, JClass("java.lang.Number")):
        return int(value)
    return str(value)
