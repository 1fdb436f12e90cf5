"""The checks of the connection: bootstrap servers, login, the cluster, each broker, the active controller."""

import asyncio
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from kafka_warden.check.diagnosis import CODES, Connector, Finding, token_finding
from kafka_warden.check.results import Report
from kafka_warden.clients.kafka.kerberos import Kerberos
from kafka_warden.clients.kafka.link import BrokerLink, Step
from kafka_warden.clients.kafka.requests import (
    DescribeClientQuotasRequest,
    DescribeClusterRequest,
    DescribeQuorumRequest,
    ListPartitionReassignmentsRequest,
)
from kafka_warden.clients.kafka.tokens import Tokens
from kafka_warden.config import Config
from kafka_warden.errors import AuthorizationError, SourceError, StateError, UnsupportedError
from kafka_warden.formatting import in_count
from kafka_warden.model import Broker, OptionalQuestion
from kafka_warden.settings.strict import Address
from kafka_warden.sources.metadata import Layout, MetadataQuestion, read_fenced, shared_addresses, verify_cluster
from kafka_warden.state import StateFile, watched_cluster

REQUESTS: Final[Mapping[Any, tuple[str, str, OptionalQuestion]]] = {
    ListPartitionReassignmentsRequest: ("2.4", "moves", OptionalQuestion.REASSIGNMENTS),
    DescribeClientQuotasRequest: ("2.6", "mutation quotas", OptionalQuestion.QUOTAS),
    DescribeClusterRequest: ("2.8", "fenced brokers", OptionalQuestion.FENCED_BROKERS),
    DescribeQuorumRequest: ("3.3 in KRaft mode", "the quorum and the active controller", OptionalQuestion.QUORUM),
}
"""Request to the release that brings it, what is missing without it, and how to do without it."""


@dataclass(slots=True)
class Reached:
    """What the checks after the connection need."""

    lead: BrokerLink
    layout: Layout
    fenced: Mapping[int, Broker]
    brokers: dict[int, BrokerLink] = field(default_factory=dict)
    """Links to the brokers that answer at their advertised listeners."""
    unreachable: set[str] = field(default_factory=set)
    """Hosts that do not resolve, or drop packets."""

    def close(self) -> None:
        """Close all connections."""
        for link in (self.lead, *self.brokers.values()):
            link.close()


async def check_connection(config: Config, connector: Connector, report: Report) -> Reached | None:
    """Check everything up to each broker's own listener; `None` if the cluster cannot be asked."""
    servers = tuple(dict.fromkeys(config.kafka.settings.bootstrap))
    failures = await _bootstrap(servers, connector)
    working = [server for server in servers if failures[server] is None]
    reached = await _log_in(config, working, connector, report) if await _token(connector, report) else None
    if reached is not None:
        _report_cluster(reached, failures, report)
        await _brokers(reached, connector, report, failures)
        if reached.brokers:
            await _versions(reached, connector, report, config.sources.disable)
    _report_bootstrap(failures, connector, report, reached)
    return reached


@dataclass(frozen=True, slots=True)
class Failed:
    """A connection that failed, and the step at which it did."""

    finding: Finding
    step: Step


async def _bootstrap(servers: Sequence[Address], connector: Connector) -> dict[Address, Failed | None]:
    """Connect to all servers, without a login: with a wrong password each would count a failure."""

    async def check(server: Address) -> Failed | None:
        link = connector.link(*server, login=False)
        found = await connector.try_connection(link)
        link.close()
        return None if found is None else Failed(found, link.step)

    return dict(zip(servers, await asyncio.gather(*map(check, servers)), strict=True))


def _report_bootstrap(
    failures: Mapping[Address, Failed | None], connector: Connector, report: Report, reached: Reached | None
) -> None:
    """A server that fails beside one that answers is a warning, unless it is a broker that fails everywhere."""
    listeners = [] if reached is None else [(each.host, each.port) for each in reached.layout.brokers.values()]
    fenced = {} if reached is None else {(each.host, each.port): each.id for each in reached.fenced.values()}
    useful = any(failed is None for failed in failures.values())
    steps = [Step.RESOLVE, Step.CONNECT, *([Step.TLS] if connector.settings.tls else []), Step.VERSIONS]
    passed = Counter[Step]()
    for server, failed in failures.items():
        if failed is None:
            passed.update(steps)
            continue
        found = failed.finding
        ends = {failed.step, *(step for step in steps if CODES[step] == found.code)}
        passed.update(steps[: min((steps.index(step) for step in ends if step in steps), default=len(steps))])
        note = report.warning if useful and server not in listeners else report.error
        text = f"{found.text}; it is broker {fenced[server]}, which is fenced" if server in fenced else found.text
        note(found.code, str(server), text, found.fix)
    for step, count in passed.items():
        report.ok(CODES[step], "", f"{count} of {len(failures)} bootstrap servers")


