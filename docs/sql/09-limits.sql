-- Which limits are reached first?
SELECT cluster_id, subject, what, outcome, now, growth_per_day, day_low, day, day_high
FROM forecasts
WHERE outcome IN ('reached', 'within')
ORDER BY day, cluster_id, subject, what
