-- How good were the first ETAs of completed moves? An error of 0.5 is half too long.
SELECT
    cluster_id,
    DATE_TRUNC('month', began) AS month,
    COUNT(*) AS moves,
    COUNT(*) FILTER (WHERE eta_never) AS never,
    APPROX_QUANTILE(ABS(eta_error), 0.5) AS median_error,
    APPROX_QUANTILE(ABS(eta_error), 0.9) AS error_of_the_worst_tenth
FROM finite_moves
WHERE outcome = 'completed' AND (eta_first IS NOT NULL OR eta_never)
GROUP BY cluster_id, DATE_TRUNC('month', began)
ORDER BY cluster_id, month
