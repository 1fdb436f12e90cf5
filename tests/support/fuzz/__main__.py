"""`make fuzz`: cases of each target in turn until Ctrl-C. What is found is printed with its bytes.

`make fuzz ARGS="replies --cases 1000000"` runs so many cases of one target, and `ARGS="replies --bytes HEX"` one again.
"""

import argparse
import contextlib
import sys
import time
from typing import Any, Final

from kafka_warden.log import configure
from tests.support.fuzz.files import config_file, web_config_file
from tests.support.fuzz.history import History
from tests.support.fuzz.http import Web
from tests.support.fuzz.polls import Polls
from tests.support.fuzz.replies import Replies
from tests.support.fuzz.runner import Target, findings, problem

TARGETS: Final[dict[str, Any]] = {
    "replies": Replies,
    "polls": Polls,
    "config": config_file,
    "web-config": web_config_file,
    "web": Web,
    "history": History,
}
"""Name to what makes the target."""
TURN: Final = 10.0
"""Seconds that each target takes in turn."""
CHUNK: Final = 20
"""Cases between two looks at the time."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", default=list(TARGETS), metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument(
        "--cases", type=int, default=sys.maxsize, help="cases of each target; without it there is no end"
    )
    parser.add_argument("--bytes", type=bytes.fromhex, help="one case instead, as it was printed")
    given = parser.parse_args()
    configure("critical")
    found = 0
    with contextlib.ExitStack() as stack, contextlib.suppress(KeyboardInterrupt):
        targets = [stack.enter_context(contextlib.closing(TARGETS[name]())) for name in given.targets]
        if given.bytes is not None:
            trouble = problem(targets[0], given.bytes)
            print(trouble or "nothing was found")
            return int(trouble is not None)
        left = {target: range(given.seed, given.seed + given.cases) for target in targets}
        while any(left.values()):
            for target, seeds in left.items():
                left[target], more = _turn(target, seeds)
                found += more
    return int(found > 0)


def _turn(target: Target, seeds: range) -> tuple[range, int]:
    """Run cases for a while and print what they find; return the seeds that are left, and the number of findings."""
    until, found, cpu = time.monotonic() + TURN, 0, time.process_time()
    while seeds and time.monotonic() < until:
        for finding in findings(target, seeds[:CHUNK]):
            found += 1
            print(finding, flush=True)
        seeds = seeds[CHUNK:]
    spent = time.process_time() - cpu
    print(f"{target.name}: next seed {seeds.start}, findings {found}, CPU {spent:.1f} s", file=sys.stderr, flush=True)
    return seeds, found


if __name__ == "__main__":
    sys.exit(main())