async def _token(connector: Connector, report: Report) -> bool:
    """Get the token or the ticket for the login, where it needs one; return whether to go on."""
    credentials = connector.settings.credentials
    if not isinstance(credentials, Tokens | Kerberos):
        return True
    try:
        if isinstance(credentials, Kerberos):
            name, what = credentials.name, "ticket"
            subject, lifetime = await credentials.ticket(connector.network, connector.until())
        else:
            token = await credentials.token(connector.network.clock.monotonic(), connector.until())
            name, what, subject, lifetime = credentials.source.name, "token", token.subject, token.lifetime
    except SourceError as fault:
        found = token_finding(fault, credentials)
        report.error(found.code, "", found.text, found.fix)
        return False
    lives = f"lives {lifetime:.0f} s" if math.isfinite(lifetime) else "does not say how long it lives"
    report.ok("KW-TOKEN", name, f"the {what}{f' of {subject}' if subject else ''} {lives}")
    return True


async def _log_in(config: Config, servers: Sequence[Address], connector: Connector, report: Report) -> Reached | None:
    """Log in at the first server that accepts it, and ask it for the cluster, which must be that of the state file."""
    question = MetadataQuestion()
    with suppress(OSError, StateError):  # KW-STATE reports it
        document = StateFile(config.state.path).read()
        question.cluster_id = watched_cluster(document, [str(each) for each in config.kafka.settings.bootstrap])
    for place, server in enumerate(servers):
        link = connector.link(*server)
        found = await connector.try_connection(link)
        if found is None:
            if connector.settings.sasl_mechanism is not None:
                report.ok("KW-LOGIN", str(server), f"accepted with {connector.settings.sasl_mechanism}")
            try:
                layout = await question.read(link, connector.until())
                fenced = await _fenced(link, connector)
            except SourceError as fault:
                found = await connector.diagnose(link, fault)
            else:
                return Reached(link, layout, fenced)
        link.close()
        # A refused password is not tried elsewhere: some servers lock accounts.
        last = found.code == "KW-LOGIN" or place == len(servers) - 1
        (report.error if last else report.warning)(found.code, str(server), found.text, found.fix)
        if last:
            return None
    return None


async def _fenced(link: BrokerLink, connector: Connector) -> Mapping[int, Broker]:
    """Ask for fenced brokers; none where the broker does not know or allow the question."""
    try:
        return await read_fenced(link, connector.until())
    except (AuthorizationError, UnsupportedError):
        return {}


def _report_cluster(reached: Reached, failures: Mapping[Address, Failed | None], report: Report) -> None:
    """A fenced broker that fails as a bootstrap server is reported there."""
    layout, subject = reached.layout, f"cluster {reached.layout.cluster_id}"
    report.ok(
        "KW-CLUSTER", subject, f"{in_count(len(layout.brokers), 'broker')}, {in_count(len(layout.topics), 'topic')}"
    )
    for broker in reached.fenced.values():
        if failures.get(Address(broker.host, broker.port)) is None:
            text = f"broker {broker.id} is registered and fenced"
            report.warning("KW-CLUSTER", subject, text, "start that broker, or unregister it")


async def _brokers(
    reached: Reached, connector: Connector, report: Report, failures: Mapping[Address, Failed | None]
) -> None:
    """Connect to each broker at its advertised listener, and log in. What failed before is not repeated."""
    shared = shared_addresses(reached.layout.brokers.values())
    for text in dict.fromkeys(shared.values()):
        fix = "set advertised.listeners of each broker to an address of its own"
        report.error("KW-BROKER", "", text, fix)

    async def check(broker: Broker) -> None:
        where = f"{broker.host}:{broker.port}, the address of broker {broker.id},"
        verify = partial(verify_cluster, lambda: reached.layout.cluster_id, where)
        link = connector.link(broker.host, broker.port, verify=verify)
        known = failures.get(Address(broker.host, broker.port))
        found = known.finding if known is not None else await connector.try_connection(link)
        if found is None:
            reached.brokers[broker.id] = link
            return
        if known is None:
            advertised = found.code in ("KW-DNS", "KW-TCP")
            fix = f"correct advertised.listeners of broker {broker.id}, the DNS or the network"
            report.error("KW-BROKER", f"broker {broker.id}", found.text, fix if advertised else found.fix)
        if found.silent:
            reached.unreachable.add(broker.host)

    await asyncio.gather(*(check(broker) for broker in reached.layout.brokers.values() if broker.id not in shared))
    if reached.brokers:
        answering, listed = len(reached.brokers), len(reached.layout.brokers)
        report.ok("KW-BROKER", "", f"{answering} of {listed} brokers answer at their advertised listeners")


async def _versions(reached: Reached, connector: Connector, report: Report, disabled: Collection[str]) -> None:
    releases: dict[str, list[int]] = {}
    missing = False
    for broker, link in sorted(reached.brokers.items()):
        release = link.kafka_version or "unknown"
        releases.setdefault(release, []).append(broker)
        for request, (since, lost, optional) in REQUESTS.items():
            if optional in disabled:
                continue
            try:
                known = await link.supports(request, 0, connector.until())
            except SourceError:
                break  # the questions about rights meet it again
            if not known:
                missing = True
                report.warning(
                    "KW-VERSION",
                    f"broker {broker}",
                    f"Kafka {release} does not know {request.__name__.removesuffix('Request')}: no {lost}",
                    f"upgrade to Kafka {since} or later to have them",
                )
    if not missing:
        listed = (f"Kafka {release} on {in_count(len(brokers), 'broker')}" for release, brokers in releases.items())
        report.ok("KW-VERSION", "", ", ".join(listed))
