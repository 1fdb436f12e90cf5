"""Makes docs/how-to/alert-rules.md: how to change alert rules, and the longest time from each fault to its alert."""

from typing import Final

from kafka_warden.formatting import in_time
from kafka_warden.rules.delays import Intervals, delays

USUAL: Final = (Intervals(15, 15, 10), Intervals(30, 30, 10), Intervals(60, 60, 10))

TEXT: Final = """\
# Change the alert rules

`kafka-warden rules` prints the [alert rules](../../alerts/README.md) of the installed version for Prometheus. A YAML
file changes them, so you need no checkout and no copy that you keep up to date. Made by `make docs`; do not edit.

```console
$ kafka-warden rules --values values.yml --out /etc/prometheus/kafka-warden
```

| Flag | |
|---|---|
| `--values FILE` | what to change; by default nothing |
| `--out DIR` | write `*.rules.yml` into this folder. Without it, standard output gets one file with all groups |
| `--delays` | print only the [times](#times-from-faults-to-alerts), which standard error gets otherwise |

```yaml
# values.yml: every key is optional
interval: 30s                                   # between two evaluations of every group; by default Prometheus' own
scrapeInterval: 30s                             # only for the times from faults to alerts
pollInterval: 10s                               # the same: poll.interval of the sidecar
thresholds: {disk_full: 0.95, offline_for: 2m}
severity: {KafkaReplicasOutOfSync: info}
disabled: [KafkaWardenHistoryLost, KafkaLogDirFilling/critical]
alertLabels: {team: kafka}
clusterLabel: kafka_cluster
links: {runbooks: https://wiki.example/kafka-warden/, grafana: https://grafana.example}
watchdog: true
```

- `thresholds` has the names of [thresholds.yml](../../exporter/kafka_warden/rules/thresholds.yml). Read the reason
  there first: some numbers depend on others. A value has the unit of the original: a duration such as `2m`, or a
  number.
- `severity` is for alerts with one severity. `disabled` leaves out an alert, or one severity of an alert that has
  several. Records stay: other alerts use them. The status page of the sidecar keeps the original severities.
- `clusterLabel` is the label that names a Kafka cluster, for a Prometheus in which `cluster` is the Kubernetes
  cluster. The scrape configuration sets it. The dashboards and the Alertmanager configuration of this repository use
  `cluster`.
- `links.runbooks` is the address of the folder that has `alerts/runbooks/`, or that of a sidecar, which serves them.
- `watchdog` adds `KafkaWardenWatchdog`, which always fires.

`interval`, `thresholds`, `severity`, `disabled` and `alertLabels` are also values of the
[Helm chart](kubernetes.md), below `rules`; `clusterLabel` is a value at the top of the chart's. A key, alert
or threshold that does not exist ends the command with exit code 2, and so does a value that cannot be used. One line
names the file, the key and the expected value:

```console
$ kafka-warden rules --values values.yml
kafka-warden: values.yml: thresholds.disk_full: expected a share above 0 and up to 1, such as 0.9, got '95'
```

## Times from faults to alerts
The longest time from a fault until Prometheus sends its alert, in the worst order of poll, scrape and evaluation.
`30/30/10` means 30 s between scrapes, 30 s between evaluations and 10 s between polls. The time begins when Kafka
knows of the fault: the controller fences a dead broker 9 s to 18 s after its last heartbeat. `group_wait` of
Alertmanager is not in it. The times assume the default options of the sidecar.

"""


def render() -> str:
    """Render the whole document."""
    columns = [delays({}, of) for of in USUAL]
    names = (f"{of.scrape:g}/{of.evaluation:g}/{of.poll:g}" for of in USUAL)
    lines = [f"| Alert | Fault | {' | '.join(names)} |", "|---|---|---|---|---|"]
    before = ""
    for case in columns[0]:
        alert = f"`{case.alert}`" if case.alert != before else ""
        times = " | ".join(in_time(column[case]) for column in columns)
        lines.append(f"| {alert} | {case.fault} | {times} |")
        before = case.alert
    return TEXT + "\n".join(lines) + "\n"
