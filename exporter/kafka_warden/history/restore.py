"""Restores the snapshot of one poll from its rows, to evaluate it again.

Rows may have any order. The memory is not stored: a replay computes it from the polls of a run, starting with one whose
`remembered` is not `kept`.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

import numpy as np

from kafka_warden.errors import HistoryRowsError
from kafka_warden.history.column_types import PythonValue
from kafka_warden.history.poll import topic_id_bytes
from kafka_warden.history.schema import BY_NAME, columns_of
from kafka_warden.history.tables import moves, quotas
from kafka_warden.history.tables.records import Directory
from kafka_warden.model import (
    UNKNOWN,
    Broker,
    ClientBean,
    FutureReplica,
    LogDir,
    Parameters,
    PartitionTable,
    ProcessBeans,
    QuotaEntity,
    ReplicaTable,
    Snapshot,
)

Columns = Mapping[str, Sequence[PythonValue]]
"""Values of the rows of one poll by column, `None` for null: the result of `pyarrow.Table.to_pydict`."""

_DTYPES: Final = {"boolean": np.bool_, "int": np.int32, "bigint": np.int64, "double": np.float64}


def snapshot_of(tables: Mapping[str, Columns]) -> Snapshot:
    """Restore the snapshot of one poll. `tables` needs all tables except `restored`, with the rows of this poll only.

    Raises:
        HistoryRowsError: `polls` has not exactly one row, or rows of another table are missing.
    """
    tables = {name: _read(name, columns) for name, columns in tables.items()}
    poll = _only(tables["polls"])
    _check_whole(poll, tables)
    topics = _topics(tables["configs"])
    partitions, order = _partitions(tables["partitions"], topics)
    replicas = _replicas(tables["replicas"], partitions, topics)
    brokers, clients = tables["brokers"], _clients(tables["quotas"])
    return Snapshot(
        time=poll["time"],
        clock=poll["clock"],
        cluster_id=poll["cluster_id"],
        topics=tuple(topics),
        topic_ids=tuple(topic_id_bytes(uid) for uid in topics.values()),
        partitions=_partition_table(partitions, replicas, tables["partitions"], order),
        replicas=replicas,
        brokers=_brokers(brokers),
        controller=poll["controller"],
        kafka_version=poll["kafka_version"],
        offsets_at={row["broker"]: row["offsets_at"] for row in _each(brokers) if not np.isnan(row["offsets_at"])},
        metadata_ages={
            row["broker"]: row["metadata_stale"] for row in _each(brokers) if not np.isnan(row["metadata_stale"])
        },
        log_dirs=_log_dirs(brokers),
        placed=_placed(brokers),
        future_replicas=_future(tables["moves"]),
        log_gaps={row["broker"]: row["log_gaps"].to_model() for row in _each(brokers) if row["log_gaps"] is not None},
        broker_configs=_configs(tables["configs"], "broker"),
        topic_configs=_configs(tables["configs"], "topic"),
        reassignments_known=poll["reassignments_known"],
        quotas=_quotas(tables["quotas"]) if poll["quotas_known"] else None,
        quorum=poll["quorum"],
        controller_window=poll["controller_window"],
        broker_beans={
            row["broker"]: _process(row["beans"], clients, (quotas.BROKER, str(row["broker"])))
            for row in _each(brokers)
            if row["beans"] is not None
        },
        controller_beans={
            beans.node: _process(beans, clients, (quotas.CONTROLLER, beans.node)) for beans in poll["controllers"]
        },
        status=dict(each.to_model() for outcomes in (poll["outcomes"], *brokers["outcomes"]) for each in outcomes),
    )


def parameters_of(tables: Mapping[str, Columns]) -> Parameters:
    """Restore the options that this poll was evaluated with."""
    parameters: Parameters = _only(_read("polls", tables["polls"]))["parameters"]
    return parameters


def document_of(restored: Columns) -> Mapping[str, Any]:
    """Restore the state file that the first poll of a process was evaluated with.

    Raises:
        HistoryRowsError: pieces are missing.
    """
    parts = dict(zip(restored["part"], restored["text"], strict=True))
    if not parts or sorted(parts) != list(range(restored["parts"][0])):
        raise HistoryRowsError(f"restored: pieces are missing, there are {sorted(parts)}; read all rows of the poll")
    document: Mapping[str, Any] = json.loads("".join(parts[part] for part in sorted(parts)))
    return document


def _read(name: str, columns: Columns) -> dict[str, Any]:
    """Convert to values of the model."""
    return {
        column.name: [column.type.read(value) for value in columns[column.name]]
        for column in columns_of(BY_NAME[name])
        if column.name in columns
    }


def _each(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _only(columns: Mapping[str, Any]) -> dict[str, Any]:
    rows = _each(columns)
    if len(rows) != 1:
        raise HistoryRowsError(f"polls: expected the one row of one poll, got {len(rows)}; pick one run and sequence")
    return rows[0]


def _check_whole(poll: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]) -> None:
    for name, columns in tables.items():
        found, wanted = len(columns["time"]), poll["rows"].get(name)
        if wanted is not None and found != wanted:
            raise HistoryRowsError(
                f"{name}: {found} rows where the poll of run {poll['run']}, sequence {poll['sequence']} has {wanted}:"
                " history lost some, or not all rows of the poll were read"
            )


def _topics(configs: Mapping[str, Any]) -> dict[str, str]:
    named = zip(configs["topic"], configs["topic_id"], strict=True)
    return dict(sorted((topic, uid) for topic, uid in named if uid is not None))


def _array(columns: Mapping[str, Any], name: str, order: np.ndarray, table: str) -> np.ndarray:
    """Return a column in the order of the model, with its type in the model."""
    column = next(each for each in BY_NAME[table].columns if each.name == name)
    ordered: np.ndarray = np.array(columns[name], _DTYPES[str(column.type)])[order]
    return ordered


def _partitions(columns: Mapping[str, Any], topics: Mapping[str, str]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    place = {topic: index for index, topic in enumerate(topics)}
    topic = np.array([place.get(name, UNKNOWN) for name in columns["topic"]], np.int32)
    number = np.array(columns["partition"], np.int32)
    order = np.lexsort((number, topic))
    if (topic == UNKNOWN).any():
        raise HistoryRowsError("partitions: some have topics that configs does not have; read all rows of the poll")
    return {"topic": topic[order], "number": number[order]}, order


def _replicas(
    columns: Mapping[str, Any], partitions: Mapping[str, np.ndarray], topics: Mapping[str, str]
) -> ReplicaTable:
    place = {topic: index for index, topic in enumerate(topics)}
    keys = zip(partitions["topic"].tolist(), partitions["number"].tolist(), strict=True)
    row_of = {key: row for row, key in enumerate(keys)}
    try:
        partition = np.array(
            [
                row_of[place[topic], number]
                for topic, number in zip(columns["topic"], columns["partition"], strict=True)
            ],
            np.int32,
        )
    except KeyError as missing:
        raise HistoryRowsError(f"replicas: one has a partition that is missing: {missing}") from missing
    order = np.lexsort((np.array(columns["position"], np.int32), partition))
    made = {
        name: _array(columns, name, order, "replicas")
        for name in ReplicaTable.__slots__
        if name not in {"partition", "sized_at"}
    }
    sized_at = np.nan_to_num(_array(columns, "sized_at", order, "replicas"), nan=0.0)
    return ReplicaTable(partition=partition[order], sized_at=sized_at, **made)


def _partition_table(
    partitions: Mapping[str, np.ndarray], replicas: ReplicaTable, columns: Mapping[str, Any], order: np.ndarray
) -> PartitionTable:
    names = ("leader", "leader_epoch", "start", "tiered", "copy_due", "reassigning")
    made = {name: _array(columns, name, order, "partitions") for name in names}
    leads = np.flatnonzero(made["leader"][replicas.partition] == replicas.broker)
    leader_row = np.full(len(order), UNKNOWN, np.int32)
    leader_row[replicas.partition[leads]] = leads
    return PartitionTable(topic=partitions["topic"], number=partitions["number"], leader_row=leader_row, **made)


def _brokers(columns: Mapping[str, Any]) -> dict[int, Broker]:
    return {
        row["broker"]: Broker(row["broker"], row["host"], row["port"], row["rack"], row["fenced"], row["gone"])
        for row in _each(columns)
        if row["host"] is not None
    }


def _log_dirs(columns: Mapping[str, Any]) -> tuple[LogDir, ...]:
    return tuple(
        LogDir(row["broker"], *(getattr(each, name) for name in Directory.__slots__))
        for row in _each(columns)
        for each in row["log_dirs"] or ()
    )


def _placed(columns: Mapping[str, Any]) -> dict[int, dict[tuple[str, int], str]]:
    return {
        row["broker"]: {(each.topic, each.partition): each.log_dir for each in row["placed"]}
        for row in _each(columns)
        if row["placed"] is not None
    }


def _configs(columns: Mapping[str, Any], kind: str) -> dict[Any, Any]:
    return {row[kind]: row[f"{kind}_config"] for row in _each(columns) if row[f"{kind}_config"] is not None}


def _future(columns: Mapping[str, Any]) -> tuple[FutureReplica, ...]:
    rows = (row for row in _each(columns) if row["kind"] == moves.LOG_DIR)
    found = (FutureReplica(*(row[name] for name in FutureReplica.__slots__)) for row in rows)
    return tuple(sorted(found, key=lambda each: (each.broker, each.topic, each.partition)))


def _quotas(columns: Mapping[str, Any]) -> tuple[QuotaEntity, ...]:
    rows = sorted((row for row in _each(columns) if row["kind"] == quotas.CONFIGURED), key=itemgetter("position"))
    return tuple(QuotaEntity(row["user"], row["client_id"], row["values"]) for row in rows)


Clients = Mapping[tuple[str, str, str], list[ClientBean]]
"""Beans by kind, process and node."""


def _clients(columns: Mapping[str, Any]) -> Clients:
    found: dict[tuple[str, str, str], list[ClientBean]] = defaultdict(list)
    for row in sorted(_each(columns), key=itemgetter("position")):
        if row["kind"] != quotas.CONFIGURED:
            bean = ClientBean(row["user"], row["client_id"], row["values"])
            found[row["kind"], row["process"], row["node"]].append(bean)
    return found


def _process(beans: Any, clients: Clients, process: tuple[str, str]) -> ProcessBeans:
    mutations, requests = (tuple(clients.get((kind, *process), ())) for kind in (quotas.MUTATION, quotas.REQUEST))
    return ProcessBeans(beans.at, beans.values, mutations, requests)
