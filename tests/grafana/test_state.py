"""The state of a cluster on Fleet, by Prometheus itself: the worst that is known, and the highest number is worst."""

from pathlib import Path
from typing import Final

from grafana.kit.alerts import STATE, state
from tests.support.dashboards import fill
from tests.support.rules import check_results

HEALTHY: Final = {
    "cluster_reachable": "1",
    "controller_reachable": "1",
    "snapshot_timestamp_seconds": "60",
    "under_min_isr_partitions": "0",
    "offline_partitions": "0",
}
WARNS: Final = 'ALERTS{{cluster="{}",alertname="A",exporter="{}",alertstate="{}",severity="warning"}}'
CLUSTERS: Final = {
    "no broker": {"cluster_reachable": "0", "offline_partitions": "_", "controller_reachable": "_"},
    "no data": dict.fromkeys(HEALTHY, "_") | {"snapshot_timestamp_seconds": "60 60 stale"},
    "no controller": {"controller_reachable": "0", "offline_partitions": "3"},
    "offline": {"offline_partitions": "3", "under_min_isr_partitions": "2"},
    "under min ISR": {"under_min_isr_partitions": "2"},
    "up": {},
}


def test_the_worst_counts(tmp_path: Path) -> None:
    names = [option.text for _, option in sorted(STATE.options.items(), key=lambda item: int(item[0]))]
    series = {
        f'kafka_warden_{name}{{cluster="{cluster}"}}': " ".join([value] * 5) if " " not in value else value
        for cluster, changed in (CLUSTERS | {"warning": {}}).items()
        for name, value in (HEALTHY | changed).items()
    }
    series |= {
        WARNS.format("warning", "kafka-warden", "firing"): "1x5",
        WARNS.format("under min ISR", "kafka-warden", "firing"): "1x5",
        WARNS.format("up", "another", "firing"): "1x5",
        WARNS.format("up", "kafka-warden", "pending"): "1x5",
    }
    expected = [
        {"labels": f'{{cluster="{cluster}"}}', "value": names.index(cluster)} for cluster in (*CLUSTERS, "warning")
    ]
    case = {"expr": fill(state(), {"cluster": ".*"}), "eval_time": "4m", "exp_samples": expected}
    check_results(series, [case], tmp_path)
