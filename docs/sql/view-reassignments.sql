-- A reassignment as one row: the moves of a cluster that overlap in time. A wave is what began in one poll.
-- `planned_seconds` is the time of the bottleneck by the throttle law, in the first poll. The bottleneck is the side
-- of a broker that was busy last, with the most bytes. Sums are null while a part is unknown.
CREATE VIEW reassignments AS
WITH moved AS (
    SELECT *, COALESCE(ended, last_seen) AS until
    FROM moves
    WHERE kind = 'reassignment'
), compared AS (
    SELECT
        *,
        MAX(until) OVER (
            PARTITION BY cluster_id
            ORDER BY began, topic, topic_id, partition, broker
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS busy_until
    FROM moved
), numbered AS (
    SELECT
        *,
        SUM(CASE WHEN busy_until >= began THEN 0 ELSE 1 END) OVER (
            PARTITION BY cluster_id
            ORDER BY began, topic, topic_id, partition, broker
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS reassignment
    FROM compared
), sides AS (
    SELECT cluster_id, reassignment, broker, 'follower' AS side, until, bytes_copied FROM numbered
    UNION ALL
    SELECT cluster_id, reassignment, leader AS broker, 'leader' AS side, until, bytes_copied
    FROM numbered
    WHERE leader IS NOT NULL
), busy AS (
    SELECT
        cluster_id,
        reassignment,
        broker,
        side,
        ROW_NUMBER() OVER (
            PARTITION BY cluster_id, reassignment
            ORDER BY MAX(until) DESC, SUM(bytes_copied) DESC NULLS LAST, side, broker
        ) AS place
    FROM sides
    GROUP BY cluster_id, reassignment, broker, side
), summed AS (
    SELECT
        cluster_id,
        reassignment,
        MIN(began) AS first_poll,
        MAX(last_seen) AS last_poll,
        CASE WHEN COUNT(ended) = COUNT(*) THEN MAX(ended) END AS ended,
        COUNT(*) AS replicas,
        COUNT(*) FILTER (WHERE outcome = 'completed') AS completed,
        COUNT(DISTINCT began) AS waves,
        CASE WHEN COUNT(bytes_copied) = COUNT(*) THEN SUM(bytes_copied) END AS bytes_copied,
        DATE_DIFF('second', MIN(began), MAX(until)) AS seconds,
        MIN_BY(predicted_bottleneck_seconds, began) AS planned_seconds,
        SUM(stuck_seconds) AS stuck_seconds
    FROM numbered
    GROUP BY cluster_id, reassignment
)
SELECT
    summed.*,
    busy.broker AS bottleneck_broker,
    busy.side AS bottleneck_side
FROM summed
JOIN busy
    ON busy.cluster_id = summed.cluster_id
    AND busy.reassignment = summed.reassignment
    AND busy.place = 1
