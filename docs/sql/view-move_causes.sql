-- The map `causes` of `moves` as rows.
CREATE VIEW move_causes AS
SELECT
    moves.cluster_id,
    moves.topic,
    moves.topic_id,
    moves.partition,
    moves.broker,
    moves.began,
    one.cause,
    moves.causes[one.cause] AS seconds
FROM moves
CROSS JOIN UNNEST(MAP_KEYS(moves.causes)) AS one(cause)
