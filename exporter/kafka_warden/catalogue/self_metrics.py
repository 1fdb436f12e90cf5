"""The exporter itself: served with or without a snapshot."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from kafka_warden.catalogue.metric import ExporterState, Kind, Labels, Metric, Rank, Sample, SelfMetric, known
from kafka_warden.model import PollResult, SinkStatus, SourceStatus

SOURCE = ("source", "broker")
SINK = ("sink",)
ReadState = Callable[[ExporterState], Iterable[Sample]]
ReadPoll = Callable[[PollResult], Mapping[Labels, float | None]]


def _sources(name: str, about: str, value: Callable[[SourceStatus], float | None]) -> SelfMetric:
    def read(exporter: ExporterState) -> Iterator[Sample]:
        return known((key, value(status)) for key, status in exporter.polled.status.items())

    return SelfMetric(name, about, SOURCE, read)


def _errors(exporter: ExporterState) -> Iterator[Sample]:
    for (source, broker), status in exporter.polled.status.items():
        for reason, count in status.errors.items():
            yield (source, broker, reason), count


def _sinks(value: Callable[[SinkStatus], float | None]) -> ReadState:
    return lambda exporter: known(((sink,), value(status)) for sink, status in exporter.sinks.items())


def _sink_dropped(exporter: ExporterState) -> Iterator[Sample]:
    for sink, status in exporter.sinks.items():
        for reason, rows in status.dropped.items():
            yield (sink, reason), rows


def _figures(name: str, about: str, *labels: str, polled: ReadPoll | None = None) -> SelfMetric:
    """Make a family of what the parts of the exporter count, or of what the last poll learned."""
    kinds = {"total": Kind.COUNTER, "info": Kind.INFO}
    kind = kinds.get(name.rpartition("_")[2], Kind.GAUGE)

    def read(exporter: ExporterState) -> Iterator[Sample]:
        return known((polled(exporter.polled) if polled is not None else exporter.figures.get(name, {})).items())

    return SelfMetric(name, about, labels, read, kind)


def _by_broker(values: Mapping[int, float]) -> Mapping[Labels, float]:
    return {(str(broker),): value for broker, value in values.items()}


def _dropped(exporter: ExporterState) -> Iterator[Sample]:
    counts = Counter[str]()
    for (family, _), count in exporter.dropped.items():
        counts[family] += count
    return (((family,), count) for family, count in counts.items())


SELF_METRICS = (
    _sources(
        "up",
        "1 when all requests of this kind were answered in the last poll with any",
        lambda status: int(status.up),
    ),
    SelfMetric(
        "source_not_available",
        "1 when requests of this kind cannot be used: authorization, unsupported, disabled or unreachable",
        (*SOURCE, "reason"),
        lambda exporter: (((*key, reason), 1) for key, reason in exporter.polled.not_available.items()),
    ),
    _sources(
        "source_duration_seconds",
        "Total duration of the requests of this kind in the last poll with any",
        lambda status: status.duration,
    ),
    _sources(
        "source_last_success_timestamp_seconds",
        "When all requests of this kind in a poll were last answered",
        lambda status: status.last_success,
    ),
    SelfMetric(
        "source_errors_total",
        "Polls in which a request of this kind was not answered, by reason",
        (*SOURCE, "reason"),
        _errors,
        Kind.COUNTER,
    ),
    _figures(
        "exporter_throttle_seconds",
        "Longest pause that the broker asked for in the last poll (throttle_time_ms, KIP-219); 0 is none",
        "broker",
        polled=lambda polled: _by_broker(polled.throttle_seconds),
    ),
    _figures(
        "broker_fenced_responding",
        "1 when a fenced broker answered in the last poll, else 0; absent for others, and before Kafka 4.0",
        "broker",
        polled=lambda polled: _by_broker(polled.fenced_responding),
    ),
    _figures(
        "cluster_reachable",
        "1 when a broker answered or refused access in the last poll, 0 when all refused the connection or "
        "timed out; absent when no name resolves",
        polled=lambda polled: {(): polled.cluster_reachable},
    ),
    _figures(
        "controller_reachable",
        "1 when the active controller answered a forwarded request, 0 when that timed out through two brokers; "
        "absent when no broker answers",
        polled=lambda polled: {(): polled.controller_reachable},
    ),
    _figures(
        "undescribed_topics",
        "Topics that the exporter saw and may not describe any more (ACL Describe): all counts and sums lack them",
        polled=lambda polled: {(): polled.undescribed_topics},
    ),
    SelfMetric(
        "snapshot_timestamp_seconds",
        "Start time of the poll that is shown",
        (),
        lambda exporter: known([((), exporter.snapshot_time)]),
    ),
    _figures(
        "poll_interval_seconds",
        "Time between the starts of two polls: a multiple of poll.interval while polls take longer",
    ),
    SelfMetric(
        "dropped_series",
        "Series left out by limits.series or the limit of 1,000 clients over JMX",
        ("family",),
        _dropped,
    ),
    SelfMetric(
        "dropped_verdicts",
        "Series left out by limits.series that alerts may need",
        (),
        lambda exporter: [((), sum(count for (_, rank), count in exporter.dropped.items() if rank <= Rank.ALERTS))],
    ),
    SelfMetric(
        "sink_up",
        "1 while history can be written, by destination",
        SINK,
        _sinks(lambda status: int(status.up)),
    ),
    SelfMetric("sink_rows_total", "Rows of history written", SINK, _sinks(lambda status: status.rows), Kind.COUNTER),
    SelfMetric(
        "sink_dropped_total",
        "Rows of history lost, by reason",
        (*SINK, "reason"),
        _sink_dropped,
        Kind.COUNTER,
    ),
    SelfMetric(
        "sink_last_success_timestamp_seconds",
        "When rows of history were last written; files only after history.parquet.roll",
        SINK,
        _sinks(lambda status: status.last_success),
    ),
    _figures("web_connections", "Open connections of the web server"),
    _figures(
        "web_connections_closed_total",
        "Connections that the web server closed: limit (new ones above it), or timeout (idle, or slow)",
        "reason",
    ),
    _figures(
        "web_logins_refused_total",
        "Requests with a refused login: wrong, or overload while too many waited",
        "reason",
    ),
    _figures(
        "web_config_in_use",
        "1 when the files of web.config_file are in use as they are now, 0 when the last good ones are: see /-/ready",
    ),
    _figures(
        "config_last_reload_successful",
        "1 when the configuration is used as it is now; 0 when it cannot be, or a change needs a restart",
    ),
    _figures(
        "state_last_save_successful",
        "1 when the file of state.path could be written last, 0 when not: a restart then loses start times",
    ),
    _figures("config_last_reload_success_timestamp_seconds", "When the present configuration was read"),
    _figures(
        "certificate_expiry_timestamp_seconds",
        "When a certificate expires, the first of a file: web (served), web_client_ca, kafka_client, jmx_client",
        "certificate",
    ),
    _figures(
        "certificate_lifetime_seconds",
        "How long that certificate is valid in total",
        "certificate",
    ),
    _figures(
        "jmx_child_starts_total",
        "Starts of the child process for beans: again if it ended, hung, or used too much memory",
        polled=lambda polled: {(): polled.jmx_child_starts},
    ),
    _figures(
        "jmx_source_info",
        "What beans are read from: rmi, prometheus or jolokia",
        "source",
        polled=lambda polled: {(polled.jmx_source,): 1} if polled.jmx_source is not None else {},
    ),
    SelfMetric(
        "build_info",
        "This program",
        ("version", "revision", "python"),
        lambda exporter: [((exporter.build.version, exporter.build.revision, exporter.build.python), 1)],
        Kind.INFO,
    ),
)

CLAMPED = (
    Metric(
        "clamped_total",
        "Negative differences set to 0, by kind",
        ("what",),
        lambda view: [(("replica_lag",), view.derived.clamped)],
        Kind.COUNTER,
        source="ListOffsets",
    ),
)
