-- The map `subject` of `alarms` as columns.
CREATE VIEW alarm_subjects AS
SELECT
    cluster_id,
    rule,
    threshold,
    what_if,
    for_seconds,
    CASE WHEN ARRAY_CONTAINS(MAP_KEYS(subject), 'topic') THEN subject['topic'] END AS topic,
    CASE WHEN ARRAY_CONTAINS(MAP_KEYS(subject), 'partition') THEN subject['partition'] END AS partition,
    CASE WHEN ARRAY_CONTAINS(MAP_KEYS(subject), 'broker') THEN subject['broker'] END AS broker,
    began,
    fired,
    ended,
    seconds,
    would_fire,
    true_alarm
FROM alarms
