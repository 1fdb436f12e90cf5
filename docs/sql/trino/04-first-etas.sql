-- For Trino and Athena, translated from DuckDB's form by sqlglot. Not tried on either.
-- How good were the first ETAs of completed moves? An error of 0.5 is half too long.
SELECT
  cluster_id,
  DATE_TRUNC('MONTH', began) AS month,
  COUNT(*) AS moves,
  COUNT(*) FILTER(WHERE
    eta_never) AS never,
  APPROX_PERCENTILE(ABS(eta_error), 0.5) AS median_error,
  APPROX_PERCENTILE(ABS(eta_error), 0.9) AS error_of_the_worst_tenth
FROM finite_moves
WHERE
  outcome = 'completed' AND (
    NOT eta_first IS NULL OR eta_never
  )
GROUP BY
  cluster_id,
  DATE_TRUNC('MONTH', began)
ORDER BY
  cluster_id,
  month
