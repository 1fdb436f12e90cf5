-- How many bytes did moves copy between racks, by day, and what did they cost at 0.01 per GB?
-- Racks are known of the brokers in raw rows; older moves of others are counted as `unknown_rack`.
SELECT
    moves.cluster_id,
    CAST(moves.began AS DATE) AS day,
    COUNT(*) FILTER (WHERE source.rack <> target.rack) AS replicas,
    COUNT(*) FILTER (WHERE source.rack <> target.rack AND moves.bytes_copied IS NULL) AS unknown_bytes,
    COUNT(*) FILTER (WHERE source.rack IS NULL OR target.rack IS NULL) AS unknown_rack,
    SUM(moves.bytes_copied) FILTER (WHERE source.rack <> target.rack) AS known_bytes,
    SUM(moves.bytes_copied) FILTER (WHERE source.rack <> target.rack) / 1e9 * 0.01 AS price
FROM moves
LEFT JOIN broker_racks AS source
    ON source.cluster_id = moves.cluster_id AND source.broker = moves.leader
LEFT JOIN broker_racks AS target
    ON target.cluster_id = moves.cluster_id AND target.broker = moves.broker
WHERE moves.kind = 'reassignment'
GROUP BY moves.cluster_id, CAST(moves.began AS DATE)
ORDER BY day, moves.cluster_id
