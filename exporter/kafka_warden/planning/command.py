"""`kafka-warden plan`: measures or reads the inbound rate of a cluster and prints a plan. It changes nothing."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

from kafka_warden.clock import monotonic
from kafka_warden.config import Config, values
from kafka_warden.config.options import flag_name, read_values
from kafka_warden.derive import derive
from kafka_warden.errors import ConfigError, IncompleteError, PlanError
from kafka_warden.formatting import in_time
from kafka_warden.log import complain, configure, write
from kafka_warden.model import NO_BROKER, Snapshot, Source
from kafka_warden.planning.commands import ROLLBACK, Where
from kafka_warden.planning.creation import plan_creation
from kafka_warden.planning.document import creation_document, move_document
from kafka_warden.planning.files import read_inbound, read_targets, write_rollback
from kafka_warden.planning.findings import PlanVerdict, verdict
from kafka_warden.planning.inbound import InboundMean, step
from kafka_warden.planning.loads import Goal
from kafka_warden.planning.moving import copies_anything, in_progress
from kafka_warden.planning.plan import plan_move
from kafka_warden.planning.reassignment import Target, to_json
from kafka_warden.planning.text import creation_text, move_text
from kafka_warden.poller import Poller, PollerSettings

MEASURE: Final = 36.0
"""Seconds: slightly more than three quota windows, as for the means of docs/spec/lag.md#bytes-in."""
LEAST_MEASURE: Final = 2.0
"""Seconds. In a shorter time single batches of a producer hide its rate."""

_OF_MOVES: Final = ("reassignment", "deadline", "max_network_share", "measure", "inbound", "rollback")
_OF_TOPICS: Final = ("topic", "partitions", "replication_factor")

IMPOSSIBLE: Final = 1
"""Exit code of a plan that is impossible, does not fit, or is not planned, and of `--current` without a move."""

LEAST_POLLS: Final = 4
"""Least polls per measurement: the poll interval is shortened if necessary."""

UNSECURED: Final = "PLAINTEXT"


Planned = partial[int]
"""Makes a plan from the configuration, prints it, and returns the exit code. Keywords are what the flags ask for."""


def run(load: Callable[[], Config], flags: Mapping[str, Any]) -> int:
    """Print the plan; return 0 if it is possible, otherwise 1.

    Of the moves in progress print the file; return 1 if there is none.

    Args:
        load: reads the configuration.
        flags: by name with underscores; `None` is a flag that was not set.

    Raises:
        ConfigError: flags that cannot be combined, a bad value, or an option that the plan needs is not set.
        PlanError: the file cannot be planned; Kafka refuses the name, or the number of partitions or replicas.
        IncompleteError: data from the cluster is missing.
    """
    plan, config = read(flags), load()
    configure(config.log.level if "log.level" in config.explicit else "warning", config.log.format)
    return plan(config)


def read(flags: Mapping[str, Any]) -> Planned:
    """Return the plan that the flags ask for; `None` is a flag that was not set.

    Raises:
        ConfigError: flags that cannot be combined, or a bad value.
    """
    moves, topics = ([name for name in names if flags[name] is not None] for names in (_OF_MOVES, _OF_TOPICS))
    if moves and topics:
        topic, move = flag_name(topics[0]), flag_name(moves[0])
        raise ConfigError(f"{topic}: cannot be used with {move}; plan either a move or a topic")
    if flags["current"]:
        if others := [name for name in (*moves, *topics) if name != "rollback"]:
            raise ConfigError(f"--current: cannot be used with {flag_name(others[0])}; it prints the moves in progress")
        return partial(_current, rollback=flags["rollback"])
    if flags["topic"] is not None:
        return _read_creation(flags)
    if flags["reassignment"] is None:
        raise ConfigError("plan: give --reassignment FILE, or --topic NAME --partitions P, or --current")
    return _read_move(flags)


def _read_move(flags: Mapping[str, Any]) -> Planned:
    read = read_values(
        flags, {"deadline": values.duration, "max_network_share": values.share, "measure": values.duration}
    )
    measure, inbound = MEASURE if read["measure"] is None else read["measure"], flags["inbound"]
    if measure < LEAST_MEASURE:
        raise ConfigError(f"--measure: expected {LEAST_MEASURE:g}s or more, got {flags['measure']!r}")
    if inbound is not None and read["measure"] is not None:
        raise ConfigError("--inbound: cannot be used with --measure; the file has the rates")
    return partial(
        _move,
        file=flags["reassignment"],
        deadline=read["deadline"],
        share=read["max_network_share"],
        measure=measure if inbound is None else 0.0,
        rollback=flags["rollback"],
        inbound=inbound,
        as_json=flags["output"] == "json",
    )


def _read_creation(flags: Mapping[str, Any]) -> Planned:
    if flags["partitions"] is None:
        raise ConfigError("--topic: needs --partitions")
    read = read_values(flags, {"partitions": values.whole_number, "replication_factor": values.whole_number})
    shape = {"partitions": read["partitions"], "factor": read["replication_factor"]}
    return partial(_creation, topic=flags["topic"], **shape, as_json=flags["output"] == "json")


def _current(config: Config, rollback: Path | None) -> int:
    """Print the file of the reassignments in progress; `rollback` is for the replicas from before them."""
    with closing(_poller(config, config.poll.interval)) as poller:
        snapshot = _poll(poller)
        _check_moves(snapshot)
    if not (moves := in_progress(snapshot, snapshot.replicas.removing)):
        # No empty file: with it, --cancel of the tool removes the throttles of all brokers.
        complain("kafka-warden: no reassignment is in progress")
        return IMPOSSIBLE
    # Their order may differ from before the move: Kafka keeps the new order while it moves.
    write_rollback(rollback, to_json(in_progress(snapshot, snapshot.replicas.adding)))
    write(to_json(moves))
    return 0


