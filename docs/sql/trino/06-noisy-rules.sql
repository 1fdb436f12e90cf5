-- For Trino and Athena, translated from DuckDB's form by sqlglot. Not tried on either.
-- Which alerts make the most noise? Alarms that fire often and end soon come first.
SELECT
  rule,
  COUNT(*) FILTER(WHERE
    would_fire) AS alarms,
  COUNT(*) FILTER(WHERE
    would_fire AND seconds < 600) AS shorter_than_10_minutes,
  COUNT(*) FILTER(WHERE
    NOT would_fire) AS did_not_fire,
  COUNT(DISTINCT cluster_id) AS clusters,
  COUNT(DISTINCT CAST(began AS DATE)) AS days,
  APPROX_PERCENTILE(seconds, 0.5) FILTER(WHERE
    would_fire) AS median_seconds
FROM alarm_subjects
WHERE
  NOT what_if
GROUP BY
  rule
ORDER BY
  shorter_than_10_minutes DESC,
  alarms DESC,
  rule
