"""`plan`: the throttle for a reassignment, from the produce rates in the history. Prints; changes nothing."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any, Final

import numpy as np
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.config import values
from kafka_warden.errors import ConfigError, HistoryRowsError, IncompleteError, PlanError
from kafka_warden.formatting import in_percent, in_rate, in_time
from kafka_warden.history.poll import topic_id_text
from kafka_warden.history.replay import parameters_of, snapshot_of
from kafka_warden.history.schema import TABLES
from kafka_warden.log import write
from kafka_warden.model import Parameters, Snapshot
from kafka_warden.pipeline import incremental
from kafka_warden.pipeline.job import Flags, Request, of_flags
from kafka_warden.pipeline.marts import PLANS, of_rows
from kafka_warden.pipeline.store import in_list
from kafka_warden.pipeline.timeline import POLL, History, timeline
from kafka_warden.planning.document import move_document
from kafka_warden.planning.files import read_targets, write_inbound
from kafka_warden.planning.findings import PlanVerdict, problems, verdict
from kafka_warden.planning.inbound import Percentile, total
from kafka_warden.planning.loads import Goal
from kafka_warden.planning.plan import MovePlan, plan_move
from kafka_warden.planning.text import move_text, table

SHARES: Final = (0.5, 0.95, 0.99)
"""Percentiles that every plan shows besides the chosen one."""
IMPOSSIBLE: Final = 1
"""Exit code of an impossible plan, or of one that plans nothing; as of `kafka-warden plan`."""
TRIED: Final = 10
"""Polls that are tried: the last ones may not be completely written yet."""
ACCURACY: Final = 10_000
"""Of Spark's `percentile_approx`: the error is at most 1 / ACCURACY of the polls."""
RESTORED: Final = "restored"

_Plan = tuple[Percentile, MovePlan]


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
    options, history = request.options, History(request.store, request.span)
    request.store.open()
    targets = read_targets(options.reassignment)
    with request.progress.step("plan: the last poll"):
        snapshot, parameters = latest(history, options.cluster)
    goal = _goal(options, parameters)
    limit = options.max_broker_partitions
    most = parameters.max_broker_partitions if limit is None else float(limit)
    with request.progress.step("plan: produce rates"):
        assumed = percentiles(history, snapshot, sorted({*SHARES, options.percentile}))
    try:
        plans = [(one, plan_move(snapshot, targets, one.rates, goal, most)) for one in assumed]
    except PlanError as failure:
        raise PlanError(f"{options.reassignment}: {failure}") from None
    chosen = next(each for each in plans if each[0].share == options.percentile)
    if options.inbound is not None:
        write_inbound(options.inbound, snapshot, chosen[0])
    write(_text(plans, chosen, options))
    rows = [_row(plan, one, options) for one, plan in plans]
    mine = in_list("cluster_id", [str(snapshot.cluster_id)])
    with incremental.working(request, JOB.name) as work:
        incremental.replace(work, PLANS, of_rows(request.spark, rows, PLANS.ddl), mine)
    return 0 if verdict(chosen[1]) is PlanVerdict.POSSIBLE else IMPOSSIBLE


def latest(history: History, cluster: str | None) -> tuple[Snapshot, Parameters]:
    """Restore the last complete poll of a cluster.

    Raises:
        ConfigError: there are several clusters, or not this one.
        IncompleteError: none of the last polls is complete.
    """
    polls = history.table("polls")
    ids = sorted(str(row.cluster_id) for row in polls.select("cluster_id").distinct().collect())
    if cluster is None and len(ids) == 1:
        (cluster,) = ids
    if cluster not in ids:
        asked = "name one with --cluster" if cluster is None else f"--cluster: there is no {cluster}"
        raise ConfigError(f"{asked}; the history has {', '.join(ids) or 'none'}")
    mine = timeline(polls.where(F.col("cluster_id") == cluster))
    last = mine.orderBy(F.desc("at")).select(*POLL).limit(TRIED).collect()
    problem = ""
    for poll in last:
        try:
            return _restored(history, poll.asDict())
        except HistoryRowsError as failure:
            problem = problem or str(failure)
    raise IncompleteError(f"none of the last {len(last)} polls is complete: {problem}")


def _restored(history: History, poll: Mapping[str, Any]) -> tuple[Snapshot, Parameters]:
    is_poll = reduce(and_, (F.col(name) == F.lit(value) for name, value in poll.items()))
    names = (each.name for each in TABLES if each.name != RESTORED)
    tables = {name: history.table(name).where(is_poll).toArrow().to_pydict() for name in names}
    return snapshot_of(tables), parameters_of(tables)


