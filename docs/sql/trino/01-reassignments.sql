-- For Trino and Athena, translated from DuckDB's form by sqlglot. Not tried on either.
-- What has each reassignment moved, how long did it take, compared with the plan, and which broker held it back?
SELECT
  cluster_id,
  began,
  ended,
  replicas,
  completed,
  waves,
  bytes_copied,
  seconds,
  planned_seconds,
  CAST(seconds AS DOUBLE) / planned_seconds - 1 AS later_than_planned,
  stuck_seconds,
  bottleneck_broker,
  bottleneck_side
FROM reassignments
ORDER BY
  began DESC,
  cluster_id
