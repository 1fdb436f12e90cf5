-- Which topics grew most in the last seven days?
WITH last_days AS (
    SELECT cluster_id, MAX(start) AS newest
    FROM topic_hour
    GROUP BY cluster_id
)
SELECT
    hours.cluster_id,
    hours.topic,
    hours.topic_id,
    MAX_BY(hours.bytes_stored_last, hours.start) - MIN_BY(hours.bytes_stored_last, hours.start) AS grown_bytes,
    MAX_BY(hours.bytes_stored_last, hours.start) AS bytes_stored,
    MAX(hours.bytes_in_max) AS bytes_in_max
FROM topic_hour AS hours
JOIN last_days
    ON last_days.cluster_id = hours.cluster_id
WHERE hours.start >= last_days.newest - INTERVAL '7' DAY AND hours.bytes_stored_last IS NOT NULL
GROUP BY hours.cluster_id, hours.topic, hours.topic_id
ORDER BY grown_bytes DESC, hours.cluster_id, hours.topic, hours.topic_id
