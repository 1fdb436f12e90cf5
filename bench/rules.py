"""`python -m bench.rules`: what the rules of `alerts/` cost a Prometheus that watches 20 large clusters.

One server answers with the pages of `bench/rules_pages.py`, one for each cluster. Prometheus scrapes and evaluates them
every 15 s.
"""

import argparse
import json
import re
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from urllib.request import urlopen

from bench.procfs import cpu_seconds, load_average
from bench.report import Row, median, show
from bench.rules_pages import BROKERS, KINDS, NOW, page
from sandbox.monitoring import ALERTS, Prometheus
from sandbox.ports import LOOPBACK
from sandbox.serving import Reply, Server
from sandbox.waiting import wait_for

INTERVAL: Final = 15.0
"""Seconds between two scrapes, and between two evaluations."""
LOOK: Final = 3.0
TIMES: Final = 5
ANSWER_SECONDS: Final = 120.0
STUCK: Final = "KafkaReassignmentStuck"
LINE: Final = "\n"
"""After an expression, which may end with a comment."""
TARGET: Final = 1.0
"""Seconds for which a group may be evaluated, in the median."""
CLUSTERS: Final = ("stuck", *["moves"] * 11, *["rates"] * 6, *["tiered"] * 2)


@contextmanager
def serving(page_at: Callable[[str], str]) -> Iterator[int]:
    """Serve the page of each path, and an error where it is empty; yield the port."""

    def reply(request: BaseHTTPRequestHandler, _: bytes) -> Reply:
        body = page_at(request.path).encode()
        return 200 if body else 503, {"Content-Type": "text/plain; version=0.0.4"}, body

    with Server(reply) as server:
        yield server.server_port


Rule = tuple[str, int, str]
"""Group, place in it, and name."""


@dataclass
class Seconds:
    """Seconds that each evaluation took, of groups by their names and of rules."""

    groups: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    rules: dict[Rule, list[float]] = field(default_factory=lambda: defaultdict(list))
    read_before: set[tuple[str, str]] = field(default_factory=set)

    def read(self, prometheus: Prometheus) -> None:
        """Add the last evaluation of each group, unless it is known.

        Raises:
            RuntimeError: A rule failed.
        """
        for group in _groups(prometheus):
            evaluation = group["name"], group["lastEvaluation"]
            if evaluation in self.read_before:
                continue
            self.read_before.add(evaluation)
            self.groups[group["name"]].append(group["evaluationTime"])
            for place, rule in enumerate(group["rules"], 1):
                if rule["health"] == "err":
                    raise RuntimeError(f"{rule['name']}: {rule['lastError']}")
                self.rules[group["name"], place, rule["name"]].append(rule["evaluationTime"])


def measure(rules: Path, kinds: Sequence[str], evaluations: int, warm_up: float) -> Iterator[Row]:
    """Evaluate the rules until every alert of a stuck move fires, then `evaluations` times, which count.

    A group that takes longer than the interval is evaluated less often. Then each expression is asked for alone,
    without scrapes and rules: its CPU depends less on the load of the machine. It lacks the texts of alerts, and
    writing what a rule records.
    """
    pages = ["".join(page(kind)) for kind in kinds]

    def page_now(path: str) -> str:
        return pages[int(path[1:])].replace(NOW, f"{time.time():.3f}")

    with tempfile.TemporaryDirectory() as folder, serving(page_now) as port:
        files = [Path(shutil.copy(file, folder)) for file in sorted(rules.glob("*.rules.yml"))]
        with Prometheus(Path(folder) / "prometheus", [], files, scrape_interval=INTERVAL) as prometheus:
            prometheus.scrape(static_configs=[_target(port, *each) for each in enumerate(kinds)])
            began = time.monotonic()
            wait_for(lambda: len(prometheus.query("up == 1")) == len(kinds), 120, "all pages are scraped")
            expected = len(BROKERS) * kinds.count("stuck")
            wait_for(lambda: _firing(prometheus) >= expected, 900, f"{expected} alerts fire", LOOK)
            time.sleep(max(0.0, warm_up - (time.monotonic() - began)))
            seconds = yield from _watch(prometheus, evaluations)
            yield from _group_rows(seconds)
            now, groups = time.time(), _groups(prometheus)
            for file in files:
                file.write_text("groups: []")
            prometheus.scrape(static_configs=[])
            wait_for(lambda: not _groups(prometheus), 300, "no rule is evaluated")
            cpu = {
                (group["name"], place, rule["name"]): _cpu(prometheus, rule["query"], now)
                for group in groups
                for place, rule in enumerate(group["rules"], 1)
            }
    yield from _rule_rows(seconds, cpu)


def _target(port: int, number: int, kind: str) -> dict[str, object]:
    labels = {"cluster": f"{number}-{kind}", "instance": f"warden-{number}", "__metrics_path__": f"/{number}"}
    return {"targets": [f"{LOOPBACK}:{port}"], "labels": labels}


