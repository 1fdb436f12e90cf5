"""`python -m bench.law`: the law of throttled moves where it was not measured yet, on real clusters.

Limits of 10 MB/s and more, two flows that share a follower's limit, several fetcher threads, a bursty producer. Every
move is watched until nine tenths are copied.
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor

from bench.plan import MEGABYTE, Shape, Watched, run

TOGETHER = 2
ONE_TO_ANOTHER = (((1,), (2,)),)
TWO_TO_ONE = (((1,), (3,)), ((2,), (3,)))

RUNS = (
    (Shape("limit of 10 MB/s", 2, ONE_TO_ANOTHER, 10e6, 15_000_000), 0.0),
    (Shape("limit of 20 MB/s", 2, ONE_TO_ANOTHER, 20e6, 25_000_000), 0.0),
    (Shape("two flows to one follower", 3, TWO_TO_ONE, 6e6, 8_000_000), 0.0),
    (Shape("two flows of three partitions to one follower", 3, TWO_TO_ONE, 2e6, 50_000_000, partitions=6), 0.6e6),
    (Shape("two fetcher threads", 2, ONE_TO_ANOTHER, 4e6, 6_000_000, fetchers=2), 0.0),
    (Shape("four fetcher threads", 2, ONE_TO_ANOTHER, 4e6, 7_000_000, fetchers=4), 0.0),
    (Shape("a bursty producer", 2, ONE_TO_ANOTHER, 3e6, 30_000_000, partitions=12, bursty=True), 0.6e6),
)
"""Shape of the move, and produce rate of all partitions together in bytes per second."""


def main() -> int:
    """Run the chosen moves and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.law", description=__doc__)
    parser.add_argument("--only", type=int, action="append", choices=range(len(RUNS)), help="may be repeated")
    options = parser.parse_args()
    print("| Move | Limit | Produced | Took | Gross | Law | Seen less law | KIP-73's quota |")
    print("|---|---|---|---|---|---|---|---|")
    with ThreadPoolExecutor(TOGETHER) as pool:
        for seen in pool.map(lambda number: run(*RUNS[number]), options.only or range(len(RUNS))):
            print(_row(seen), flush=True)
    return 0


def _row(seen: Watched) -> str:
    rates = (seen.shape.limit, seen.bytes_in)
    limit, produced = (f"{rate / MEGABYTE:.2f} MB/s" for rate in rates)
    gross, by_law, by_kip = (f"{rate / MEGABYTE:.2f} MB/s" for rate in (seen.gross, seen.by_law, seen.by_kip))
    off = seen.gross / seen.by_law - 1
    return (
        f"| {seen.shape.name} | {limit} | {produced} | {seen.took:.0f} s | {gross} | {by_law} | {off:+.1%} | {by_kip} |"
    )


if __name__ == "__main__":
    sys.exit(main())
