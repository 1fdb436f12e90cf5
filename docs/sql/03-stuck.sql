-- What were moves stuck by, and for how long?
SELECT cluster_id, cause, COUNT(*) AS moves, SUM(seconds) AS seconds
FROM move_causes
GROUP BY cluster_id, cause
ORDER BY seconds DESC, cluster_id, cause
