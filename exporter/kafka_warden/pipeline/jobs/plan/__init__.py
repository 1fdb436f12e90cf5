"""`plan`: the throttle for a reassignment, from the produce rates in the history. Prints; changes nothing."""

import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from kafka_warden.config import values
from kafka_warden.config.options import read_values
from kafka_warden.errors import ConfigError, PlanError
from kafka_warden.formatting import in_percent, in_rate, in_time
from kafka_warden.log import write
from kafka_warden.pipeline import marks
from kafka_warden.pipeline.frames import of_rows
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.jobs.plan.latest import Latest, latest, percentiles
from kafka_warden.pipeline.jobs.plan.rows import row
from kafka_warden.pipeline.marts.plan import PLANS
from kafka_warden.pipeline.store import in_list
from kafka_warden.planning.document import move_document
from kafka_warden.planning.files import read_targets, write_inbound
from kafka_warden.planning.findings import Verdict, verdict
from kafka_warden.planning.inbound import Percentile, total
from kafka_warden.planning.loads import Goal
from kafka_warden.planning.plan import MovePlan, plan_move
from kafka_warden.planning.text import move_text, table

_Plan = tuple[Percentile, MovePlan]

SHARES: Final = (0.5, 0.95, 0.99)
"""Percentiles that every plan shows besides the chosen one."""
IMPOSSIBLE: Final = 1
"""Exit code of an impossible plan, or of one that plans nothing; as of `kafka-warden plan`."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asks of a plan. None means the value in the history."""

    reassignment: Path
    deadline: float | None = None
    """Seconds."""
    max_network_share: float | None = None
    """Share of the network of one broker."""
    network: float | None = None
    """Bytes per second of one broker."""
    max_broker_partitions: int | None = None
    percentile: float = 0.95
    """Share of the polls, for the plan that is printed in full."""
    cluster: str | None = None
    """Its id."""
    inbound: Path | None = None
    """The file that it writes for `kafka-warden plan --inbound`."""


def run(request: Request[Options]) -> int:
    """Print the plan and write the mart `plans`; return 0 if the plan that is printed in full is possible, else 1.

    Raises:
        ConfigError: the options do not fit the history.
        PlanError: the file cannot be planned.
        IncompleteError: the history has no complete poll.
        StoreError: the store cannot be used.
    """
    options = request.options
    request.store.open()
    targets = read_targets(options.reassignment)
    history = request.history
    with request.progress.step("plan: the last poll"):
        found = latest(history, options.cluster)
    goal = _goal(options, found)
    limit = options.max_broker_partitions
    most = found.parameters.max_broker_partitions if limit is None else float(limit)
    with request.progress.step("plan: produce rates"):
        assumed = percentiles(history, found, sorted({*SHARES, options.percentile}))
    try:
        plans = [(one, plan_move(found.snapshot, targets, one.rates, goal, most)) for one in assumed]
    except PlanError as failure:
        raise PlanError(f"{options.reassignment}: {failure}") from None
    chosen = next(each for each in plans if each[0].share == options.percentile)
    if options.inbound is not None:
        write_inbound(options.inbound, found.snapshot, chosen[0])
    write(_text(plans, chosen, options, found))
    documents = [move_document(plan, one, None) for one, plan in plans]
    file, share = options.reassignment, options.percentile
    rows = [row(plan, one, each, file, share) for (one, plan), each in zip(plans, documents, strict=True)]
    mine = in_list("cluster_id", [str(found.snapshot.cluster_id)])
    with marks.working(request.store, JOB.name) as work:
        marks.replace(work, PLANS, of_rows(request.spark, rows, PLANS.ddl), mine)
    return 0 if verdict(chosen[1]) is Verdict.POSSIBLE else IMPOSSIBLE


def _goal(options: Options, found: Latest) -> Goal:
    parameters = found.parameters
    network = parameters.network_bytes_per_second if options.network is None else options.network
    share = options.max_network_share
    if share is not None and network is None:
        raise ConfigError("--max-network-share: give --network too, the capacity of one broker's network: 125MB/s")
    return Goal(parameters.moves_deadline if options.deadline is None else options.deadline, share, network)


def _text(plans: Sequence[_Plan], printed: _Plan, options: Options, found: Latest) -> str:
    chosen, plan = printed
    full = move_text(plan, chosen, None, "")
    head = ("percentile", "produced", "needed", "throttle", "predicted", "verdict")
    lines = table(head, [_line(*each) for each in plans], len(plans))
    as_of = datetime.fromtimestamp(found.snapshot.time, UTC).isoformat(sep=" ", timespec="seconds")
    about = f"Cluster {found.snapshot.cluster_id} as it was at {as_of}, by {in_percent(chosen.share)} of its polls"
    first = "write the rates with --inbound FILE, then run" if options.inbound is None else "run"
    live = ["kafka-warden", "plan", "--reassignment", str(options.reassignment)]
    live += ["--inbound", str(options.inbound or "FILE")]
    run_next = f"For the commands, from the cluster as it is now: {first}\n  {shlex.join(live)}"
    return f"{about}\n\n{full}\nBy what is produced\n{lines}\n\n{run_next}\n"


def _line(one: Percentile, plan: MovePlan) -> tuple[str, ...]:
    choice = plan.choice
    return (
        f"p{100 * one.share:g}",
        in_rate(total(one.rates)),
        "-" if choice is None else in_rate(choice.needed),
        "none" if plan.limit is None else str(plan.limit),
        in_time(plan.predicted),
        str(verdict(plan)).replace("_", " "),
    )


def _add_flags(command: ArgumentParser) -> None:
    add = command.add_argument
    add("--reassignment", required=True, metavar="FILE", help="JSON of kafka-reassign-partitions")
    add("--deadline", metavar="DURATION", help="of the move (default: the sidecar's moves.deadline)")
    add("--max-network-share", metavar="SHARE", help="share of one broker's network, such as 30%%")
    add("--network", metavar="RATE", help="its capacity (default: the sidecar's network.bytes_per_second)")
    add("--max-broker-partitions", metavar="N", help="default: the sidecar's limits.max_broker_partitions")
    add("--percentile", default="95%", metavar="SHARE", help="share of the polls, for the plan in full (default: 95%%)")
    add("--cluster", metavar="ID", help="required if the history has several")
    add("--inbound", metavar="FILE", help="write the inbound rates, for kafka-warden plan --inbound")


def _read_flags(parsed: Namespace) -> Options:
    return Options(**read_values(vars(parsed), _FLAGS))


_FLAGS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "reassignment": Path,
    "deadline": values.duration,
    "max_network_share": values.share,
    "network": values.rate,
    "max_broker_partitions": values.whole_number,
    "percentile": values.share,
    "cluster": values.text,
    "inbound": Path,
}

JOB: Final = Job("plan", "the throttle for a reassignment, from produce rates", _add_flags, _read_flags, run)
