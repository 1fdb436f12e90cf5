-- For Trino and Athena, translated from DuckDB's form by sqlglot. Not tried on either.
-- Which throttle is enough? Past moves by throttle: where the use is far below 1, a higher one would not have helped.
SELECT
  cluster_id,
  unlimited,
  ROUND(CAST(limit_mean AS DOUBLE) / 1000000) AS limit_megabytes,
  COUNT(*) AS moves,
  APPROX_PERCENTILE(rate_mean, 0.5) AS median_rate,
  APPROX_PERCENTILE(use_mean, 0.5) AS median_use,
  APPROX_PERCENTILE(seconds, 0.5) AS median_seconds,
  COUNT(*) FILTER(WHERE
    never_seconds > 0) AS too_low
FROM finite_moves
WHERE
  kind = 'reassignment' AND outcome = 'completed'
GROUP BY
  cluster_id,
  unlimited,
  ROUND(CAST(limit_mean AS DOUBLE) / 1000000)
ORDER BY
  cluster_id,
  unlimited,
  limit_megabytes
