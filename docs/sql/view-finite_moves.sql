-- Moves without infinities: null is not known, and a flag says what is infinite.
CREATE VIEW finite_moves AS
SELECT
    cluster_id,
    kind,
    topic,
    topic_id,
    partition,
    broker,
    leader,
    began,
    ended,
    outcome,
    seconds,
    bytes_copied,
    rate_mean,
    CASE WHEN limit_mean < CAST('Infinity' AS DOUBLE) THEN limit_mean END AS limit_mean,
    limit_mean = CAST('Infinity' AS DOUBLE) AS unlimited,
    use_mean,
    stuck_seconds,
    never_seconds,
    CASE WHEN eta_first < CAST('Infinity' AS DOUBLE) THEN eta_first END AS eta_first,
    eta_first = CAST('Infinity' AS DOUBLE) AS eta_never,
    CASE WHEN eta_error < CAST('Infinity' AS DOUBLE) THEN eta_error END AS eta_error
FROM moves
