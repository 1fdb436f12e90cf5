"""The roll-up in SQL of DuckDB, to compare with the job: all nine marts of a history in bulk, hour by hour.

Such a history has neither limits nor quotas (docs/fleet.md): the columns of both are null, as the job's are.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kafka_warden.derive.replica_state import STATES

_MACROS: Final = """
    CREATE MACRO start_of(seconds, length) AS to_timestamp(floor(seconds / length) * length);
    CREATE MACRO whole_sum(value) AS CASE WHEN count(*) = count(value) THEN coalesce(sum(value), 0.0) END;
    CREATE MACRO whole_sum_of(part, value) AS
        CASE WHEN count(*) FILTER (part AND value IS NULL) = 0 THEN coalesce(sum(value) FILTER (part), 0.0) END;
    CREATE MACRO side_rate(floor, catch_up, flows) AS
        floor + coalesce(catch_up, CASE WHEN coalesce(flows, 0) = 0 THEN 0.0 END)"""

_TABLES: Final = {
    "polls": "",
    "brokers": "broker",
    "partitions": "topic, topic_id, partition",
    "replicas": "topic, topic_id, partition, broker",
}
"""Table to its key besides that of the poll."""

_ONCE: Final = """
    CREATE OR REPLACE VIEW {table} AS SELECT DISTINCT ON (cluster_id, run, sequence{key}) * FROM
    read_parquet('{history}/{table}/{folder}/*.parquet', hive_partitioning = false)"""

_REPLICA_MINUTE: Final = """
    SELECT cluster_id, start_of(time, 60) AS start, topic, topic_id, partition, broker,
           count(*) AS samples, count(lag_bytes) AS known_samples, max(lag_messages) AS lag_messages_max,
           avg(lag_bytes) AS lag_bytes_mean, max(lag_bytes) AS lag_bytes_max, max(lag_seconds) AS lag_seconds_max,
           max(behind_seconds) AS behind_seconds_max, count(*) FILTER (late) AS late_samples,
           count(*) FILTER (following AND NOT in_isr) AS out_of_sync_samples, histogram(state) AS states
    FROM replicas GROUP BY ALL"""

_REPLICA_HOUR: Final = """
    SELECT cluster_id, date_trunc('hour', start) AS start, topic, topic_id, partition, broker,
           sum(samples) AS samples, sum(known_samples) AS known_samples, max(lag_messages_max) AS lag_messages_max,
           sum(lag_bytes_mean * known_samples) / nullif(sum(known_samples), 0) AS lag_bytes_mean,
           max(lag_bytes_max) AS lag_bytes_max, max(lag_seconds_max) AS lag_seconds_max,
           max(behind_seconds_max) AS behind_seconds_max, sum(late_samples) AS late_samples,
           sum(out_of_sync_samples) AS out_of_sync_samples, MAP {{{states}}} AS states
    FROM read_parquet('{marts}/replica_minute/date={date}/hour={hour}/*.parquet', hive_partitioning = false)
    GROUP BY ALL"""
"""Hours of minutes, as the job makes them."""

_PARTITION_POLLS: Final = """
    CREATE OR REPLACE TABLE partition_polls AS
    WITH counts AS (
        SELECT cluster_id, run, sequence, time, topic, topic_id, count(*) AS partitions,
               whole_sum(bytes_in) AS bytes_in, count(*) FILTER (under_replicated) AS under_replicated,
               count(*) FILTER (under_min_isr) AS under_min_isr, count(*) FILTER (offline) AS offline
        FROM partitions GROUP BY ALL
    ), known AS (
        SELECT counts.* REPLACE (
                   CASE WHEN polls.under_replicated_known THEN counts.under_replicated END AS under_replicated,
                   CASE WHEN polls.min_isr_known THEN counts.under_min_isr END AS under_min_isr
               ), sum(counts.partitions) OVER (PARTITION BY cluster_id, run, sequence)
               = polls.rows['partitions'] AS whole
        FROM counts LEFT JOIN polls USING (cluster_id, run, sequence)
    )
    SELECT cluster_id, run, sequence, time, topic, topic_id, {values} FROM known"""

_REPLICA_POLLS: Final = """
    CREATE OR REPLACE TABLE replica_polls AS
    WITH counts AS (
        SELECT cluster_id, run, sequence, time, topic, topic_id, count(*) AS replicas,
               CASE WHEN count(*) FILTER (NOT following) = count(*) FILTER (position = 0)
                    THEN whole_sum_of(NOT following, size::DOUBLE) END AS bytes_stored,
               whole_sum_of(following, lag_bytes) AS lag_bytes
        FROM replicas GROUP BY ALL
    ), known AS (
        SELECT counts.*, sum(counts.replicas) OVER (PARTITION BY cluster_id, run, sequence)
               = polls.rows['replicas'] AS whole
        FROM counts LEFT JOIN polls USING (cluster_id, run, sequence)
    )
    SELECT cluster_id, run, sequence, time, topic, topic_id, {values} FROM known"""

_CLUSTER_POLLS: Final = """
    CREATE OR REPLACE TABLE cluster_polls AS
    WITH listed AS (
        SELECT cluster_id, run, sequence, count(*) FILTER (NOT coalesce(gone, false)) AS brokers
        FROM brokers GROUP BY ALL
    ), sums AS (
        SELECT cluster_id, run, sequence, whole_sum(bytes_in) AS bytes_in,
               whole_sum(under_replicated) AS under_replicated
        FROM partition_polls GROUP BY ALL
    )
    SELECT cluster_id, run, sequence, time, listed.brokers, polls.partitions AS counted,
           polls.rows['partitions'] AS partitions, polls.rows['replicas'] AS replicas, sums.bytes_in,
           polls.parameters.max_partitions AS partitions_limit,
           polls.parameters.max_broker_partitions AS broker_limit,
           polls.parameters.network_bytes_per_second AS network,
           CASE WHEN polls.under_replicated_known THEN sums.under_replicated::BIGINT END AS under_replicated
    FROM polls LEFT JOIN listed USING (cluster_id, run, sequence) LEFT JOIN sums USING (cluster_id, run, sequence)"""

_BROKER_POLLS: Final = """
    CREATE OR REPLACE TABLE broker_polls AS
    WITH counts AS (
        SELECT cluster_id, run, sequence, leader AS broker, count(*) AS found, whole_sum(bytes_in) AS bytes_in
        FROM partitions GROUP BY ALL
    ), led AS (
        SELECT counts.*, sum(found) OVER (PARTITION BY cluster_id, run, sequence) = polls.rows['partitions'] AS whole
        FROM counts LEFT JOIN polls USING (cluster_id, run, sequence)
    )
    SELECT brokers.*,
           CASE WHEN out_of_sync IS NOT NULL THEN coalesce(list_sum(map_values(out_of_sync)), 0) END AS out_of_sync_all,
           side_rate(leader_floor, leader_catch_up, leader_load.flows) AS leader_rate,
           side_rate(follower_floor, follower_catch_up, follower_load.flows) AS follower_rate,
           coalesce(CASE WHEN whole THEN led.bytes_in END, CASE WHEN leaders = 0 THEN 0.0 END) AS bytes_in
    FROM brokers LEFT JOIN led USING (cluster_id, run, sequence, broker)"""

_CLUSTER: Final = """
    SELECT cluster_id, start_of(time, {seconds}) AS start, count(*) AS polls, max(brokers) AS brokers_max,
           max(partitions) AS partitions_max, max(replicas) AS replicas_max, max(counted) AS counted_max,
           max(under_replicated) AS under_replicated_max, avg(bytes_in) AS bytes_in_mean,
           max(bytes_in) AS bytes_in_max, NULL::DOUBLE AS mutation_tokens_min,
           arg_max_null(partitions_limit, (time, run, sequence)) AS partitions_limit_last,
           arg_max_null(broker_limit, (time, run, sequence)) AS broker_limit_last,
           arg_max_null(network, (time, run, sequence)) AS network_last
    FROM cluster_polls GROUP BY ALL"""

_BROKER: Final = """
    SELECT cluster_id, start_of(time, {seconds}) AS start, broker, count(*) AS polls, avg(bytes_in) AS bytes_in_mean,
           max(bytes_in) AS bytes_in_max, avg(lag_bytes) AS lag_bytes_mean, max(lag_bytes) AS lag_bytes_max,
           max(lag_messages) AS lag_messages_max, max(out_of_sync_all) AS out_of_sync_max, {sides},
           max(replicas) AS replicas_max, max(leaders) AS leaders_max, max(counted) AS counted_max
    FROM broker_polls GROUP BY ALL"""

_SIDE: Final = """
    NULL::DOUBLE AS {side}_limit_last, avg({side}_rate) AS {side}_rate_mean, max({side}_rate) AS {side}_rate_max,
    NULL::DOUBLE AS {side}_use_mean, NULL::DOUBLE AS {side}_use_max, min({side}_headroom) AS {side}_headroom_min"""

_TOPIC: Final = """
    SELECT * FROM (
        SELECT cluster_id, start_of(time, {seconds}) AS start, topic, topic_id, max(partitions) AS partitions_max,
               avg(bytes_in) AS bytes_in_mean, max(bytes_in) AS bytes_in_max,
               max(under_replicated) AS under_replicated_max, max(under_min_isr) AS under_min_isr_max,
               max(offline) AS offline_max
        FROM partition_polls GROUP BY ALL
    ) FULL JOIN (
        SELECT cluster_id, start_of(time, {seconds}) AS start, topic, topic_id, max(replicas) AS replicas_max,
               arg_max_null(bytes_stored, (time, run, sequence)) AS bytes_stored_last, max(lag_bytes) AS lag_bytes_max
        FROM replica_polls GROUP BY ALL
    ) USING (cluster_id, start, topic, topic_id)"""

_LOG_DIR: Final = """
    SELECT cluster_id, start_of(time, 3600) AS start, broker, dir.path AS log_dir, count(*) AS polls,
           max(CASE WHEN whole THEN dir.total_bytes - dir.usable_bytes ELSE dir.bytes END)::DOUBLE AS used_bytes_max,
           arg_max_null(CASE WHEN whole THEN dir.total_bytes END, (time, run, sequence))::DOUBLE AS total_bytes_last
    FROM (
        SELECT *, coalesce(dir.total_bytes >= 0 AND dir.usable_bytes >= 0, false) AS whole
        FROM (SELECT cluster_id, run, sequence, time, broker, unnest(log_dirs) AS dir FROM brokers) WHERE dir.online
    )
    GROUP BY ALL"""

_PUT: Final = """
    COPY (
        SELECT *, strftime(start, '%Y-%m-%d') AS date, date_part('hour', start)::INT AS hour FROM ({windows})
    ) TO '{marts}/{mart}' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (date, hour), OVERWRITE_OR_IGNORE)"""


def statements(history: Path, marts: Path) -> Iterator[str]:
    """Make every mart, in the order of the job. One `DISTINCT ON` over a long history would not fit into memory."""
    yield from _MACROS.split(";")
    for folder in sorted((history / "polls").glob("date=*/hour=*")):
        yield from _of_hour(history, marts, *(part.partition("=")[2] for part in folder.parts[-2:]))


def _of_hour(history: Path, marts: Path, date: str, hour: str) -> Iterator[str]:
    folder = f"date={date}/hour={hour}"
    for table, key in _TABLES.items():
        yield _ONCE.format(table=table, key=f", {key}" if key else "", history=history, folder=folder)
    states = ", ".join(f"'{state}': sum(coalesce(states['{state}'], 0))" for state in STATES)
    yield _PUT.format(mart="replica_minute", windows=_REPLICA_MINUTE, marts=marts)
    hours = _REPLICA_HOUR.format(states=states, marts=marts, date=date, hour=int(hour))
    yield _PUT.format(mart="replica_hour", windows=hours, marts=marts)
    of_partitions = ("partitions", "bytes_in", "under_replicated", "under_min_isr", "offline")
    yield _PARTITION_POLLS.format(values=_withheld(*of_partitions))
    yield _REPLICA_POLLS.format(values=_withheld("replicas", "bytes_stored", "lag_bytes"))
    yield _CLUSTER_POLLS
    yield _BROKER_POLLS
    sides = ", ".join(_SIDE.format(side=side) for side in ("leader", "follower"))
    for grain, seconds in (("minute", 60), ("hour", 3600)):
        for subject, windows in (("topic", _TOPIC), ("cluster", _CLUSTER), ("broker", _BROKER)):
            made = windows.format(seconds=seconds, sides=sides)
            yield _PUT.format(mart=f"{subject}_{grain}", windows=made, marts=marts)
    yield _PUT.format(mart="log_dir_hour", windows=_LOG_DIR, marts=marts)


def _withheld(*values: str) -> str:
    """Each value if its poll is complete, else null."""
    return ", ".join(f"CASE WHEN whole THEN {value} END AS {value}" for value in values)
