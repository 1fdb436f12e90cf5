"""`python -m bench.live_rules`: does a backtest find the alarms that a Prometheus raised live?

Clusters with many faults are generated whose polls are still to come. A server shows the page of each poll at its time,
and Prometheus scrapes it and evaluates the rules as often. Afterwards the pipeline reads the same polls from history.
Every alert has to fire as often. A scrape and an evaluation each come up to one interval after the poll, half of it on
average: Prometheus's time has to be within one evaluation of the backtest's and one interval.
"""

import argparse
import sys
import tempfile
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from deltalake import DeltaTable

from bench.rules import serving
from fleet.cli import main as generate
from kafka_warden import cli
from kafka_warden.pipeline.jars import S3, fetch, listed
from kafka_warden.pipeline.trials import BY_MESSAGES, BY_TIME
from sandbox.jars import cache_directory
from sandbox.monitoring import ALERTS, Prometheus
from sandbox.ports import LOOPBACK
from tests.pipeline.commands import PLAIN
from tests.pipeline.pages import pages

INTERVAL: Final = 10.0
"""Seconds between two polls, two scrapes, and two evaluations."""
DENSE: Final = ("--faults", "850", "--restarts", "0", "--moves", "850", "--bursts", "300")
"""Of a week: some five faults and five reassignments of a cluster in an hour. More would be shorter."""
CLUSTERS: Final = 3
AHEAD: Final = 60.0
"""Seconds before the first poll for each cluster: for the generator, and the start of Prometheus."""
HIDDEN: Final = {
    "__name__",
    "alertname",
    "alertstate",
    "cluster",
    "explained",
    "exporter",
    "instance",
    "job",
    "severity",
}
"""Labels of alerts that a subject of the mart does not have, or not always."""

Key = tuple[str, str, tuple[tuple[str, str], ...]]
"""A cluster, an alert and its labels."""
Shown = Mapping[str, Sequence[tuple[float, str]]]
"""Of each cluster the times of polls (Unix s), and their pages."""


def live(folder: Path, shown: Shown, until: float) -> dict[Key, list[float]]:
    """Return when each alert began to fire in a Prometheus that scraped these pages at their times."""
    began: dict[Key, list[float]] = defaultdict(list)
    firing: set[Key] = set()
    files = sorted(ALERTS.glob("*.rules.yml"))

    def page_at(path: str) -> str:
        polls = shown[path[1:]]
        place = bisect_right(polls, time.time(), key=lambda each: each[0]) - 1
        return polls[place][1] if place >= 0 else ""

    with serving(page_at) as port, Prometheus(folder, [], files, scrape_interval=INTERVAL) as found:
        labels = [{"__metrics_path__": f"/{cluster}", "cluster": cluster} for cluster in shown]
        found.scrape(static_configs=[{"targets": [f"{LOOPBACK}:{port}"], "labels": each} for each in labels])
        while (now := time.time()) < until:
            time.sleep(INTERVAL / 5 - now % (INTERVAL / 5))
            before = firing
            firing = {key_of(each.labels, each.name) for each in found.alerts() if each.state == "firing"}
            for key in firing - before:
                began[key].append(time.time())
    return began


def key_of(labels: Mapping[str, str], rule: str, cluster: str = "") -> Key:
    """Return what an alert of Prometheus and one of the mart have in common."""
    kept = sorted((name, text) for name, text in labels.items() if name not in HIDDEN)
    return labels.get("cluster", cluster), rule, tuple(kept)


def backtested(folder: Path) -> dict[Key, list[float]]:
    """Return when each alert fires in the mart of these polls."""
    jars = cache_directory() / "spark-jars"
    fetch([jar for jar in listed() if jar.of != S3], jars)
    for job in (["ingest", "--input", str(folder / "history")], ["backtest"]):
        if cli.main(["pipeline", *job, "--store", str(folder / "store"), "--jars", str(jars), *PLAIN]):
            raise SystemExit(f"{job[0]} failed")
    began: dict[Key, list[float]] = defaultdict(list)
    for row in DeltaTable(folder / "store" / "alarms").to_pyarrow_table().to_pylist():
        if row["fired"] is not None and not row["what_if"] and row["rule"] not in (BY_TIME, BY_MESSAGES):
            key = key_of(dict(row["subject"]), row["rule"], row["cluster_id"])
            began[key].append(row["fired"].timestamp())
    return began


def compare(theirs: dict[Key, list[float]], ours: dict[Key, list[float]]) -> int:
    """Print each alert; return how many are not the same."""
    wrong = 0
    for key in sorted(theirs.keys() | ours.keys()):
        one, other = sorted(theirs.get(key, [])), sorted(ours.get(key, []))
        pairs = zip(one, other, strict=False)
        same = len(one) == len(other) and all(abs(a - b - INTERVAL) <= INTERVAL for a, b in pairs)
        wrong += not same
        shift = [round(b - a, 1) for a, b in zip(one, other, strict=False)]
        cluster, rule, labels = key
        counted = f"live {len(one)}, backtest {len(other)}, {shift} s"
        print(f"{'same ' if same else 'OTHER'} {cluster} {rule} {dict(labels)}: {counted}")
    return wrong


def main() -> int:
    """Compare both; the exit code shows whether all alerts were the same."""
    parser = argparse.ArgumentParser(prog="python -m bench.live_rules", description=__doc__)
    parser.add_argument("--minutes", type=float, default=36.0, help="of history, in real time (default: 36)")
    parser.add_argument("--clusters", type=int, default=CLUSTERS, help=f"default: {CLUSTERS}")
    parser.add_argument("--seed", default="1", help="of the generator (default: 1)")
    parser.add_argument("--scratch", type=Path, help="for history, marts and Prometheus (default: a temporary folder)")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = given.scratch or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        start = round((time.time() + AHEAD * given.clusters) / INTERVAL) * INTERVAL
        span = ("--days", str(given.minutes / 1440), "--interval", str(INTERVAL), "--start", str(start))
        size = ("--clusters", str(given.clusters), "--partitions", "15", "--seed", given.seed)
        if generate([*size, *span, *DENSE, "--out", str(folder)]):
            return 1
        shown: dict[str, list[tuple[float, str]]] = defaultdict(list)
        for poll, text in pages(folder / "history"):
            shown[poll.snapshot.cluster_id or ""].append((poll.snapshot.time, text))
        if time.time() > start:
            raise SystemExit("the first poll is over: this machine is busy")
        theirs = live(folder / "prometheus", shown, start + 60 * given.minutes)
        return 1 if compare(theirs, backtested(folder)) or not theirs else 0


if __name__ == "__main__":
    sys.exit(main())
