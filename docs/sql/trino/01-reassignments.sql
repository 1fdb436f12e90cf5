-- For Trino and Athena, translated from DuckDB's form by sqlglot. Not tried on either.
-- What has each reassignment moved, how long did it take, compared with the plan, and which broker held it back?
SELECT
  cluster_id,
  first_poll,
  ended,
  replicas,
  completed,
  waves,
  bytes_copied,
  seconds,
  planned_seconds,
  stuck_seconds,
  bottleneck_broker,
  bottleneck_side
FROM reassignments
ORDER BY
  first_poll DESC,
  cluster_id
