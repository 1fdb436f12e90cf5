"""Makes docs/metrics.md from the catalogue, the list of beans and the golden page: `make docs`.

Also the documents of the modules beside it, and docs/openapi.json. With `--check` it only names what is not current.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from docs import (
    history_schema,
    how_it_knows,
    pipeline_marts,
    pipeline_sql,
    uses,
    versions,
)
from kafka_warden.catalogue import SELF_METRICS, Metric, Rank, SelfMetric
from kafka_warden.catalogue.cluster import CLUSTER, TOPICS, WORST
from kafka_warden.catalogue.moves import MOVES
from kafka_warden.catalogue.replicas import LONGEST, REPLICAS
from kafka_warden.catalogue.replication import MUTATIONS, REPLICATION
from kafka_warden.catalogue.self_metrics import CLAMPED
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

Every metric of `/metrics`.

- **Unknown is [absent](spec/README.md#unknown-values), unlimited is `+Inf`, a known zero is 0.** No value is NaN. A sum
  is absent while a part is unknown.
- Counters end in `_total`, infos (always 1) in `_info`. All others are gauges, except the summary
  `kafka_warden_controller_event_queue_seconds`.
- A problem, a stuck move and a state have a series only while they last. Other ages are 0 without a problem.
- [Three poll intervals](spec/README.md#old-values) after the last poll, only metrics of the exporter itself are served.
- A label value longer than {label} characters ends with `~` and a hash.
- `topics.allow` and `topics.deny` choose topics with series. `topics.uncounted` excludes topics from critical alerts.
- *Source* is the request to Kafka, the [bean](#beans) or the option from which a value comes, and its KIP.
- Alerts are links to their runbooks. Each section names its [dashboards](how-to/dashboards.md).
"""

HEAD: Final = "| Metric | Meaning | Source | Alerts |\n|---|---|---|---|\n"

RANKS_INTRODUCTION: Final = """\
## The limit of series

`/metrics` has at most `limits.series` + {constant:,} series. These {constant:,} are {brokers:,} for values by broker
(about 30 brokers), and {fixed} that do not grow with the cluster. Above that, the last ranks of this table are left out
first. Within a rank, metrics stay in the order of this page, and within a metric the worst, moving and busiest series
stay. Sums count everything.

`kafka_warden_dropped_series` counts the series that are left out. `kafka_warden_dropped_verdicts` counts those of the
first four ranks: above 0, an alert may not fire.

| Rank | Series |
|---|---|
"""

PROCESS: Final = """\
## The process

Metrics of prometheus-client, without the child process for JMX: {names}.
"""

LIMITS: Final = (
    "KIP-578: [limits](spec/limits.md), and [missing and stray logs](spec/limits.md#missing-and-stray-logs)."
)

TOPIC_VALUES: Final = """\
ISR changes are counted from poll to poll, so shorter absences do not count. The counters start at 0 with the exporter,
and when a topic is created again."""

SECTIONS: Final = (
    ("The exporter", "Served also without a snapshot of the cluster.", (*SELF_METRICS, *CLAMPED)),
    ("Cluster, partition limits, log directories", LIMITS, CLUSTER),
    ("Replication throttles", "KIP-73: [throttles](spec/throttles.md).", REPLICATION),
    ("Moves", "Reassignments of any tool, and moves between log directories: [moves](spec/moves.md).", MOVES),
    ("Replicas", "Only of followers that are behind, out of sync or moving: [states](spec/replicas.md).", REPLICAS),
    ("Topics", TOPIC_VALUES, TOPICS),
    ("Controller mutations", "KIP-599, from the active controller: [quotas](spec/quotas.md).", MUTATIONS),
    ("Tiered storage", "KIP-405 and KIP-956: [tiered](spec/tiered.md).", TIERED),
)

