-- What has each reassignment moved, how long did it take, and which broker held it back?
-- The plan is that of the first wave, so only reassignments of one wave are compared with it.
SELECT
    cluster_id,
    began,
    ended,
    replicas,
    completed,
    waves,
    bytes_copied,
    seconds,
    planned_seconds,
    CASE
        WHEN waves = 1 AND planned_seconds > 0 AND planned_seconds < CAST('Infinity' AS DOUBLE)
        THEN seconds / planned_seconds - 1
    END AS later_than_planned,
    stuck_seconds,
    bottleneck_broker,
    bottleneck_side
FROM reassignments
ORDER BY began DESC, cluster_id
