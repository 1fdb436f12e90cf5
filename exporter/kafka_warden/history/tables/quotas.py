"""`quotas`: one row per configured client quota, and per bean of a client."""

from dataclasses import dataclass
from typing import Any, Final

from kafka_warden.derive.mutations import ClientMutations, active_controller
from kafka_warden.history.column import Column, Role, Table
from kafka_warden.history.poll import Poll
from kafka_warden.history.shapes import DOUBLE, INT, STRING, MapOf
from kafka_warden.history.tables.entities import MAYBE_REAL, MAYBE_TEXT, Entities, column, judged
from kafka_warden.model import ClientBean, ProcessBeans

CONFIGURED: Final = "configured"
MUTATION: Final = "mutation"
REQUEST: Final = "request"
BROKER: Final = "broker"
CONTROLLER: Final = "controller"


@dataclass(frozen=True, slots=True)
class Quota:
    """A quota, or a bean of a process; `judged` where it is the bucket of the active controller."""

    kind: str
    position: int
    user: str | None
    client_id: str | None
    values: Any
    process: str | None = None
    node: str | None = None
    judged: ClientMutations | None = None


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


def _bucket(name: str, unit: str, text: str, attribute: str) -> Column[Any]:
    def read(_: Poll, item: Quota) -> float | None:
        return None if item.judged is None else getattr(item.judged, attribute)

    return judged(name, MAYBE_REAL, unit, text, (f"derived.mutations[].{attribute}",), read)


QUOTAS: Final = Table(
    "quotas",
    "One row per configured client quota (DescribeClientQuotas), and per bean of a client with a quota (JMX).",
    ("kind", "process", "node", "user", "client_id"),
    (
        column(
            "kind",
            STRING,
            "",
            "`configured`, `mutation` (a ControllerMutation bean) or `request` (a Request bean)",
            (),
            lambda _, item: item.kind,
            Role.KEY,
        ),
        column(
            "process",
            MAYBE_TEXT,
            "",
            "whose bean: `broker` or `controller`",
            (),
            lambda _, item: item.process,
            Role.KEY,
        ),
        column(
            "node",
            MAYBE_TEXT,
            "",
            "its node id, or its address until that is known",
            (),
            lambda _, item: item.node,
            Role.KEY,
        ),
        column(
            "user",
            MAYBE_TEXT,
            "",
            "null where it is of no user, empty where a quota is the default",
            (
                "snapshot.quotas[].user",
                "snapshot.broker_beans[].mutations",
                "snapshot.broker_beans[].requests",
                "snapshot.controller_beans[].mutations",
                "snapshot.controller_beans[].requests",
                "derived.mutations[].user",
            ),
            lambda _, item: item.user,
            Role.KEY,
        ),
        column(
            "client_id",
            MAYBE_TEXT,
            "",
            "the same of the client id",
            ("snapshot.quotas[].client_id", "derived.mutations[].client_id"),
            lambda _, item: item.client_id,
            Role.KEY,
        ),
        column("position", INT, "", "place among those of its kind and process", (), lambda _, item: item.position),
        column(
            "values",
            MapOf(DOUBLE),
            "base units",
            "quota key, or short name of the bean's attribute, to value",
            ("snapshot.quotas[].values",),
            lambda _, item: item.values,
        ),
        _bucket("tokens", "", "K of KIP-599; infinite where the client has no quota", "tokens"),
        _bucket("mutation_rate", "1/s", "what the client does", "rate"),
        _bucket("throttle", "s", "throttle time of the bean", "throttle"),
        _bucket("quota", "1/s", "R, the quota that applies", "quota"),
        _bucket("burst", "", "B, R x the window", "burst"),
        _bucket("admission_delay", "s", "until its next mutation is admitted", "delay"),
    ),
    _rows,
    _size,
)
