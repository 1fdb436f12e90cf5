"""What the job `plan` writes."""

from typing import Final

from kafka_warden.pipeline.marts.mart import Field, Mart

PLANS: Final = Mart(
    "plans",
    "One row per percentile of what was produced: the throttle for one reassignment on the cluster as it last was.",
    (
        Field("cluster_id", "string", "", "of the cluster"),
        Field("percentile", "double", "%", "of the polls of each partition: what it had at most in so many of them"),
        Field("as_of", "timestamp", "", "the poll that it is planned on, the last whole one"),
        Field("polls", "bigint", "", "polls that rates are of"),
        Field("span", "double", "s", "from the first of them to the last"),
        Field("file", "string", "", "the reassignment"),
        Field("chosen", "boolean", "", "the one that was printed in full"),
        Field("verdict", "string", "", "`possible`, `impossible` or `not_planned`"),
        Field("problems", "array<string>", "", "why it is impossible"),
        Field("deadline", "double", "s", "to be done within"),
        Field("bytes_in", "double", "bytes/s", "produced to all partitions at this percentile"),
        Field("copied", "double", "bytes", "to copy"),
        Field("throttle", "double", "bytes/s", "to set; null where none is needed or none will do"),
        Field("needed", "double", "bytes/s", "the least for the deadline; infinite where none will do"),
        Field(
            "allowed", "double", "bytes/s", "the most that the share of the network allows, infinite without a network"
        ),
        Field("lower_bound", "double", "bytes/s", "KIP-73's"),
        Field("upper_bound", "double", "bytes/s", "KIP-73's; null without a network"),
        Field("least_deadline", "double", "s", "that the share allows"),
        Field("move_ratio", "double", "ratio", "KIP-73's"),
        Field("move_time", "double", "s", "KIP-73's; infinite for never"),
        Field("predicted", "double", "s", "by the law of throttled moves; infinite for never"),
        Field("bottleneck_broker", "int", "", "that ends last"),
        Field("bottleneck_side", "string", "", "`leader` or `follower`"),
        Field("document", "string", "", "all of it as JSON (docs/plan.md)"),
    ),
    ("cluster_id", "percentile"),
)

MARTS: Final = (PLANS,)
