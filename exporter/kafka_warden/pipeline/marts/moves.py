"""Marts of the job `moves`."""

from typing import Final

from kafka_warden.pipeline.marts.mart import Field, Mart

_OF: Final = (
    Field("cluster_id", "string", "", "of the cluster"),
    Field("kind", "string", "", "`reassignment`, or `log_dir` for a move to another log directory of the broker"),
    Field("topic", "string", "", "topic name"),
    Field("topic_id", "string", "", "topic id; a topic made anew has another one"),
    Field("partition", "int", "", "partition number"),
    Field("broker", "int", "", "where it goes"),
)
_KEY: Final = tuple(field.name for field in _OF)

MOVES: Final = Mart(
    "moves",
    "One row per life of a move: of a replica that a reassignment adds, or that goes to another log directory.",
    (
        *_OF,
        Field("leader", "int", "", "broker that it was copied from last; of `reassignment` only"),
        Field("began", "timestamp", "", "first poll that showed it"),
        Field("ended", "timestamp", "", "first poll that no longer did; null while it is running"),
        Field("last_seen", "timestamp", "", "last poll that showed it"),
        Field("seconds", "double", "s", "from `began` to `ended`, or to `last_seen`"),
        Field("uncertain_seconds", "double", "s", "that `seconds` may be off by; null: it began before history"),
        Field("unseen_seconds", "double", "s", "of `seconds` through which nobody polled, or nobody told"),
        Field("outcome", "string", "", "`completed`, `cancelled`, `running`, or `unknown`: its topic is gone, say"),
        Field("polls", "bigint", "", "that showed it"),
        Field("runs", "bigint", "", "processes that did"),
        Field("bytes_at_start", "double", "bytes", "that it lacked when that was first known"),
        Field("bytes_copied", "double", "bytes", "that its log grew by, with what was produced meanwhile"),
        Field("rate_mean", "double", "bytes/s", "`bytes_copied` over `seconds`"),
        Field("rate_max", "double", "bytes/s", "the highest that a poll showed"),
        Field("limit_mean", "double", "bytes/s", "of the lower of its two limits; infinite while a poll showed none"),
        Field("use_mean", "double", "ratio", "of the limit that was used more, by everything that counts against it"),
        Field("stalled_seconds", "double", "s", "in which it got no further"),
        Field("stuck_seconds", "double", "s", "in which it was stuck"),
        Field("causes", "map<string,double>", "s", "cause to seconds that it was stuck by it"),
        Field("never_seconds", "double", "s", "in which its throttle would never have let it end"),
        Field("predicted_seconds", "double", "s", "MoveTime of KIP-73 of all moves, as the sidecar told first"),
        Field("predicted_bottleneck_seconds", "double", "s", "the same of what binds, by the law"),
        Field("prediction_error", "double", "ratio", "`predicted_seconds` / `seconds` - 1, of completed ones"),
        Field("eta_first", "double", "s", "the first ETA; infinite: never"),
        Field("eta_first_at", "timestamp", "", "poll that told it"),
        Field("eta_error", "double", "ratio", "the same of `eta_first` and the time from there, of completed ones"),
    ),
    (*_KEY, "began"),
)

MOVE_SAMPLES: Final = Mart(
    "move_samples",
    "One row per move and poll that showed it.",
    (
        _OF[0],
        Field("time", "timestamp", "", "of the poll"),
        *_OF[1:],
        Field("began", "timestamp", "", "of this life in `moves`"),
        Field("remaining_bytes", "double", "bytes", "that it lacks"),
        Field("progress", "double", "ratio", "copied of all; of `reassignment` only"),
        Field("rate", "double", "bytes/s", "what is copied"),
        Field("leader_limit", "double", "bytes/s", "of its leader; infinite where the leader does not throttle it"),
        Field("follower_limit", "double", "bytes/s", "of its target: follower side, or that of its log directories"),
        Field("limit", "double", "bytes/s", "the lower one"),
        Field("use", "double", "ratio", "of the limit that is used more, by all that counts against it"),
        Field("eta", "double", "s", "until it is done; infinite: never"),
        Field("stalled", "double", "s", "since it last got further"),
        Field("stuck", "string", "", "the cause while it is stuck"),
    ),
    (*_KEY, "time"),
)

MARTS: Final = (MOVES, MOVE_SAMPLES)
