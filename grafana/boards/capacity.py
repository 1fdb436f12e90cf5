"""Capacity: KIP-578's partition limits, log directories, and who writes."""

from typing import Final

from grafana.kit import looks
from grafana.kit.links import board
from grafana.kit.page import Board, Line, Section
from grafana.kit.panels import About, Query, bars, lines, number_panel
from grafana.kit.queries import FINITE, busiest, least, most, number, or_zero, rate, total
from grafana.kit.tables import Value, rows

DIRECTORY: Final = "broker, log_dir"
BROKER_LIMIT: Final = ("KafkaBrokerPartitionLimit",)
CLUSTER_LIMIT: Final = ("KafkaClusterPartitionLimit",)
NEAR: Final[looks.Steps] = ((0.8, "orange"), (1, "red"))
NO_LIMIT: Final = "no limit set"
CORDONED: Final = looks.named(("no", "text"), ("yes", "orange"))
OPTION: Final = "The limit is the option limits.max_broker_partitions."

OF_LIMIT: Final = f"{most('broker_partitions', 'broker')} / ({least('broker_partition_limit', 'broker')} {FINITE})"
USED: Final = f"1 - {least('log_dir_usable_bytes', DIRECTORY)} / {most('log_dir_total_bytes', DIRECTORY)}"

NOW: Final = (
    Line(
        4,
        [
            number_panel(
                About(
                    "Partition limit used, highest broker",
                    f"Partitions divided by the limit, of the chosen brokers (KIP-578). {OPTION}",
                    runbooks=BROKER_LIMIT,
                    no_value=NO_LIMIT,
                ),
                f"max ({OF_LIMIT})",
                looks.RATIO,
                NEAR,
            ),
            number_panel(
                About(
                    "Partition limit used, cluster",
                    (
                        "Partitions divided by the limit; each partition counts once. The limit is the option "
                        "limits.max_partitions."
                    ),
                    runbooks=CLUSTER_LIMIT,
                    no_value=NO_LIMIT,
                ),
                f"{most('cluster_partitions')} / ({least('cluster_partition_limit')} {FINITE})",
                looks.RATIO,
                NEAR,
            ),
            number_panel(
                About(
                    "Volume used, highest log directory",
                    ("Used share of the volume of a log directory, including files of other programs."),
                    runbooks=("KafkaLogDirFilling",),
                ),
                f"max ({USED})",
                looks.RATIO,
                ((0.8, "orange"), (0.9, "red")),
            ),
            number_panel(
                About(
                    "Log directories offline",
                    (
                        "Log directories of the chosen brokers that are offline: their replicas are not served until "
                        "the disk is repaired and the broker is restarted."
                    ),
                    runbooks=("KafkaLogDirOffline",),
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
            bars(
                About(
                    "Partition limit used, by broker",
                    f"Internal topics do not count. {OPTION}",
                    runbooks=BROKER_LIMIT,
                    no_value=NO_LIMIT,
                ),
                Query(OF_LIMIT, "broker {{broker}}"),
                looks.RATIO,
                NEAR,
                1,
            ),
            rows(
                About(
                    "Headroom, by broker",
                    (
                        "Replicas that count against the limit (internal topics do not count), and how many more fit. "
                        "Below 0 existing replicas keep working."
                    ),
                    runbooks=BROKER_LIMIT,
                ),
                {"broker": "Broker"},
                [
                    Value("Partitions", most("broker_partitions", "broker"), looks.COUNT),
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
        ],
    ),
    Line(
        8,
        [
            lines(
                About(
                    "Partitions of the cluster",
                    "Partitions, each once, and replicas of all topics.",
                    runbooks=CLUSTER_LIMIT,
                ),
                [
                    Query(most("cluster_partitions"), "partitions"),
                    Query(most("cluster_replicas"), "replicas"),
                ],
                looks.COUNT,
            ),
            lines(
                About("Partitions by broker", "Growth, and balance between brokers.", BROKER_LIMIT),
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
                    "Missing and stray logs",
                    (
                        "Replicas without a log on their broker, and logs that belong to no replica. A broker that "
                        "creates or deletes thousands of logs has both until it has finished (KIP-578)."
                    ),
                    runbooks=BROKER_LIMIT,
                ),
                [
                    Query(most("broker_replicas_without_log", "broker"), "without a log on {{broker}}"),
                    Query(most("broker_stray_replicas", "broker"), "stray on {{broker}}"),
                ],
                looks.COUNT,
            ),
            lines(
                About(
                    "Under min ISR, by leader",
                    "The first effect of a broker above its limits.",
                    runbooks=("KafkaPartitionUnderMinIsr",),
                    see=(board("replicas", "Replica health"),),
                ),
                [Query(most("broker_under_min_isr_partitions", "broker"), "broker {{broker}}")],
                looks.COUNT,
            ),
        ],
    ),
)

DISKS: Final = (
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
                    Value("Logs", most("log_dir_bytes", DIRECTORY), looks.BYTES),
                    Value("Left", least("log_dir_usable_bytes", DIRECTORY), looks.BYTES),
                    Value("Volume used", USED, looks.RATIO, ((0.8, "orange"), (0.9, "red")), gauge=True),
                    Value("Cordoned", most("log_dir_cordoned", DIRECTORY), looks.COUNT, mappings=[CORDONED]),
                ],
                sort="Volume used",
            ),
            lines(
                About("Bytes of local logs", "By broker, all of its directories."),
                [Query(total(most("log_dir_bytes", DIRECTORY), "broker"), "broker {{broker}}")],
                looks.BYTES,
            ),
        ],
    ),
)

