-- For Trino and Athena, translated from DuckDB's form by sqlglot. Not tried on either.
-- Which brokers had a throttle that nothing used for whole days? It slows down the next repair of a replica.
SELECT
  cluster_id,
  broker,
  date,
  MIN(follower_limit_last) AS follower_limit,
  MIN(leader_limit_last) AS leader_limit
FROM broker_hour
GROUP BY
  cluster_id,
  broker,
  date
HAVING
  COUNT(*) = 24
  AND (
    (
      COUNT(follower_limit_last) = 24
      AND MAX(follower_limit_last) < CAST('Infinity' AS DOUBLE)
    )
    OR (
      COUNT(leader_limit_last) = 24
      AND MAX(leader_limit_last) < CAST('Infinity' AS DOUBLE)
    )
  )
  AND COUNT(follower_rate_max) = 24
  AND COUNT(leader_rate_max) = 24
  AND MAX(follower_rate_max) = 0
  AND MAX(leader_rate_max) = 0
ORDER BY
  date DESC,
  cluster_id,
  broker
