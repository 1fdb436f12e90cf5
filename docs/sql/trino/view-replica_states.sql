-- For Trino and Athena, translated from DuckDB's form by sqlglot. Not tried on either.
-- The map `states` of `replica_hour` as rows.
CREATE VIEW replica_states AS
SELECT
  hours.cluster_id,
  hours.date,
  hours.start,
  hours.topic,
  hours.partition,
  hours.broker,
  one.state,
  hours.states[one.state] AS samples,
  hours.samples AS all_samples
FROM replica_hour AS hours
CROSS JOIN UNNEST(MAP_KEYS(hours.states)) AS one(state)
