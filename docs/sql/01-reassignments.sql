-- What has each reassignment moved, how long did it take, compared with the plan, and which broker held it back?
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
    seconds / planned_seconds - 1 AS later_than_planned,
    stuck_seconds,
    bottleneck_broker,
    bottleneck_side
FROM reassignments
ORDER BY began DESC, cluster_id