TOPICS: Final = (
    Line(
        8,
        [
            lines(
                About("Size, by topic", "Bytes of the logs of all replicas: the 20 largest of the chosen topics."),
                [Query(busiest(20, most("topic_bytes", "topic")), "{{topic}}")],
                looks.BYTES,
            ),
            lines(
                About("Messages in, by topic", "Messages appended per second: the 20 busiest of the chosen topics."),
                [Query(busiest(20, most("topic_messages_in_per_second", "topic")), "{{topic}}")],
                looks.PER_SECOND,
            ),
        ],
    ),
)

TRAFFIC: Final = (
    Line(
        9,
        [
            lines(
                About(
                    "Bytes in, by partition",
                    (
                        "PartitionBytesInRate of KIP-73, which no bean of Kafka reports: the 20 busiest partitions of "
                        "the chosen topics."
                    ),
                    see=(board("moves", "Moves"),),
                ),
                [
                    Query(
                        busiest(20, most("partition_bytes_in_per_second", "topic, partition")),
                        "{{topic}}-{{partition}}",
                    )
                ],
                looks.BYTES_PER_SECOND,
            ),
            lines(
                About("Bytes in, by topic", "The sum over partitions: the 20 busiest of the chosen topics."),
                [
                    Query(
                        busiest(20, total(most("partition_bytes_in_per_second", "topic, partition"), "topic")),
                        "{{topic}}",
                    )
                ],
                looks.BYTES_PER_SECOND,
            ),
        ],
    ),
    Line(
        8,
        [
            lines(
                About("Clients, by broker", "Bytes produced to and consumed from each broker. Empty without JMX."),
                [
                    Query(rate("broker_bytes_in_total", "broker"), "in on {{broker}}"),
                    Query(rate("broker_bytes_out_total", "broker"), "out of {{broker}}"),
                ],
                looks.BYTES_PER_SECOND,
            ),
            lines(
                About("Replication, by broker", "Bytes between brokers, including moves. Empty without JMX."),
                [
                    Query(rate("broker_replication_bytes_in_total", "broker"), "in on {{broker}}"),
                    Query(rate("broker_replication_bytes_out_total", "broker"), "out of {{broker}}"),
                ],
                looks.BYTES_PER_SECOND,
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
        Section("Bytes on disk", DISKS),
        Section("Which topics?", TOPICS),
        Section("Inbound and outbound traffic", TRAFFIC),
    ],
)
