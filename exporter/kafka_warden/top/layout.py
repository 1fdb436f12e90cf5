"""What the screen and the text output say: the head, and the curve. Pure."""

import math
from collections.abc import Callable, Iterator
from typing import Final

from kafka_warden.formatting import in_bytes, in_count, in_rate, in_time, in_utc, in_whole, in_words, visible
from kafka_warden.top.reading import Shown
from kafka_warden.views.alerts import MARKS, WARNING
from kafka_warden.views.curves import Curve
from kafka_warden.views.problems import by_severity
from kafka_warden.views.rows import Cluster
from kafka_warden.views.table_spec import UNKNOWN

SHORTEST, LONGEST = 12, 60
"""Cells of a curve."""
BLOCKS: Final = " ▁▂▃▄▅▆▇█"


def curve_line(curve: Curve, width: int) -> str:
    """Return a curve in blocks, the last value at the right, and what it says."""
    count = min(width - len(curve.about) - 2, LONGEST)
    if count < SHORTEST:
        return curve.about
    drawn, latest = [BLOCKS[0]] * count, 0
    for step, value in curve.steps(curve.values, count - 1):
        block = BLOCKS[0 if value is None else max(math.ceil(value / curve.top * (len(BLOCKS) - 1)), 1)]
        # Between two samples that are farther apart than a step, the older one goes on.
        drawn[latest + 1 : step] = [drawn[latest]] * (step - latest - 1)
        drawn[step], latest = block, step
    return f"{''.join(drawn)}  {curve.about}"


def head(shown: Shown, now: float) -> list[str]:
    """Return the lines above the tables: what needs a look, the age of the data, the cluster in numbers."""
    cluster, age, interval = shown.cluster, shown.age(now), shown.sidecar.poll_interval
    counts = by_severity(shown.problems.rows)
    found = [f"{MARKS[each]} {in_count(n, each) if each == WARNING else f'{n} {each}'}" for each, n in counts.items()]
    named = [f"cluster {visible(cluster.cluster_id)}"] if cluster is not None and cluster.cluster_id else []
    lines = [["kafka-warden", *named, *(found or ["● nothing needs a look"])], ["No data yet"]]
    if shown.time is not None and age is not None:
        data = f"{'Data' if shown.fresh else 'No fresh data. Last data'} of {in_utc(shown.time) or UNKNOWN}"
        polls = [] if interval is None else [f"a poll every {in_time(interval)}"]
        lines[1] = [data, f"{in_time(int(age))} old", *polls]
    return [" · ".join(parts) for parts in (*lines, *([] if cluster is None else [_cluster(cluster)]))]


def _cluster(cluster: Cluster) -> Iterator[str]:
    others = [f"{number} {in_words(state)}" for state, number in cluster.brokers.items() if state != "active"]
    brokers = f"brokers {cluster.brokers.get('active', 0)} of {sum(cluster.brokers.values())} active"
    yield ", ".join([brokers, *others])
    yield f"controller {visible(cluster.controller or UNKNOWN)}"
    yield f"partitions {_written(in_whole, cluster.partitions)}"
    yield f"offline {_written(in_whole, cluster.offline_partitions)}"
    yield f"under min ISR {_written(in_whole, cluster.under_min_isr_partitions)}"
    out = ", ".join(f"{number:,} {in_words(state)}" for state, number in cluster.out_of_sync.items())
    yield f"out of sync {sum(cluster.out_of_sync.values()):,}" + (f" ({out})" if out else "")
    yield f"moving {_written(in_whole, cluster.reassigning_partitions)}"
    if cluster.reassigning_partitions:
        yield f"left {_written(in_bytes, cluster.remaining_bytes)}"
        yield "never done" if cluster.eta == math.inf else f"done in {_written(in_time, cluster.eta)}"
    if cluster.recommended_throttle is not None:
        yield f"recommended throttle {in_rate(cluster.recommended_throttle)}"


def _written(write: Callable[[float], str], value: float | None) -> str:
    return UNKNOWN if value is None else write(value)
