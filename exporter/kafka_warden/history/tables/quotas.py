"""`quotas`: one row per configured client quota, and per bean of a client."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Annotated, Final

from kafka_warden.derive.mutation import ClientMutations, active_controller
from kafka_warden.history.column import Columns, HistoryTable, columns, part_column, records, row_columns
from kafka_warden.history.column_types import INT
from kafka_warden.history.poll import Poll
from kafka_warden.model import ClientBean, ProcessBeans, QuotaEntity

CONFIGURED: Final = "configured"
MUTATION: Final = "mutation"
REQUEST: Final = "request"
BROKER: Final = "broker"
CONTROLLER: Final = "controller"


@dataclass(frozen=True, slots=True)
class Quota:
    """A configured quota, or a bean of a client. `derived` is set for mutation beans of the active controller."""

    kind: Annotated[str, "`configured`, or the bean: `mutation` or `request`"]
    process: Annotated[str | None, "`broker` or `controller`"]
    node: Annotated[str | None, "node id, or address until that is known"]
    user: Annotated[str | None, "user; null if none, empty: the default user"]
    client_id: Annotated[str | None, "client id; null if none, empty: the default client"]
    position: Annotated[int, "position of its kind and process"]
    values: Annotated[Mapping[str, float], "value by quota key or attribute", "base units"]
    derived: ClientMutations | None = None


def _rows(poll: Poll) -> list[Quota]:
    snapshot = poll.snapshot
    rows = [
        Quota(CONFIGURED, None, None, entity.user, entity.client_id, position, entity.values)
        for position, entity in enumerate(snapshot.quotas or ())
    ]
    active = active_controller(snapshot)
    buckets = {(client.user, client.client_id): client for client in poll.derived.mutations}
    for broker, beans in snapshot.broker_beans.items():
        rows += _of_process(beans, BROKER, str(broker), {})
    for node, beans in snapshot.controller_beans.items():
        rows += _of_process(beans, CONTROLLER, node, buckets if beans is active else {})
    return rows


def _size(poll: Poll) -> int:
    snapshot = poll.snapshot
    processes = (*snapshot.broker_beans.values(), *snapshot.controller_beans.values())
    return len(snapshot.quotas or ()) + sum(len(beans.mutations) + len(beans.requests) for beans in processes)


def _of_process(
    beans: ProcessBeans, process: str, node: str, buckets: dict[tuple[str, str], ClientMutations]
) -> list[Quota]:
    def of(kind: str, position: int, bean: ClientBean, bucket: ClientMutations | None) -> Quota:
        return Quota(kind, process, node, bean.user, bean.client_id, position, bean.values, bucket)

    mutations = [
        of(MUTATION, position, bean, buckets.get((bean.user or "", bean.client_id or "")))
        for position, bean in enumerate(beans.mutations)
    ]
    return mutations + [of(REQUEST, position, bean, None) for position, bean in enumerate(beans.requests)]


_bucket: Final = partial(part_column, "derived")

QUOTAS: Final = HistoryTable(
    "quotas",
    "One row per client quota, and per bean of a client with one.",
    ("kind", "process", "node", "user", "client_id"),
    (
        *row_columns(Quota, "snapshot.quotas[]", position=INT),
        _bucket("tokens", "derived.mutations[].tokens"),
        _bucket("mutation_rate", "derived.mutations[].rate"),
        *columns(_bucket, "derived.mutations[]", "throttle", "quota", "burst"),
        _bucket("admission_delay", "derived.mutations[].delay"),
    ),
    _rows,
    _size,
    (
        "snapshot.broker_beans[].mutations",
        "snapshot.broker_beans[].requests",
        "snapshot.controller_beans[].mutations",
        "snapshot.controller_beans[].requests",
        "derived.mutations[].user",
        "derived.mutations[].client_id",
    ),
)


Beans = Mapping[tuple[str, str, str], Sequence[ClientBean]]
"""Beans of clients by kind, process and node."""


def with_clients(beans: ProcessBeans, of: Beans, process: str, node: str) -> ProcessBeans:
    """Add the beans of its clients to those of a process."""
    mutations, requests = (tuple(of.get((kind, process, node), ())) for kind in (MUTATION, REQUEST))
    return replace(beans, mutations=mutations, requests=requests)


def restore(rows: Columns) -> tuple[tuple[QuotaEntity, ...], Beans]:
    """Restore the configured quotas and the beans of clients."""
    stored = records(QUOTAS.columns, "snapshot.quotas[].", rows)
    placed = zip(rows["position"], rows["kind"], rows["process"], rows["node"], stored, strict=True)
    quotas: list[QuotaEntity] = []
    beans: dict[tuple[str, str, str], list[ClientBean]] = defaultdict(list)
    for _, kind, process, node, found in sorted(placed, key=itemgetter(0)):
        if kind == CONFIGURED:
            quotas.append(QuotaEntity(**found))
        else:
            beans[kind, process, node].append(ClientBean(**found))
    return tuple(quotas), beans
