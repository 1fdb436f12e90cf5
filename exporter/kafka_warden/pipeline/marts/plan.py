"""Mart of the job `plan`."""

from typing import Final

from kafka_warden.pipeline.marts.mart import Field, Mart

PLANS: Final = Mart(
    "plans",
    "One row per percentile of produce rates: the throttle for one reassignment in the cluster's last complete poll.",
    (
        Field("cluster_id", "string", "", "of the cluster"),
        Field("percentile", "double", "%", "of each partition's rate over its polls"),
        Field("as_of", "timestamp", "", "the last complete poll, on which the plan is based"),
        Field("polls", "bigint", "", "polls with rates"),
        Field("span", "double", "s", "from the first of them to the last"),
        Field("file", "string", "", "the reassignment"),
        Field("chosen", "boolean", "", "whether this plan was printed in full"),
        Field("verdict", "string", "", "`possible`, `impossible` or `not_planned`"),
        Field("problems", "array<string>", "", "why it is impossible"),
        Field("deadline", "double", "s", "requested duration of the move"),
        Field("bytes_in", "double", "bytes/s", "produced to all partitions at this percentile"),
        Field("copied", "double", "bytes", "bytes to copy"),
        Field("throttle", "double", "bytes/s", "recommended throttle; null if none is needed or none is enough"),
        Field("needed", "double", "bytes/s", "lowest throttle for the deadline; infinite if none is enough"),
        Field("allowed", "double", "bytes/s", "highest throttle by the network share; infinite without a network"),
        Field("lower_bound", "double", "bytes/s", "KIP-73's"),
        Field("upper_bound", "double", "bytes/s", "KIP-73's; null without a network"),
        Field("least_deadline", "double", "s", "shortest deadline that the network share allows"),
        Field("move_ratio", "double", "ratio", "KIP-73's"),
        Field("move_time", "double", "s", "KIP-73's; infinite for never"),
        Field("predicted", "double", "s", "by the throttle law; infinite for never"),
        Field("bottleneck_broker", "int", "", "broker that ends last"),
        Field("bottleneck_side", "string", "", "`leader` or `follower`"),
        Field("document", "string", "", "the plan as JSON (docs/plan.md)"),
    ),
    ("cluster_id", "percentile"),
)

MARTS: Final = (PLANS,)
