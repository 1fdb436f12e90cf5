-- The last known rack of each broker.
CREATE VIEW broker_racks AS
SELECT cluster_id, broker, MAX_BY(rack, time) AS rack
FROM raw_brokers
WHERE rack IS NOT NULL
GROUP BY cluster_id, broker
