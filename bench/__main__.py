"""`python -m bench`: builds the cluster, measures, prints the table."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import brokers, jmx, machine, memory, polling, scrape
from bench.cluster import SETTINGS, Target, bench_cluster
from bench.procfs import load_average
from bench.report import Report, Row
from sandbox import Cluster

PARTITIONS = 10_005

Measure = Callable[[Target, Cluster], Iterator[Row]]
PARTS: dict[str, Measure] = {
    "poll": lambda target, _: polling.measure(target),
    "jmx": lambda target, _: jmx.measure(target),
    "scrape": lambda target, _: scrape.measure(target),
    "memory": lambda target, _: memory.measure(target),
    "brokers": brokers.measure,
}
"""In this order: the last one restarts a broker."""


def main() -> int:
    """Run the chosen benchmarks; the exit code shows whether every target was reached."""
    options = _options()
    report = Report(machine.describe(SETTINGS))
    _say(f"starting the cluster and creating {options.partitions} partitions with three replicas each")
    with bench_cluster(options.partitions) as cluster:
        target = Target.of(cluster, options.partitions)
        for name in options.only or PARTS:
            _say(f"measuring: {name} (load average {load_average():.1f})")
            _measure(name, target, cluster, report)
    print(report.to_markdown())
    if options.json:
        options.json.write_text(json.dumps(report.to_dict(), indent=2) + "\n", encoding="utf-8")
    return 0 if all(row.reached for row in report.rows) and not report.skipped else 1


def _measure(name: str, target: Target, cluster: Cluster, report: Report) -> None:
    """Add the rows of one part; a part that fails does not stop the others."""
    try:
        for row in PARTS[name](target, cluster):
            _say(row.to_line())
            report.rows.append(row)
    except Exception as failure:  # noqa: BLE001  # it is in the report
        report.skipped[name] = f"{type(failure).__name__}: {failure}"
        _say(f"  not measured: {report.skipped[name]}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", action="append", choices=PARTS, help="measure this part only; may be repeated")
    parser.add_argument("--partitions", type=int, default=PARTITIONS, help=f"default: {PARTITIONS}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything to this file, too")
    return parser.parse_args()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