def percentiles(history: History, snapshot: Snapshot, shares: Sequence[float]) -> tuple[Percentile, ...]:
    """Return percentiles of each partition's inbound rate; the rates of a topic's former ids do not count."""
    is_known = (F.col("cluster_id") == snapshot.cluster_id) & F.col("bytes_in").isNotNull()
    rows = history.table("partitions").where(is_known)
    polls, first, last = rows.agg(F.countDistinct("run", "sequence"), F.min("time"), F.max("time")).collect()[0]
    of_each = F.percentile_approx("bytes_in", [float(share) for share in shares], ACCURACY)
    known: dict[Any, Any] = {
        (each.topic, each.topic_id, each.partition): each.rates
        for each in rows.groupBy("topic", "topic_id", "partition").agg(of_each.alias("rates")).collect()
    }
    topics = list(zip(snapshot.topics, map(topic_id_text, snapshot.topic_ids), strict=True))
    unknown = [np.nan] * len(shares)
    partitions = zip(snapshot.partitions.topic.tolist(), snapshot.partitions.number.tolist(), strict=True)
    named = [known.get((*topics[topic], number), unknown) for topic, number in partitions]
    rates = np.array(named, np.float64).reshape(-1, len(shares))
    span = (snapshot.time,) * 2 if first is None else (first, last)
    return tuple(Percentile(share, rates[:, index], polls, *span) for index, share in enumerate(shares))


def _goal(options: Options, parameters: Parameters) -> Goal:
    network = parameters.network_bytes_per_second if options.network is None else options.network
    share = options.max_network_share
    if share is not None and network is None:
        raise ConfigError("--max-network-share: give --network too, the capacity of one broker's network: 125MB/s")
    return Goal(parameters.moves_deadline if options.deadline is None else options.deadline, share, network)


def _text(plans: Sequence[_Plan], printed: _Plan, options: Options) -> str:
    chosen, plan = printed
    head = ("percentile", "produced", "needed", "throttle", "predicted", "verdict")
    lines = table(head, [_line(*each) for each in plans], len(plans))
    seen = plan.snapshot
    as_of = datetime.fromtimestamp(seen.time, UTC).isoformat(sep=" ", timespec="seconds")
    about = f"Cluster {seen.cluster_id} as it was at {as_of}, by {in_percent(chosen.share)} of its polls"
    first = "write the rates with --inbound FILE, then run" if options.inbound is None else "run"
    live = ["kafka-warden", "plan", "--reassignment", str(options.reassignment)]
    live += ["--inbound", str(options.inbound or "FILE")]
    run_next = f"For the commands, from the cluster as it is now: {first}\n  {shlex.join(live)}"
    return f"{about}\n\n{move_text(plan, chosen, None, '')}\nBy what is produced\n{lines}\n\n{run_next}\n"


def _line(one: Percentile, plan: MovePlan) -> tuple[str, ...]:
    return (
        f"p{100 * one.share:g}",
        in_rate(total(one.rates)),
        "-" if plan.choice is None else in_rate(plan.choice.needed),
        "none" if plan.limit is None else str(plan.limit),
        in_time(plan.predicted),
        str(verdict(plan)).replace("_", " "),
    )


def _row(plan: MovePlan, assumed: Percentile, options: Options) -> tuple[Any, ...]:
    """Return the row of the mart."""
    fields: dict[str, Any] = {
        "cluster_id": plan.snapshot.cluster_id,
        "percentile": 100 * assumed.share,
        "as_of": datetime.fromtimestamp(plan.snapshot.time, UTC),
        "polls": assumed.polls,
        "span": assumed.longest,
        "file": str(options.reassignment),
        "chosen": assumed.share == options.percentile,
        "verdict": str(verdict(plan)),
        "problems": list(problems(plan)),
        "deadline": plan.goal.deadline,
        "bytes_in": total(assumed.rates),
        "copied": plan.copied,
        "throttle": None if plan.limit is None else float(plan.limit),
        "allowed": plan.goal.most,
        "move_ratio": plan.ratio,
        "move_time": plan.move_time,
        "predicted": plan.predicted,
        "document": json.dumps(move_document(plan, assumed, None), allow_nan=False),
    }
    if plan.choice is not None:
        names = ("needed", "lower_bound", "upper_bound", "least_deadline")
        fields |= {name: getattr(plan.choice, name) for name in names}
    if plan.last is not None:
        load, _ = plan.last
        fields |= {"bottleneck_broker": load.broker, "bottleneck_side": str(load.side)}
    return tuple(fields.get(name) for name in PLANS.names)


_FLAGS: Final[Flags] = {
    "reassignment": (Path, "FILE", "JSON of kafka-reassign-partitions"),
    "deadline": (values.duration, "DURATION", "of the move (default: the exporter's moves.deadline)"),
    "max_network_share": (values.share, "SHARE", "share of one broker's network, such as 30%%"),
    "network": (values.rate, "RATE", "its capacity (default: the exporter's network.bytes_per_second)"),
    "max_broker_partitions": (values.whole_number, "N", "default: the exporter's limits.max_broker_partitions"),
    "percentile": (values.share, "SHARE", "share of the polls, for the plan in full (default: 95%%)"),
    "cluster": (values.text, "ID", "required if the history has several"),
    "inbound": (Path, "FILE", "write the inbound rates, for kafka-warden plan --inbound"),
}


JOB: Final = of_flags(
    "plan", "the throttle for a reassignment, from produce rates", Options, _FLAGS, run, ("reassignment",)
)
