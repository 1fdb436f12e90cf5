"""The checks of a connection, step by step: name, TCP, TLS, API versions, token or ticket, login."""

import asyncio
import logging
import math
from collections.abc import Mapping
from typing import Any

from kafka_warden.check.diagnosis import STEPS, Diagnosis, Finding, explain_token
from kafka_warden.check.results import Report
from kafka_warden.clients.kafka.kerberos import Kerberos
from kafka_warden.clients.kafka.librdkafka import librdkafka, refusal
from kafka_warden.clients.kafka.link import Step
from kafka_warden.clients.kafka.tokens import Tokens
from kafka_warden.config import Config
from kafka_warden.errors import SourceError
from kafka_warden.model import Snapshot
from kafka_warden.settings.strict import Address

Servers = Mapping[Address, Finding | None]
"""The bootstrap servers; `None` for one that answers."""


async def connect(diagnosis: Diagnosis) -> Servers:
    """Connect to all servers, without a login: with a wrong password each would count a failure."""

    async def check(server: Address) -> Finding | None:
        link = diagnosis.link_without_login(*server)
        found = await diagnosis.connect(link)
        link.close()
        return found

    servers = tuple(dict.fromkeys(diagnosis.settings.bootstrap))
    return dict(zip(servers, await asyncio.gather(*map(check, servers)), strict=True))


def report_servers(servers: Servers, report: Report, snapshot: Snapshot | None, *, tls: bool) -> None:
    """A server that fails beside one that answers is a warning, unless it is a broker that fails everywhere."""
    brokers = {(each.host, each.port): each for each in (snapshot.brokers.values() if snapshot is not None else ())}
    for server, found in servers.items():
        if found is not None:
            broker = brokers.get(server)
            fenced = broker is not None and broker.fenced
            note = report.warning if None in servers.values() and (broker is None or fenced) else report.error
            text = f"{found.text}; it is broker {broker.id}, which is fenced" if broker and fenced else found.text
            note(found.code, str(server), text, found.fix)
    order = list(STEPS.values())
    for step in (Step.RESOLVE, Step.CONNECT, *([Step.TLS] if tls else []), Step.VERSIONS):
        place = order.index(STEPS[step])
        if passed := sum(found is None or order.index(found.code) > place for found in servers.values()):
            report.ok(STEPS[step], "", f"{passed} of {len(servers)} bootstrap servers")


async def log_in(servers: Servers, diagnosis: Diagnosis, report: Report) -> Address | None:
    """Get the token or ticket, and log in at the first server that accepts it; return that server.

    A refused password is not tried elsewhere: some servers lock accounts.
    """
    working = [server for server, found in servers.items() if found is None]
    if not working or not await _token(diagnosis, report):
        return None
    if diagnosis.settings.sasl_mechanism is None:
        return working[0]
    for server in working:
        link = diagnosis.link(*server)
        found = await diagnosis.connect(link)
        link.close()
        if found is None:
            report.ok("KW-LOGIN", str(server), f"accepted with {diagnosis.settings.sasl_mechanism}")
            return server
        last = found.code == "KW-LOGIN" or server == working[-1]
        (report.error if last else report.warning)(found.code, str(server), found.text, found.fix)
        if last:
            break
    return None


async def _token(diagnosis: Diagnosis, report: Report) -> bool:
    """Get the token or the ticket for the login, where it needs one; return whether to go on."""
    credentials, until = diagnosis.settings.credentials, diagnosis.until()
    try:
        if isinstance(credentials, Kerberos):
            name, what = credentials.name, "ticket"
            subject, lifetime = await credentials.ticket(diagnosis.network, until)
        elif isinstance(credentials, Tokens):
            token = await credentials.token(diagnosis.network.clock.monotonic(), until)
            name, what, subject, lifetime = credentials.source.name, "token", token.subject, token.lifetime
        else:
            return True
    except SourceError as fault:
        found = explain_token(fault, credentials)
        report.error(found.code, "", found.text, found.fix)
        return False
    lives = f"lives {lifetime:.0f} s" if math.isfinite(lifetime) else "does not say how long it lives"
    report.ok("KW-TOKEN", name, f"the {what}{f' of {subject}' if subject else ''} {lives}")
    return True


def uses_librdkafka(config: Config) -> bool:
    """Return whether librdkafka can be asked to log in with the same properties, or has to."""
    if refusal(config.kafka.settings) is not None:
        return False
    return config.kafka.settings.sasl_mechanism is not None or config.history.kafka.topic is not None


def check_librdkafka(config: Config, report: Report) -> None:
    """Connect with librdkafka, which sends the history: a second opinion on the same properties."""
    from confluent_kafka import KafkaException  # noqa: PLC0415  # 14 MB of memory, for this check only
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415  # the same

    code, kafka, errors = "KW-LOGIN-LIBRDKAFKA", config.kafka, list[str]()
    settings: dict[str, Any] = dict(librdkafka(kafka.properties, kafka.secrets, kafka.settings))
    settings["error_cb"] = lambda error: errors.append(str(error))
    silent = logging.getLogger(f"{__name__}.librdkafka")
    silent.addHandler(logging.NullHandler())
    silent.propagate = False
    try:
        AdminClient(settings, logger=silent).list_topics(timeout=config.poll.deadline)
    except KafkaException as failure:
        needed = config.history.kafka.topic is not None
        fix = "history.kafka.topic needs it" if needed else "only history in a topic needs librdkafka"
        (report.error if needed else report.warning)(code, "", errors[0] if errors else str(failure), fix)
    else:
        report.ok(code, "", "connects, too")
