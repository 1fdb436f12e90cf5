-- Which topics had replicas out of sync, when, and in which state?
SELECT cluster_id, date, topic, state, SUM(samples) AS samples, COUNT(DISTINCT broker) AS brokers
FROM replica_states
WHERE state <> 'in_sync'
GROUP BY cluster_id, date, topic, state
ORDER BY samples DESC, cluster_id, date, topic, state
