"""Makes docs/metrics.md from the catalogue, the list of beans and the golden page: `make docs`.

Also the documents of the modules beside it, and docs/openapi.json. With `--check` it only names what is not current.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from prometheus_client import REGISTRY

from docs import (
    alert_rules,
    catalogue,
    history_schema,
    how_it_knows,
    pipeline_marts,
    pipeline_sql,
    versions,
)
from kafka_warden.catalogue import SIDECAR, Metric, Rank, SidecarMetric
from kafka_warden.catalogue.cluster import CLUSTER, TOPICS, WORST
from kafka_warden.catalogue.moves import MOVES
from kafka_warden.catalogue.replicas import LONGEST, REPLICAS
from kafka_warden.catalogue.replication import MUTATIONS, REPLICATION
from kafka_warden.catalogue.sidecar import CLAMPED
from kafka_warden.catalogue.tiered import TIERED
from kafka_warden.exposition import BROKER_SERIES, FIXED_SERIES, LONGEST_LABEL
from kafka_warden.sources.bean_list import BEANS, MILLISECONDS
from kafka_warden.sources.bean_list import MUTATIONS as CLIENT_MUTATIONS
from kafka_warden.sources.bean_list import REQUESTS as CLIENT_REQUESTS
from kafka_warden.web.api import openapi

HERE: Final = Path(__file__).parent
GOLDEN: Final = HERE.parent / "tests" / "golden" / "metrics.txt"

INTRODUCTION: Final = """\
# Metrics

All metrics of `/metrics`, with one sample each. Made from the catalogue by `make docs`; do not edit.

