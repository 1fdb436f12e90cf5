"""How many requests the brokers counted, of the kinds that the sidecar may send."""

import re
from collections import Counter
from collections.abc import Mapping

from bench.cluster import Target
from kafka_warden.clients.jmx.protocol import BeanQueries, BeanQuery, Kind, RawBeans
from kafka_warden.clients.jmx.session import JmxSession, JmxTarget
from kafka_warden.clients.kafka.requests import READ_ONLY
from kafka_warden.clock import monotonic
from kafka_warden.settings.strict import parse_address

PATTERN = "kafka.network:type=RequestMetrics,name=RequestsPerSec,*"
QUESTIONS: Mapping[Kind, BeanQueries] = {"broker": BeanQueries(beans=(), patterns=(BeanQuery(PATTERN, ("Count",)),))}
TIME_LIMIT = 30.0
_KIND = re.compile(r"request=(\w+)")


def count_requests(target: Target) -> Counter[str]:
    """Return the requests that all brokers together answered since they started, by kind."""
    session = JmxSession(QUESTIONS, timeout=TIME_LIMIT)
    try:
        places = {broker: parse_address(address) for broker, address in target.jmx.items()}
        targets = [JmxTarget(str(broker), place.host, place.port) for broker, place in places.items()]
        answers = session.ask(targets, monotonic() + TIME_LIMIT)
    finally:
        session.close()
    counts: Counter[str] = Counter()
    for answer in answers.values():
        if not isinstance(answer, RawBeans):
            raise answer
        for row in answer.rows[PATTERN]:
            found = _KIND.search(row.name)
            if found and found[1] in OURS:
                counts[found[1]] += int(row.values["Count"])
    return counts


OURS = {key.name for key in READ_ONLY}
