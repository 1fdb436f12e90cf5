-- How many bytes did moves copy between racks by day, and what did they cost at a price of 0.01 per GB?
SELECT
    moves.cluster_id,
    CAST(moves.began AS DATE) AS day,
    COUNT(*) AS replicas,
    COUNT(*) - COUNT(moves.bytes_copied) AS unknown,
    SUM(moves.bytes_copied) AS known_bytes,
    SUM(moves.bytes_copied) / 1e9 * 0.01 AS price
FROM moves
JOIN broker_racks AS source
    ON source.cluster_id = moves.cluster_id AND source.broker = moves.leader
JOIN broker_racks AS target
    ON target.cluster_id = moves.cluster_id AND target.broker = moves.broker
WHERE moves.kind = 'reassignment' AND source.rack <> target.rack
GROUP BY moves.cluster_id, CAST(moves.began AS DATE)
ORDER BY day, moves.cluster_id