def _watch(prometheus: Prometheus, evaluations: int) -> Generator[Row, None, Seconds]:
    seconds, missed, used = Seconds(), _missed(prometheus), cpu_seconds(prometheus.pid or 0)
    began = time.monotonic()
    while (passed := time.monotonic() - began) < evaluations * INTERVAL or not _groups_read(prometheus, seconds):
        time.sleep(LOOK)
        seconds.read(prometheus)
    used = (cpu_seconds(prometheus.pid or 0) - used) / passed
    series = prometheus.query("sum(scrape_samples_scraped)")[0].value
    yield Row("CPU of Prometheus", used, "cores", None, f"{series:.0f} series, load average {load_average():.1f}")
    note = f"{_firing(prometheus)} alerts of stuck moves fire"
    yield Row("iterations missed", _missed(prometheus) - missed, "", 0, note)
    return seconds


def _groups_read(prometheus: Prometheus, seconds: Seconds) -> bool:
    return all(len(seconds.groups[group["name"]]) > 1 for group in _groups(prometheus))


def _cpu(prometheus: Prometheus, expression: str, at: float) -> float:
    """CPU in milliseconds of one evaluation at this time, in the median; only the number of its samples is sent.

    Without the median a garbage collection would count for the rule during which it runs.
    """
    path = f"/api/v1/query?time={at:.3f}&query={quote(f'count(({expression}{LINE}))')}"
    took = []
    for _ in range(TIMES):
        before = _cpu_so_far(prometheus)
        _fetch(prometheus, path)
        took.append(_cpu_so_far(prometheus) - before)
    return median(took)


def _cpu_so_far(prometheus: Prometheus) -> float:
    """CPU in milliseconds of all threads; `cpu_seconds` has steps of 10 ms."""
    files = Path(f"/proc/{prometheus.pid}/task").glob("*/schedstat")
    return sum(int(file.read_text(encoding="ascii").split()[0]) for file in files) / 1e6


def _group_rows(seconds: Seconds) -> Iterator[Row]:
    for group, took in sorted(seconds.groups.items(), key=lambda item: -median(item[1])):
        yield Row(f"{group}: median", median(took), "s", TARGET, _spread(took))


def _rule_rows(seconds: Seconds, cpu: Mapping[Rule, float]) -> Iterator[Row]:
    """CPU of the groups, and rules, those that take longest first."""
    for group in seconds.groups:
        yield Row(f"{group}: CPU", sum(value for rule, value in cpu.items() if rule[0] == group), "ms")
    yield Row("all groups: CPU", sum(cpu.values()), "ms", None, "of each interval of 15 s")
    means = {rule: sum(took) / len(took) for rule, took in seconds.rules.items()}
    for rule in sorted(means, key=lambda rule: -means[rule]):
        group, place, name = rule
        note = f"{group} {place}, {_spread(seconds.rules[rule])}, CPU {cpu[rule]:.0f} ms"
        yield Row(f"- {name}", means[rule], "s", None, note)


def _spread(took: Sequence[float]) -> str:
    return f"mean {sum(took) / len(took):.3f} s, maximum {max(took):.3f} s of {len(took)}"


def _groups(prometheus: Prometheus) -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = json.loads(_fetch(prometheus, "/api/v1/rules"))["data"]["groups"]
    return groups


def _firing(prometheus: Prometheus) -> int:
    """Alerts of stuck moves."""
    rules = [rule for group in _groups(prometheus) for rule in group["rules"] if rule["name"] == STUCK]
    return sum(alert["state"] == "firing" for rule in rules for alert in rule["alerts"])


def _fetch(prometheus: Prometheus, path: str) -> bytes:
    """Wait longer than `Prometheus.fetch`: it does not answer about rules while an evaluation ends before a reload."""
    with urlopen(f"http://{prometheus.address}{path}", timeout=ANSWER_SECONDS) as reply:
        answer: bytes = reply.read()
    return answer


def _missed(prometheus: Prometheus) -> float:
    text = _fetch(prometheus, "/metrics").decode()
    return sum(map(float, re.findall(r"^prometheus_rule_group_iterations_missed_total\S* (\S+)$", text, re.MULTILINE)))


def main() -> int:
    """Measure; the exit code shows whether every group is evaluated in time."""
    parser = argparse.ArgumentParser(prog="python -m bench.rules", description=__doc__)
    parser.add_argument("--rules", type=Path, default=ALERTS, help="folder of the rule files")
    parser.add_argument("--clusters", nargs="+", choices=KINDS, default=CLUSTERS, help="the page of each")
    parser.add_argument("--evaluations", type=int, default=8)
    parser.add_argument(
        "--warm-up", type=float, default=0.0, help="seconds of history for ranges and offsets, at least"
    )
    given = parser.parse_args()
    print(f"load average {load_average():.1f}")
    return show(measure(given.rules, given.clusters, given.evaluations, given.warm_up))


if __name__ == "__main__":
    sys.exit(main())