- **Unknown is [absent](spec/README.md#unknown-values), unlimited is `+Inf`, a known zero is 0, no value is ever NaN.**
- Gauges, except names that end in `_total` (counters) and `_info` (always 1), and the summary
  `kafka_warden_controller_event_queue_seconds`. Seconds, bytes, ratios from 0 to 1.
- Limits and usage are separate metrics: divide them in PromQL.
- A problem has a series only while it lasts. A broker or replica has one series for its present state, with the
  value 1. Counts by state have a series for each state.
- No `cluster` label: set it as a target label in Prometheus ([alerts/README.md](../alerts/README.md)).
- `kafka_warden_snapshot_timestamp_seconds` is the start time of the poll that is shown. [Three poll
  intervals](spec/README.md#old-values) after it only self-metrics are served.
- A label value has at most {label} characters. A longer one, such as a long user name, ends with `~` and a hash.
- The option `limits.series` limits all series in `/metrics` ([below](#the-limit-of-series)). `topics.allow` and
  `topics.deny` decide which topics have series, `topics.uncounted` which do not count for critical alerts.
"""

RANKS_INTRODUCTION: Final = """\
## The limit of series

`/metrics` has at most `limits.series` + {constant:,} series: {brokers:,} for values by broker, enough for about 30
brokers, and {fixed} for families that do not grow with the cluster. Above that, series are left out from the end of
this table: end offsets by partition first, verdicts last. Within a rank the families have the order of this document.
Within a family the worst, moving and busiest are kept, and a series near the limit stays as it was. Totals and sums
always count everything.
`kafka_warden_dropped_series` counts what is left out, and `kafka_warden_dropped_verdicts` the first four ranks:
above 0 an alert may not fire.

| Rank | Series |
|---|---|
"""

PROCESS: Final = """\
## The process

prometheus-client's own families of a Python process, under their usual names. They do not include the child process for
JMX.

| Family | Meaning |
|---|---|
"""

LIMITS: Final = """\
KIP-578: [limits](spec/limits.md). A broker that creates or deletes thousands of logs has replicas without a log, or
stray logs, until it has finished. When it starts, it renames stray directories to `...-stray`: their bytes stay on the
disk, and no request reports them."""

MUTATION_QUOTAS: Final = "KIP-599, from the active controller: [quotas](spec/quotas.md)."

TOPIC_VALUES: Final = """\
ISR changes are counted without JMX: the ISR of each replica is compared with that of the previous poll, so a replica
that leaves and joins again in between is not counted. The counters start at 0 when the sidecar starts, and when a topic
is created again. While reassignments are unknown, a replica that a reassignment adds counts when it joins the ISR."""

TIERED_STORAGE: Final = "KIP-405 and KIP-956, on brokers with tiered storage: [tiered](spec/tiered.md)."

SECTIONS: Final = (
    ("The sidecar", "Served with or without a snapshot.", (*SIDECAR, *CLAMPED)),
    ("Cluster, partition limits, log directories", LIMITS, CLUSTER),
    (
        "Replication throttles",
        "KIP-73: [throttles](spec/throttles.md).",
        REPLICATION,
    ),
    ("Moves", "Reassignments of any tool, and moves between log directories: [moves](spec/moves.md).", MOVES),
    ("Replicas", "Only of followers that are behind, out of sync or moving: [states](spec/replicas.md).", REPLICAS),
    ("Topics", TOPIC_VALUES, TOPICS),
    ("Controller mutations", MUTATION_QUOTAS, MUTATIONS),
    ("Tiered storage", TIERED_STORAGE, TIERED),
)

RANKS: Final = {
    Rank.VERDICTS: "states of replicas with a problem, causes of stuck moves",
    Rank.PROBLEMS: f"problems of throttles and tiered storage; the {LONGEST:,} longest under-replicated partitions; "
    f"the {WORST:,} topics with most partitions that are offline, or under `min.insync.replicas`",
    Rank.BROKERS: "values by broker, node and source",
    Rank.ALERTS: "other values that alerts read: moves that never end, tokens of clients, lag of remote copies",
    Rank.DETAILS: "other values by moving replica and follower; states without a problem",
    Rank.CLIENTS: "other values by user and client id",
    Rank.UNKNOWN_BROKERS: "values by broker of ids that host replicas and that no answer ever described",
    Rank.TOPICS: "other values by topic",
    Rank.RATES: "bytes in and end offsets by partition",
}

BEANS_INTRODUCTION: Final = """\
## Beans

Everything that is read over JMX: {count} attributes, and those of clients with quotas. The number of partitions does
not matter. Without JMX the metrics that name a bean are absent, and all others are served.
"""

BEANS_NOTES: Final = """\
What the beans count in Kafka 3.9 and 4.1:

- `LeaderReplication` exists on every broker that has ever answered a follower, with or without a throttle, and is above
  0 while followers fetch. `FollowerReplication` exists when a throttled list names a partition of the broker. Both
  count in-sync replicas of listed partitions, so a rate above the limit is normal.
- `RLMCopy` appears with the first segment to copy and `RLMFetch` with the first remote read; both vanish after an idle
  hour. The throttle times of `RemoteLogManager` are absent when nothing was throttled for a minute, and may vanish with
  their [bean](spec/tiered.md#problems): do not alert on their absence.
- `ControllerMutation` has beans by client on the active controller, after any such quota is configured
  ([quotas](spec/quotas.md#tokens)). The broker that forwards a request shows the throttle time as `Request`, with that
  of request quotas.
"""


def render() -> str:
    """Render the whole document."""
    samples = _samples(GOLDEN.read_text())
    parts = [INTRODUCTION.format(label=LONGEST_LABEL)]
    for title, about, metrics in SECTIONS:
        families = "\n".join(_family(metric, samples[metric.full_name]) for metric in metrics)
        parts.append(f"## {title}\n\n{about}\n\n```\n{families}```\n")
    parts += [_ranks(), PROCESS + "".join(_process())]
    return "\n".join([*parts, BEANS_INTRODUCTION.format(count=len(BEANS)), _beans(), BEANS_NOTES])


def api() -> str:
    """Render the OpenAPI document of `/api/v1`."""
    return json.dumps(json.loads(openapi()), indent=1) + "\n"


def _samples(page: str) -> dict[str, str]:
    """Take the first series of every family."""
    found: dict[str, str] = {}
    for line in page.splitlines():
        if not line.startswith("#"):
            found.setdefault(line.partition("{")[0].partition(" ")[0], line)
    return found


def _family(metric: Metric | SidecarMetric, sample: str) -> str:
    source = f"# Source: {metric.source}\n" if isinstance(metric, Metric) else ""
    return f"# HELP {metric.full_name} {metric.help}\n# TYPE {metric.full_name} {metric.kind}\n{source}{sample}\n"


def _ranks() -> str:
    constants = {"constant": BROKER_SERIES + FIXED_SERIES, "brokers": BROKER_SERIES, "fixed": FIXED_SERIES}
    rows = (f"| {number} | {about} |\n" for number, about in enumerate(RANKS.values(), 1))
    return RANKS_INTRODUCTION.format(**constants) + "".join(rows)


def _process() -> Iterator[str]:
    for family in REGISTRY.collect():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        yield f"| `{name}` | {family.documentation.removesuffix('.')} |\n"


def _beans() -> str:
    rows = [(bean.object_name, bean.attribute, bean.where, bean.factor) for bean in BEANS]
    for clients in (CLIENT_MUTATIONS, CLIENT_REQUESTS):
        rows += [(clients.pattern, name, clients.where, factor) for name, (_, factor) in clients.attributes.items()]
    return "\n".join(["| Bean | Attribute | Of | Unit there |", "|---|---|---|---|", *map(_row, rows), ""])


def _row(bean: tuple[str, str, str, float]) -> str:
    name, attribute, where, factor = bean
    return f"| `{name}` | `{attribute}` | {where} | {'ms' if factor == MILLISECONDS else ''} |"


def outputs() -> dict[Path, str]:
    """What every generated document has to hold."""
    sections = [(title, [metric.full_name for metric in metrics]) for title, _, metrics in SECTIONS]
    return {
        HERE / "metrics.md": render(),
        HERE / "how-to" / "alert-rules.md": alert_rules.render(),
        HERE / "catalogue.md": catalogue.render(sections),
        HERE / "history-schema.md": history_schema.render(),
        HERE / "pipeline-marts.md": pipeline_marts.render() + "\n" + pipeline_sql.render(),
        HERE / "versions.md": versions.render(),
        HERE / "openapi.json": api(),
        **how_it_knows.pictures(),
        **{HERE / name: text for name, text in pipeline_sql.elsewhere().items()},
    }


def stale(documents: Mapping[Path, str]) -> list[Path]:
    """The files that do not hold what they have to."""
    return [path for path, text in documents.items() if not path.exists() or path.read_text(encoding="utf-8") != text]


def main(*, check: bool) -> int:
    """Write what is not current; or only name it, and 1 if there is any."""
    documents = outputs()
    old = stale(documents)
    for path in old:
        if check:
            print(f"{path.name} is not current: run make docs", file=sys.stderr)
        else:
            path.write_text(documents[path], encoding="utf-8")
    return 1 if check and old else 0


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
