"""Capacity: KIP-578's partition limits, log directories, and who writes."""

from typing import Final

from grafana.kit import alerts, looks
from grafana.kit.links import Link, board
from grafana.kit.page import Board, Line, Section
from grafana.kit.panels import About, Panel, Query, lines, number_panel
from grafana.kit.queries import CHOSEN, DIRECTORY, Scope, busiest, in_range, least, most, number, or_zero, total
from grafana.kit.tables import Value, rows

LIMIT: Final = ("KafkaPartitionLimit",)
NO_LIMIT: Final = "no limit set"
CORDONED: Final = looks.named(("no", "text"), ("yes", "orange"))
OPTION: Final = "The limit is the option limits.max_broker_partitions."

OF_LIMIT: Final = CHOSEN.limit_used("broker", "broker")
LOGS: Final = most("log_dir_bytes", DIRECTORY)
USED: Final = CHOSEN.volume_used()


def highest(scope: Scope, *see: Link) -> Panel:
    """The used share of the volume that is nearest to full."""
    return number_panel(
        About(
            "Volume used, highest log directory",
            "Used share of the volume of a log directory, including files of other programs.",
            runbooks=("KafkaLogDirFilling",),
            see=see,
        ),
        f"max ({scope.volume_used()})",
        looks.RATIO,
        alerts.VOLUME_USED,
    )


NOW: Final = (
    Line(
        4,
        [
            number_panel(
                About(
                    "Partition limit used, highest broker",
                    f"Partitions divided by the limit, of the chosen brokers (KIP-578). {OPTION}",
                    runbooks=LIMIT,
                    no_value=NO_LIMIT,
                ),
                f"max ({OF_LIMIT})",
                looks.RATIO,
                alerts.LIMIT_USED,
            ),
            number_panel(
                About(
                    "Partition limit used, cluster",
                    (
                        "Partitions divided by the limit; each partition counts once. The limit is the option "
                        "limits.max_partitions."
                    ),
                    runbooks=LIMIT,
                    no_value=NO_LIMIT,
                ),
                CHOSEN.limit_used("cluster"),
                looks.RATIO,
                alerts.LIMIT_USED,
            ),
            highest(CHOSEN),
            number_panel(
                About(
                    "Log directories offline",
                    (
                        "Log directories of the chosen brokers that are offline: their replicas are not served until "
                        "the disk is repaired and the broker is restarted."
                    ),
                ),
                or_zero(number(f"{most('log_dir_online', DIRECTORY)} == 0"), "log_dir_online"),
                steps=looks.RED_FROM_ONE,
            ),
        ],
    ),
)

PARTITIONS: Final = (
    Line(
        8,
        [
            rows(
                About(
                    "Headroom, by broker",
                    "Replicas that count against the limit (internal topics do not count), and how many more fit. "
                    f"Below 0 existing replicas keep working. {OPTION}",
                    runbooks=LIMIT,
                ),
                {"broker": "Broker"},
                [
                    Value("Partitions", most("broker_partitions", "broker"), looks.COUNT),
                    Value("Limit used", OF_LIMIT, looks.RATIO, alerts.LIMIT_USED, gauge=True, absent=NO_LIMIT),
                    Value(
                        "Room",
                        least("broker_partition_headroom", "broker"),
                        looks.COUNT,
                        ((1, "green"),),
                        [looks.UNLIMITED],
                        base="red",
                    ),
                    Value("Leads", most("broker_leaders", "broker"), looks.COUNT),
                ],
            ),
            lines(
                About("Partitions by broker", "Growth, and balance between brokers.", LIMIT),
                [Query(most("broker_partitions", "broker"), "broker {{broker}}")],
                looks.COUNT,
            ),
        ],
    ),
    Line(
        7,
        [
            lines(
                About(
                    "Partitions of the cluster",
                    "Partitions, each once, and replicas of all topics.",
                ),
                [
                    Query(most("cluster_partitions"), "partitions"),
                    Query(most("cluster_replicas"), "replicas"),
                ],
                looks.COUNT,
            ),
            lines(
                About(
                    "Missing and stray logs",
                    (
                        "Replicas without a log on their broker, and logs that belong to no replica. A broker that "
                        "creates or deletes thousands of logs has both until it has finished (KIP-578)."
                    ),
                    runbooks=LIMIT,
                ),
                [
                    Query(most("broker_replicas_without_log", "broker"), "without a log on {{broker}}"),
                    Query(most("broker_stray_replicas", "broker"), "stray on {{broker}}"),
                ],
                looks.COUNT,
            ),
        ],
    ),
)

# Tables: as lines, the bytes in of all partitions would be read at each step, which takes 20 s with 10,000 of them.
BYTES_IN: Final = most("partition_bytes_in_per_second", "topic, partition")
PEAK: Final = in_range("partition_bytes_in_per_second", "topic, partition")
MEAN: Final = total(in_range("partition_bytes_in_per_second", "topic, partition", over="avg_over_time"), "topic")

BYTES: Final = (
    Line(
        8,
        [
            rows(
                About(
                    "Log directories",
                    "Bytes of local logs, the free space on their volume, and whether new replicas are kept out "
                    "(cordoned.log.dirs).",
                ),
                {"broker": "Broker", "log_dir": "Directory"},
                [
                    Value("Logs", LOGS, looks.BYTES),
                    Value("Left", least("log_dir_usable_bytes", DIRECTORY), looks.BYTES),
                    Value("Used", USED, looks.RATIO, alerts.VOLUME_USED, gauge=True),
                    Value("Cordoned", most("log_dir_cordoned", DIRECTORY), looks.COUNT, mappings=[CORDONED]),
                ],
                sort=("Used",),
                ranked=(DIRECTORY, f"({USED} or 0 * {LOGS})"),
            ),
            lines(
                About("Size, by topic", "Bytes of the logs of all replicas: the 20 largest of the chosen topics."),
                [Query(busiest("topic_bytes", "topic"), "{{topic}}")],
                looks.BYTES,
                narrow=True,
            ),
        ],
        (14, 10),
    ),
    Line(
        9,
        [
            rows(
                About(
                    "Bytes in, by topic",
                    "Sums over the partitions of the chosen topics: the mean of the time range, and now.",
                ),
                {"topic": "Topic"},
                [
                    Value("Mean", MEAN, looks.BYTES_PER_SECOND),
                    Value("Now", total(BYTES_IN, "topic"), looks.BYTES_PER_SECOND),
                ],
                ranked=("topic", MEAN),
            ),
            rows(
                About(
                    "Bytes in, by partition",
                    "PartitionBytesInRate of KIP-73, which no bean of Kafka reports, and its maximum in the time "
                    "range, of the chosen topics.",
                    see=(board("moves", "Moves"),),
                ),
                {"topic": "Topic", "partition": "Partition"},
                [
                    Value("Maximum", PEAK, looks.BYTES_PER_SECOND),
                    Value("Now", BYTES_IN, looks.BYTES_PER_SECOND),
                ],
                ranked=("topic, partition", PEAK),
            ),
        ],
    ),
)

CAPACITY: Final = Board(
    "capacity",
    "Capacity",
    "How much room is left for partitions and for bytes, and what fills it?",
    ("broker", "topic"),
    [
        Section("How much room?", NOW),
        Section("Partitions", PARTITIONS),
        Section("Bytes", BYTES),
    ],
)
