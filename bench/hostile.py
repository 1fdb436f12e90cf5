"""`python -m bench.hostile`: a sidecar beside a broker that answers badly, and one that answers well.

The brokers are scripted, in a process of their own; the sidecar is the program that users start. For each way to answer
badly it reports the greatest memory of the sidecar over that beside good brokers, how often the good broker was not
answered for, how many requests the bad one got, and how long the sidecar takes to end on SIGTERM.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from kafka.protocol.admin import DescribeLogDirsResponse

from bench.cluster import Target
from bench.procfs import memory_bytes
from bench.report import Row, show
from bench.sidecar import running_sidecar
from tests.cluster.page import Page
from tests.support.linking import CONNECTED
from tests.support.scripted import ScriptedCluster

GOOD, BAD = 1, 2
_Directory = DescribeLogDirsResponse.DescribeLogDirsResult
_Topic = _Directory.DescribeLogDirsTopic
_Partition = _Topic.DescribeLogDirsPartition


def well_formed(partitions: int) -> bytes:
    """Return the body of a right reply of version 4 with this many partitions of 22 bytes each, of one topic."""
    found = [_Partition(partition_index=index) for index in range(partitions)]
    directory = _Directory(log_dir="/data", topics=[_Topic(name="a", partitions=found)])
    return bytes(DescribeLogDirsResponse(results=[directory]).encode(version=4))


HOW: Final[Mapping[str, tuple[Mapping[str, Any], ...]]] = {
    "length prefix only": ({"request": "ApiVersions", "raw": (512 << 10).to_bytes(4, "big")},),
    "large length prefix": ({"request": "ApiVersions", "raw": (256 << 20).to_bytes(4, "big")},),
    "1 MB of 0xFF before login": ({"request": "ApiVersions", "raw": b"\xff", "repeat": 1_000_000},),
    "0xFF in a frame before login": ({"request": "ApiVersions", "body": b"\xff", "repeat": 500_000},),
    "length prefix only, after login": ({"request": "ListOffsets", "raw": (256 << 20).to_bytes(4, "big")},),
    "well-formed list of 5 MB": ({"request": "DescribeLogDirs", "body": partial(well_formed, 225_000)},),
    "mutated replies": ({"mutate": 1}, {"request": "ApiVersions"}),
    "mutated replies before login": ({"mutate": 1},),
}
"""What the bad broker does: rules of `tests/support/scripted/rules.py`, the last one first. A body that takes a second
to make is a function."""

POLLS: Final = 200
WARM_UP: Final = 20
"""Polls beside good brokers, after which the memory is taken that later memory is compared with."""
INTERVAL: Final = 1.0
MOST_MEGABYTES, MOST_SECONDS = 50.0, 5.0


def measure(how: str, polls: int = POLLS, interval: float = INTERVAL) -> Sequence[Row]:
    """Run one sidecar: some polls beside good brokers, then `polls` beside the bad one.

    Returns:
        Memory over that beside good brokers; questions to the good broker or for the metadata that were not answered;
        those to the bad broker, and how many requests it got; the time until the end.
    """
    with ScriptedCluster((GOOD, BAD)) as brokers:
        brokers.topic("a", [[GOOD, BAD], [BAD, GOOD]] * 50, rate=10.0, end=100)
        target = Target(brokers.bootstrap, {}, {}, {}, 100)
        with running_sidecar(target, interval, jmx=False, log_dirs=interval) as sidecar:
            sidecar.wait_polls(min(WARM_UP, polls))
            before = memory_bytes(sidecar.pid, "VmRSS")
            for rule in HOW[how]:
                brokers.rule(BAD, **{name: value() if callable(value) else value for name, value in rule.items()})
            brokers.do("forget")
            brokers.do("disconnect", broker=BAD)
            sidecar.wait_polls(polls)
            page = sidecar.scrape()
            requests = [each for each in brokers.seen() if each["broker"] == BAD and each["request"] != CONNECTED]
            grown = (memory_bytes(sidecar.pid, "VmHWM") - before) / 1e6
            _, seconds = sidecar.stop()
            return (
                Row(f"{how}: memory", grown, "MB", MOST_MEGABYTES, f"{polls} polls"),
                Row("- failures of the good broker", _failed(GOOD, page), "", 0.0),
                Row("- failures of the bad broker", _failed(BAD, page), ""),
                Row("- requests to the bad broker", len(requests), "", note="fewer than polls: it silenced itself"),
                Row("- time to end on SIGTERM", seconds, "s", MOST_SECONDS),
            )


def _failed(broker: int, page: Page) -> float:
    """Sum the errors of a broker; those of the metadata are counted for the good one."""
    return sum(
        value
        for labels, value in page.rows("source_errors_total")
        if labels["broker"] == str(broker) or (labels["source"] == "metadata" and broker == GOOD)
    )


def main() -> int:
    """Measure all of them; the exit code shows whether all is as it must be."""
    parser = argparse.ArgumentParser(prog="python -m bench.hostile", description=__doc__)
    parser.add_argument("--polls", type=int, default=POLLS)
    parser.add_argument("--interval", type=float, default=INTERVAL, help="seconds between two polls")
    parser.add_argument("--how", choices=HOW, nargs="*", default=HOW, help="default: all")
    given = parser.parse_args()
    return show(row for how in given.how for row in measure(how, given.polls, given.interval))


if __name__ == "__main__":
    sys.exit(main())
