-- For Trino and Athena, translated from DuckDB's form by sqlglot. Not tried on either.
-- The last known rack of each broker.
CREATE VIEW broker_racks AS
SELECT
  cluster_id,
  broker,
  MAX_BY(rack, time) AS rack
FROM raw_brokers
WHERE
  NOT rack IS NULL
GROUP BY
  cluster_id,
  broker
