"""Marts of the job `moves`."""

from typing import Final

from kafka_warden.pipeline.marts.mart import Field, Mart

_OF: Final = (
    Field("cluster_id", "string", "", "of the cluster"),
    Field("kind", "string", "", "`reassignment`, or `log_dir` for a move to another log directory of the broker"),
    Field("topic", "string", "", "topic name"),
    Field("topic_id", "string", "", "topic id; a topic that is created again has another one"),
    Field("partition", "int", "", "partition number"),
    Field("broker", "int", "", "target broker"),
)
_KEY: Final = tuple(field.name for field in _OF)

MOVES: Final = Mart(
    "moves",
    "One row per move: of a replica that a reassignment adds, or that moves to another log directory.",
    (
        *_OF,
        Field("leader", "int", "", "last broker that it was copied from; of `reassignment` only"),
        Field("began", "timestamp", "", "first poll that lists it"),
        Field("ended", "timestamp", "", "first complete poll that does not list it; null while it is running"),
        Field("last_seen", "timestamp", "", "last poll that lists it"),
        Field("seconds", "double", "s", "from `began` to `ended`, or to `last_seen`"),
        Field("uncertain_seconds", "double", "s", "uncertainty of `seconds`; null: it began before the history"),
        Field("unseen_seconds", "double", "s", "part of `seconds` without a poll that knows the moves"),
        Field("outcome", "string", "", "`completed`, `cancelled`, `running`, or `unknown` (topic deleted)"),
        Field("polls", "bigint", "", "polls that list it"),
        Field("runs", "bigint", "", "sidecar processes with such a poll"),
        Field("bytes_at_start", "double", "bytes", "first known bytes to copy"),
        Field("bytes_copied", "double", "bytes", "growth of its log, including bytes produced meanwhile"),
        Field("rate_mean", "double", "bytes/s", "`bytes_copied` / `seconds`"),
        Field("rate_max", "double", "bytes/s", "highest rate in a poll"),
        Field("limit_mean", "double", "bytes/s", "mean of the lower of its limits; infinite if it was ever unlimited"),
        Field("use_mean", "double", "ratio", "mean use of the more used limit, by all traffic that counts against it"),
        Field("stalled_seconds", "double", "s", "time without progress"),
        Field("stuck_seconds", "double", "s", "time in which it was stuck"),
        Field("causes", "map<string,double>", "s", "cause to the time for which it was stuck by it"),
        Field("never_seconds", "double", "s", "time in which its throttle was too low for it to end"),
        Field("predicted_seconds", "double", "s", "KIP-73's MoveTime of all moves, the sidecar's first value"),
        Field("predicted_bottleneck_seconds", "double", "s", "the same for the bottleneck, by the throttle law"),
        Field("prediction_error", "double", "ratio", "`predicted_seconds` / `seconds` - 1, of completed moves"),
        Field("eta_first", "double", "s", "the first ETA; infinite: never"),
        Field("eta_first_at", "timestamp", "", "poll of `eta_first`"),
        Field("eta_error", "double", "ratio", "`eta_first` / remaining time at `eta_first_at` - 1, of completed moves"),
    ),
    (*_KEY, "began"),
)

REASSIGNMENTS: Final = Mart(
    "reassignments",
    "One row per reassignment: the moves between brokers of a cluster that overlap in time.",
    (
        _OF[0],
        Field("began", "timestamp", "", "first poll that lists a replica of it"),
        Field("ended", "timestamp", "", "end of its last move; null while one is running"),
        Field("last_seen", "timestamp", "", "last poll that lists one of its replicas"),
        Field("seconds", "double", "s", "from `began` to `ended`, or to `last_seen`"),
        Field(
            "planned_seconds",
            "double",
            "s",
            "of the first wave by the throttle law: the time of its bottleneck",
        ),
        Field("replicas", "bigint", "", "replicas that it adds"),
        Field("completed", "bigint", "", "of these, completed"),
        Field("cancelled", "bigint", "", "of these, cancelled"),
        Field("waves", "bigint", "", "polls in which replicas of it began"),
        Field("bytes_copied", "double", "bytes", "by all of them; null while a part is unknown"),
        Field("stuck_seconds", "double", "s", "sum of the times in which its moves were stuck"),
        Field("bottleneck_broker", "int", "", "the broker that was busy last, with most bytes"),
        Field("bottleneck_side", "string", "", "`leader` (it sent) or `follower` (it received)"),
    ),
    ("cluster_id", "began"),
)

MOVE_SAMPLES: Final = Mart(
    "move_samples",
    "One row per move and poll that lists it.",
    (
        _OF[0],
        Field("time", "timestamp", "", "of the poll"),
        *_OF[1:],
        Field("began", "timestamp", "", "as in `moves`"),
        Field("ended", "timestamp", "", "as in `moves`"),
        Field("remaining_bytes", "double", "bytes", "bytes to copy"),
        Field("progress", "double", "ratio", "copied share; of `reassignment` only"),
        Field("rate", "double", "bytes/s", "copy rate"),
        Field("leader_limit", "double", "bytes/s", "limit of its leader; infinite if the leader does not throttle it"),
        Field("follower_limit", "double", "bytes/s", "limit of its target: follower side, or log directories"),
        Field("limit", "double", "bytes/s", "the lower limit"),
        Field("use", "double", "ratio", "use of the more used limit, by all traffic that counts against it"),
        Field("eta", "double", "s", "until it is done; infinite: never"),
        Field("stalled", "double", "s", "since its last progress"),
        Field("stuck", "string", "", "the cause while it is stuck"),
        Field("date", "date", "UTC", "day of `time`"),
    ),
    (*_KEY, "time"),
)

MARTS: Final = (MOVES, REASSIGNMENTS, MOVE_SAMPLES)