RANKS: Final = {
    Rank.VERDICTS: "states of replicas with a problem, causes of stuck moves",
    Rank.PROBLEMS: f"problems of throttles and tiered storage; the {LONGEST:,} longest under-replicated partitions; "
    f"the {WORST:,} topics with most partitions offline, or under `min.insync.replicas`",
    Rank.BROKERS: "values by broker, node and source",
    Rank.ALERTS: "other values that alerts read: moves that never end, tokens of clients, lag of remote copies",
    Rank.DETAILS: "other values by moving replica and follower; states without a problem",
    Rank.CLIENTS: "other values by user and client id",
    Rank.UNKNOWN_BROKERS: "values by broker of ids that no answer ever described",
    Rank.TOPICS: "other values by topic",
    Rank.RATES: "bytes in and end offsets by partition",
}

BEANS_INTRODUCTION: Final = """\
## Beans

All that is read over JMX: {count} attributes, and those of clients with quotas. Without JMX the metrics that name a
bean are absent.

| Bean | Attributes | Of |
|---|---|---|
"""

BEANS_NOTES: Final = """\

In Kafka 3.9 and 4.1:

- `LeaderReplication` exists on every broker that ever answered a follower, `FollowerReplication` while a throttled list
  names a partition of the broker. Both count listed in-sync replicas, so a rate above the limit is normal.
- `RLMCopy` appears with the first segment to copy, `RLMFetch` with the first remote read. Both vanish after an idle
  hour. The throttle times of `RemoteLogManager` [vanish, too](spec/tiered.md#problems): do not alert on their absence.
- `ControllerMutation` has [beans by client](spec/quotas.md#tokens) on the active controller. The broker that forwards a
  request has the throttle time in `Request`, with that of request quotas.
"""


def render() -> str:
    """Render the whole document."""
    samples = _samples(GOLDEN.read_text())
    parts = [INTRODUCTION.format(label=LONGEST_LABEL)]
    for title, about, metrics in SECTIONS:
        rows = "\n".join(_family(metric, about) for metric in metrics)
        sample = f"```text\n{samples[metrics[0].full_name]}\n```"
        boards = uses.dashboards_of(metric.full_name for metric in metrics)
        parts.append(f"## {title}\n\n{about} Dashboards: {boards}.\n\n{sample}\n\n{HEAD}{rows}\n")
    parts += [_ranks(), PROCESS.format(names=", ".join(f"`{name}`" for name in uses.process()))]
    return "\n".join([*parts, BEANS_INTRODUCTION.format(count=len(BEANS)) + _beans() + BEANS_NOTES])


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


def _family(metric: Metric | SelfMetric, about: str) -> str:
    """A row. What its section says once is left out: the document, and when sums are absent."""
    labels = f"{{{','.join(metric.labels)}}}" if metric.labels else ""
    source, _, document = metric.source.partition(". ") if isinstance(metric, Metric) else ("", "", "")
    found = source if not document or document in about else f"{source}. {document}"
    text = metric.help.removesuffix("; absent while a part is unknown")
    return f"|`{metric.full_name}{labels}`|{text}|{found.removesuffix(', Count')}|{uses.alerts_of(metric.full_name)}|"


def _ranks() -> str:
    constants = {"constant": BROKER_SERIES + FIXED_SERIES, "brokers": BROKER_SERIES, "fixed": FIXED_SERIES}
    rows = (f"| {number} | {about} |\n" for number, about in enumerate(RANKS.values(), 1))
    return RANKS_INTRODUCTION.format(**constants) + "".join(rows)


def _beans() -> str:
    found: dict[tuple[str, str], list[str]] = {}
    for bean in BEANS:
        found.setdefault((bean.object_name, bean.where), []).append(_attribute(bean.attribute, bean.factor))
    for clients in (CLIENT_MUTATIONS, CLIENT_REQUESTS):
        found[clients.pattern, clients.where] = [_attribute(name, of[1]) for name, of in clients.attributes.items()]
    return "".join(f"|`{name}`|{', '.join(attributes)}|{where}|\n" for (name, where), attributes in found.items())


def _attribute(name: str, factor: float) -> str:
    return f"`{name}`" + (" (ms)" if factor == MILLISECONDS else "")


def outputs() -> dict[Path, str]:
    """What every generated document has to hold."""
    return {
        HERE / "metrics.md": render(),
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
