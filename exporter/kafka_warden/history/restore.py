"""Restores the snapshot of one poll from its rows, to evaluate it again.

Rows may have any order. The memory is not stored: a replay computes it from the polls of a run, starting with one whose
`remembered` is not `kept`.
"""

from collections.abc import Mapping
from typing import Any

from kafka_warden.errors import HistoryRowsError
from kafka_warden.history.column import Columns, records
from kafka_warden.history.schema import columns_of
from kafka_warden.history.tables import brokers, configs, moves, polls, quotas, replicas
from kafka_warden.model import Parameters, Snapshot

Tables = Mapping[str, Columns]
"""Rows of one poll by table; all tables are present, some without rows."""


def snapshot_of(tables: Tables) -> Snapshot:
    """Restore the snapshot of one poll. `tables` needs all tables except `restored`, with the rows of this poll only.

    Raises:
        HistoryRowsError: `polls` has not exactly one row, or rows of another table are missing.
    """
    of_cluster = _only(tables["polls"], "snapshot.")
    _check_whole(tables)
    of_topics, of_brokers = configs.restore(tables["configs"]), brokers.restore(tables["brokers"])
    places = {topic: place for place, topic in enumerate(of_topics["topics"])}
    partitions, copies = replicas.restore(tables["partitions"], tables["replicas"], places)
    clients = quotas.restore(tables["quotas"])
    beans, controllers = of_brokers.pop("broker_beans").items(), polls.controllers_of(tables["polls"]).items()
    outcomes = (*tables["polls"]["outcomes"], *tables["brokers"]["outcomes"])
    return Snapshot(
        **of_cluster,
        **of_topics,
        **of_brokers,
        partitions=partitions,
        replicas=copies,
        future_replicas=moves.restore(tables["moves"]),
        quotas=clients.quotas if tables["polls"]["quotas_known"][0] else None,
        broker_beans={id_: clients.of(each, quotas.BROKER, str(id_)) for id_, each in beans},
        controller_beans={node: clients.of(each, quotas.CONTROLLER, node) for node, each in controllers},
        status=brokers.status_of(outcomes),
    )


def parameters_of(tables: Tables) -> Parameters:
    """Restore the options that this poll was evaluated with."""
    parameters: Parameters = _only(tables["polls"], "")["parameters"]
    return parameters


def _only(rows: Columns, prefix: str) -> dict[str, Any]:
    found = records(columns_of(polls.POLLS), prefix, rows)
    if len(found) != 1:
        raise HistoryRowsError(f"polls: expected the one row of one poll, got {len(found)}; pick one run and sequence")
    return found[0]


def _check_whole(tables: Tables) -> None:
    poll = {name: values[0] for name, values in tables["polls"].items()}
    for name, counted in dict(poll["rows"]).items():
        found = len(tables[name]["time"]) if name in tables else counted
        if found != counted:
            raise HistoryRowsError(
                f"{name}: {found} rows where the poll of run {poll['run']}, sequence {poll['sequence']} has {counted}:"
                " history lost some, or not all rows of the poll were read"
            )
