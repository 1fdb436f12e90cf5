"""`quotas`: one row per configured client quota, and per bean of a client."""

from dataclasses import dataclass
from typing import Any, Final

from kafka_warden.derive.mutations import ClientMutations, active_controller
from kafka_warden.history.column import Column, Role, Table
from kafka_warden.history.column_types import DOUBLE, INT, STRING, MapOf
from kafka_warden.history.poll import Poll
from kafka_warden.history.tables.entities import OPTIONAL_DOUBLE, OPTIONAL_STRING, Entities, column
from kafka_warden.model import ClientBean, ProcessBeans

CONFIGURED: Final = "configured"
MUTATION: Final = "mutation"
REQUEST: Final = "request"
BROKER: Final = "broker"
CONTROLLER: Final = "controller"


@dataclass(frozen=True, slots=True)
class Quota:
    """A configured quota, or a bean of a client. `derived` is set for mutation beans of the active controller."""

    kind: str
    position: int
    user: str | None
    client_id: str | None
    values: Any
    process: str | None = None
    node: str | None = None
    derived: ClientMutations | None = None


def _rows(poll: Poll) -> Entities[Quota]:
    snapshot = poll.snapshot
    rows = [
        Quota(CONFIGURED, position, entity.user, entity.client_id, entity.values)
        for position, entity in enumerate(snapshot.quotas or ())
    ]
    active = active_controller(snapshot)
    buckets = {(client.user, client.client_id): client for client in poll.derived.mutations}
    for broker, beans in snapshot.broker_beans.items():
        rows += _of_process(beans, BROKER, str(broker), {})
    for node, beans in snapshot.controller_beans.items():
        rows += _of_process(beans, CONTROLLER, node, buckets if beans is active else {})
    return Entities(poll, rows)


def _size(poll: Poll) -> int:
    snapshot = poll.snapshot
    processes = (*snapshot.broker_beans.values(), *snapshot.controller_beans.values())
    return len(snapshot.quotas or ()) + sum(len(beans.mutations) + len(beans.requests) for beans in processes)


def _of_process(
    beans: ProcessBeans, process: str, node: str, buckets: dict[tuple[str, str], ClientMutations]
) -> list[Quota]:
    def of(kind: str, position: int, bean: ClientBean, bucket: ClientMutations | None) -> Quota:
        return Quota(kind, position, bean.user, bean.client_id, bean.values, process, node, bucket)

    mutations = [
        of(MUTATION, position, bean, buckets.get((bean.user or "", bean.client_id or "")))
        for position, bean in enumerate(beans.mutations)
    ]
    return mutations + [of(REQUEST, position, bean, None) for position, bean in enumerate(beans.requests)]


def _bucket(name: str, text: str, attribute: str, unit: str = "") -> Column[Any]:
    def read(_: Poll, item: Quota) -> float | None:
        return None if item.derived is None else getattr(item.derived, attribute)

    return column(name, OPTIONAL_DOUBLE, text, (f"derived.mutations[].{attribute}",), read, unit=unit)


QUOTAS: Final = Table(
    "quotas",
    "One row per configured client quota (DescribeClientQuotas), and per bean of a client with a quota (JMX).",
    ("kind", "process", "node", "user", "client_id"),
    (
        column(
            "kind",
            STRING,
            "`configured`, `mutation` (a ControllerMutation bean) or `request` (a Request bean)",
            role=Role.KEY,
        ),
        column("process", OPTIONAL_STRING, "process that has the bean: `broker` or `controller`", role=Role.KEY),
        column("node", OPTIONAL_STRING, "node id of the process, or its address until the id is known", role=Role.KEY),
        column(
            "user",
            OPTIONAL_STRING,
            "user; null if the quota has none, empty for the default user",
            (
                "snapshot.quotas[].user",
                "snapshot.broker_beans[].mutations",
                "snapshot.broker_beans[].requests",
                "snapshot.controller_beans[].mutations",
                "snapshot.controller_beans[].requests",
                "derived.mutations[].user",
            ),
            role=Role.KEY,
        ),
        column(
            "client_id",
            OPTIONAL_STRING,
            "client id; null if the quota has none, empty for the default client id",
            ("snapshot.quotas[].client_id", "derived.mutations[].client_id"),
            role=Role.KEY,
        ),
        column("position", INT, "position among the rows of the same kind and process"),
        column(
            "values",
            MapOf(DOUBLE),
            "value by quota key, or by short name of the bean's attribute",
            ("snapshot.quotas[].values",),
            unit="base units",
        ),
        _bucket("tokens", "tokens, K of KIP-599; infinite if the client has no quota", "tokens"),
        _bucket("mutation_rate", "mutations of the client", "rate", "1/s"),
        _bucket("throttle", "throttle time that the bean reports", "throttle", "s"),
        _bucket("quota", "quota that applies, R of KIP-599", "quota", "1/s"),
        _bucket("burst", "burst, B of KIP-599: R x the window", "burst"),
        _bucket("admission_delay", "time until its next mutation is admitted", "delay", "s"),
    ),
    _rows,
    _size,
)