def _creation(config: Config, topic: str, partitions: int, factor: int | None, *, as_json: bool) -> int:
    """Plan a new topic, or more partitions of one: `partitions` at the end, with the factor that it has if `None`."""
    with closing(_poller(config, config.poll.interval)) as poller:
        snapshot = _poll(poller)
    limits = config.limits.max_broker_partitions, config.limits.max_partitions
    plan = plan_creation(snapshot, topic, partitions, factor, *limits)
    where = _where(config, snapshot, Path(), None)
    write(_dumped(creation_document(plan, where)) if as_json else creation_text(plan, where))
    return 0 if plan.fits else IMPOSSIBLE


def _move(
    config: Config,
    *,
    file: Path,
    deadline: float | None,
    share: float | None,
    measure: float,
    rollback: Path | None,
    inbound: Path | None,
    as_json: bool,
) -> int:
    """Plan a reassignment.

    Args:
        config: has what the flags leave out.
        file: the reassignment.
        deadline: seconds; `None` is the option `moves.deadline`.
        share: of one broker's network.
        measure: seconds; 0 with `inbound`.
        rollback: where the current assignment is written.
        inbound: has rates to use instead of a measurement.
        as_json: print JSON, not text.
    """
    goal = _goal(config, deadline, share)
    targets = read_targets(file)
    written = None if inbound is None else read_inbound(inbound)
    interval = min(config.poll.interval, measure / LEAST_POLLS) if measure else config.poll.interval
    with closing(_poller(config, interval)) as poller:
        try:
            snapshot, measured = _measured(poller, config, targets, measure, interval)
            rates = measured if written is None else written.of(snapshot)
            plan = plan_move(snapshot, targets, rates.rates, goal, config.limits.max_broker_partitions)
        except PlanError as failure:
            raise PlanError(f"{file}: {failure}") from None
    current = to_json(plan.rollback)
    write_rollback(rollback, current)
    where = _where(config, snapshot, file, rollback)
    printed = "" if rollback is not None else current
    write(_dumped(move_document(plan, rates, where)) if as_json else move_text(plan, rates, where, printed))
    return 0 if verdict(plan) is PlanVerdict.POSSIBLE else IMPOSSIBLE


def _goal(config: Config, deadline: float | None, share: float | None) -> Goal:
    network = config.network.bytes_per_second
    if share is not None and network is None:
        raise ConfigError(
            "--max-network-share: the network capacity is unknown. Set network.bytes_per_second for one broker, or"
            " --network 125MB/s"
        )
    return Goal(config.moves.deadline if deadline is None else deadline, share, network)


def _where(config: Config, snapshot: Snapshot, file: Path, rollback: Path | None) -> Where:
    properties = config.kafka.properties
    servers = properties.get("bootstrap.servers") or properties.get("metadata.broker.list") or ""
    protocol = properties.get("security.protocol", UNSECURED)
    back = ROLLBACK if rollback is None else str(rollback)
    return Where(servers, str(file), back, protocol.upper() != UNSECURED, snapshot.kafka_version)


def _dumped(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _poller(config: Config, interval: float) -> Poller:
    # The plan uses the sizes of the last poll, so every poll asks for them.
    settings = PollerSettings(interval=interval, deadline=config.poll.deadline, log_dirs=interval)
    return Poller(settings, config.kafka.settings, None)


def _poll(poller: Poller) -> Snapshot:
    result = poller.poll()
    if not isinstance(result, Snapshot):
        raise IncompleteError("no broker answered: is a broker of kafka.bootstrap.servers up?")
    return result


def _check_moves(snapshot: Snapshot) -> None:
    """Check that the moves in progress are known.

    Raises:
        IncompleteError: they are not; the message has the reason.
    """
    if not snapshot.reassignments_known:
        status = snapshot.status.get((Source.REASSIGNMENTS, NO_BROKER))
        errors = dict(status.errors) if status is not None else {}
        refused = snapshot.not_available.get((Source.REASSIGNMENTS, NO_BROKER), "unknown")
        reason = max(errors, key=lambda name: errors[name], default=refused)
        hint = "; docs/reference/acls.md lists the required ACLs" if reason == "authorization" else ""
        raise IncompleteError(f"the moves in progress are unknown: {reason}{hint}")


def _measured(
    poller: Poller, config: Config, targets: Sequence[Target], seconds: float, interval: float
) -> tuple[Snapshot, InboundMean]:
    """Poll until the inbound rate was measured; poll once without a time for it, or if nothing is to be copied.

    Raises:
        PlanError: the file names something that does not exist; raised after the first poll.
    """
    until, parameters = monotonic() + seconds, config.to_parameters()
    memory, inbound = None, None
    while True:
        snapshot = _poll(poller)
        memory, derived = derive(snapshot, memory, parameters)
        first, inbound = inbound is None, step(inbound, snapshot, derived.bytes_in)
        if first and not (seconds and copies_anything(snapshot, targets)):
            break
        if first:
            complain(f"kafka-warden: measuring the inbound rate for {in_time(seconds)}")
        if (left := until - monotonic()) <= 0:
            break
        time.sleep(min(interval, left))
    _check_moves(snapshot)
    return snapshot, inbound
