"""The sidecar itself: served with or without a snapshot."""

from collections.abc import Iterator

from kafka_warden.catalogue.metric import Kind, Metric, Sample, Sidecar, SidecarMetric, View

SOURCE = ("source", "broker")
SINK = ("sink",)


def _up(sidecar: Sidecar) -> Iterator[Sample]:
    for (source, broker), status in sidecar.status.items():
        yield (source, broker), int(status.up)


def _duration(sidecar: Sidecar) -> Iterator[Sample]:
    for (source, broker), status in sidecar.status.items():
        yield (source, broker), status.duration


def _last_success(sidecar: Sidecar) -> Iterator[Sample]:
    for (source, broker), status in sidecar.status.items():
        if status.last_success is not None:
            yield (source, broker), status.last_success


def _errors(sidecar: Sidecar) -> Iterator[Sample]:
    for (source, broker), status in sidecar.status.items():
        for reason, count in status.errors.items():
            yield (source, broker, reason), count


def _throttle(sidecar: Sidecar) -> Iterator[Sample]:
    for broker, seconds in sidecar.throttle_times.items():
        yield (str(broker),), seconds


def _snapshot_time(sidecar: Sidecar) -> Iterator[Sample]:
    if sidecar.snapshot_time is not None:
        yield (), sidecar.snapshot_time


def _dropped(sidecar: Sidecar) -> Iterator[Sample]:
    for family, count in sidecar.dropped.items():
        yield (family,), count


def _build(sidecar: Sidecar) -> Iterator[Sample]:
    build = sidecar.build
    yield (build.version, build.revision, build.python), 1


def _sink_up(sidecar: Sidecar) -> Iterator[Sample]:
    for sink, status in sidecar.sinks.items():
        yield (sink,), int(status.up)


def _sink_rows(sidecar: Sidecar) -> Iterator[Sample]:
    for sink, status in sidecar.sinks.items():
        yield (sink,), status.rows


def _sink_dropped(sidecar: Sidecar) -> Iterator[Sample]:
    for sink, status in sidecar.sinks.items():
        for reason, rows in status.dropped.items():
            yield (sink, reason), rows


def _sink_last_success(sidecar: Sidecar) -> Iterator[Sample]:
    for sink, status in sidecar.sinks.items():
        if status.last_success is not None:
            yield (sink,), status.last_success


def _clamped(view: View) -> Iterator[Sample]:
    yield ("replica_lag",), view.derived.clamped


SIDECAR = (
    SidecarMetric("up", "1 when all requests of this kind were answered in the last poll that sent some", SOURCE, _up),
    SidecarMetric(
        "source_duration_seconds",
        "Total duration of the requests of this kind in the last poll that sent some",
        SOURCE,
        _duration,
    ),
    SidecarMetric(
        "source_last_success_timestamp_seconds",
        "When all requests of this kind in a poll were last answered",
        SOURCE,
        _last_success,
    ),
    SidecarMetric(
        "source_errors_total",
        "Polls in which a request of this kind was not answered, by reason",
        (*SOURCE, "reason"),
        _errors,
        Kind.COUNTER,
    ),
    SidecarMetric(
        "broker_throttle_seconds",
        "Longest pause that the broker asked the sidecar for in the last poll (throttle_time_ms, KIP-219); 0 is none",
        ("broker",),
        _throttle,
    ),
    SidecarMetric(
        "snapshot_timestamp_seconds",
        "Start time of the poll that is shown. After three intervals without a new one only self-metrics are served",
        (),
        _snapshot_time,
    ),
    SidecarMetric(
        "dropped_series",
        "Series left out of /metrics because of the option limits.series or of the limit of 1,000 clients over JMX",
        ("family",),
        _dropped,
    ),
    SidecarMetric(
        "sink_up",
        "1 while history can be written, by destination (options history.parquet.path and history.kafka.topic)",
        SINK,
        _sink_up,
    ),
    SidecarMetric("sink_rows_total", "Rows of history that were written", SINK, _sink_rows, Kind.COUNTER),
    SidecarMetric(
        "sink_dropped_total",
        "Rows of history that were lost, by reason",
        (*SINK, "reason"),
        _sink_dropped,
        Kind.COUNTER,
    ),
    SidecarMetric(
        "sink_last_success_timestamp_seconds",
        "When rows of history were last written; files are written hourly (option history.parquet.roll)",
        SINK,
        _sink_last_success,
    ),
    SidecarMetric("build_info", "This program", ("version", "revision", "python"), _build, Kind.INFO),
)

CLAMPED = (
    Metric(
        "clamped_total",
        "Negative differences that were set to 0, by kind",
        ("what",),
        _clamped,
        Kind.COUNTER,
    ),
)
