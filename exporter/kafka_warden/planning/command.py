"""`kafka-warden plan`: measures or reads the inbound rate of a cluster and prints a plan. It changes nothing."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from kafka_warden.clock import monotonic
from kafka_warden.config import Config, values
from kafka_warden.config.options import flag_name, read_values
from kafka_warden.derive import Memory, derive
from kafka_warden.errors import ConfigError, IncompleteError, PlanError
from kafka_warden.formatting import in_time
from kafka_warden.log import complain, configure, write
from kafka_warden.model import NO_BROKER, Snapshot, Source
from kafka_warden.planning.commands import ROLLBACK, Where
from kafka_warden.planning.creation import plan_creation
from kafka_warden.planning.document import creation_document, move_document
from kafka_warden.planning.files import read_inbound, read_targets, write_rollback
from kafka_warden.planning.findings import Verdict, verdict
from kafka_warden.planning.inbound import Inbound, step
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
MOST_PARTITIONS: Final = 1_000_000

_OF_MOVES: Final = ("reassignment", "deadline", "max_network_share", "measure", "inbound", "rollback")
_OF_TOPICS: Final = ("topic", "partitions", "replication_factor")

IMPOSSIBLE: Final = 1
"""Exit code of a plan that is impossible, does not fit, or is not planned, and of `--current` without a move."""

LEAST_POLLS: Final = 4
"""Least polls per measurement: the poll interval is shortened if necessary."""

UNSECURED: Final = "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """A request for the plan of a reassignment. Seconds."""

    file: Path
    deadline: float | None
    """`None`: use the option `moves.deadline`."""
    share: float | None
    measure: float
    """0 with `inbound`."""
    rollback: Path | None
    inbound: Path | None = None
    """Rates to use instead of a measurement."""


@dataclass(frozen=True, slots=True)
class CreationRequest:
    """A request for the plan of a new topic, or of more partitions of one."""

    topic: str
    partitions: int
    """At the end."""
    factor: int | None
    """`None` for that of a topic that exists."""


@dataclass(frozen=True, slots=True)
class CurrentRequest:
    """A request for the file of the reassignments in progress."""

    rollback: Path | None
    """For the replicas from before them."""


Request = MoveRequest | CreationRequest | CurrentRequest


def read(flags: Mapping[str, Any]) -> Request:
    """Make a request from the flags by name; `None` is a flag that was not set.

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
        return CurrentRequest(flags["rollback"])
    if flags["topic"] is not None:
        return _read_creation(flags)
    if flags["reassignment"] is None:
        raise ConfigError("plan: give --reassignment FILE, or --topic NAME --partitions P, or --current")
    return _read_move(flags)


def _read_move(flags: Mapping[str, Any]) -> MoveRequest:
    read = read_values(
        flags, {"deadline": values.duration, "max_network_share": values.share, "measure": values.duration}
    )
    measure, inbound = MEASURE if read["measure"] is None else read["measure"], flags["inbound"]
    if measure < LEAST_MEASURE:
        raise ConfigError(f"--measure: expected {LEAST_MEASURE:g}s or more, got {flags['measure']!r}")
    if inbound is not None and read["measure"] is not None:
        raise ConfigError("--inbound: cannot be used with --measure; the file has the rates")
    return MoveRequest(
        flags["reassignment"],
        read["deadline"],
        read["max_network_share"],
        measure if inbound is None else 0.0,
        flags["rollback"],
        inbound,
    )


def _read_creation(flags: Mapping[str, Any]) -> CreationRequest:
    if flags["partitions"] is None:
        raise ConfigError("--topic: needs --partitions")
    read = read_values(flags, {"partitions": values.whole_number, "replication_factor": values.whole_number})
    if read["partitions"] > MOST_PARTITIONS:
        raise ConfigError(f"--partitions: expected {MOST_PARTITIONS} or less, got {read['partitions']}")
    return CreationRequest(flags["topic"], read["partitions"], read["replication_factor"])


def run(config: Config, request: Request, *, as_json: bool) -> int:
    """Print the plan; return 0 if it is possible, otherwise 1.

    Of the moves in progress print the file; return 1 if there is none.

    Raises:
        ConfigError: the configuration lacks an option that the request needs.
        PlanError: the file cannot be planned.
        PlanError: Kafka refuses the name, or the number of partitions or replicas.
        IncompleteError: data from the cluster is missing.
    """
    configure(config.log.level if "log.level" in config.explicit else "warning", config.log.format)
    if isinstance(request, MoveRequest):
        return _move(config, request, as_json=as_json)
    if isinstance(request, CurrentRequest):
        return _current(config, request)
    return _creation(config, request, as_json=as_json)


def _current(config: Config, request: CurrentRequest) -> int:
    with _Measurement(config, 0.0) as measurement:
        snapshot = measurement.once()
        measurement.check_moves(snapshot)
    if not (moves := in_progress(snapshot, snapshot.replicas.removing)):
        # No empty file: with it, --cancel of the tool removes the throttles of all brokers.
        complain("kafka-warden: no reassignment is in progress")
        return IMPOSSIBLE
    # Their order may differ from before the move: Kafka keeps the new order while it moves.
    write_rollback(request.rollback, to_json(in_progress(snapshot, snapshot.replicas.adding)))
    write(to_json(moves))
    return 0


def _creation(config: Config, request: CreationRequest, *, as_json: bool) -> int:
    with _Measurement(config, 0.0) as measurement:
        snapshot = measurement.once()
    limits = config.limits.max_broker_partitions, config.limits.max_partitions
    plan = plan_creation(snapshot, request.topic, request.partitions, request.factor, *limits)
    where = _where(config, snapshot, Path(), None)
    write(_dumped(creation_document(plan, where)) if as_json else creation_text(plan, where))
    return 0 if plan.fits else IMPOSSIBLE


def _move(config: Config, request: MoveRequest, *, as_json: bool) -> int:
    goal = _goal(config, request)
    targets = read_targets(request.file)
    written = None if request.inbound is None else read_inbound(request.inbound)
    with _Measurement(config, request.measure) as measurement:
        try:
            snapshot, measured = measurement.measure(targets)
            inbound = measured if written is None else written.of(snapshot)
            plan = plan_move(snapshot, targets, inbound.rates, goal, config.limits.max_broker_partitions)
        except PlanError as failure:
            raise PlanError(f"{request.file}: {failure}") from None
    rollback = to_json(plan.rollback)
    write_rollback(request.rollback, rollback)
    where = _where(config, snapshot, request.file, request.rollback)
    printed = "" if request.rollback is not None else rollback
    document = move_document(plan, inbound, where)
    write(_dumped(document) if as_json else move_text(plan, inbound, where, printed))
    return 0 if verdict(plan) is Verdict.POSSIBLE else IMPOSSIBLE


def _goal(config: Config, request: MoveRequest) -> Goal:
    network = config.network.bytes_per_second
    if request.share is not None and network is None:
        raise ConfigError(
            "--max-network-share: the network capacity is unknown. Set network.bytes_per_second for one broker, or"
            " --network 125MB/s"
        )
    return Goal(config.moves.deadline if request.deadline is None else request.deadline, request.share, network)


def _where(config: Config, snapshot: Snapshot, file: Path, rollback: Path | None) -> Where:
    properties = config.kafka.properties
    servers = properties.get("bootstrap.servers") or properties.get("metadata.broker.list") or ""
    protocol = properties.get("security.protocol", UNSECURED)
    back = ROLLBACK if rollback is None else str(rollback)
    return Where(servers, str(file), back, protocol.upper() != UNSECURED, snapshot.kafka_version)


def _dumped(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


class _Measurement:
    """Polls a cluster, and closes the poller at the end of the block."""

    def __init__(self, config: Config, measure: float) -> None:
        interval = min(config.poll.interval, measure / LEAST_POLLS) if measure else config.poll.interval
        # The plan uses the sizes of the last poll, so every poll asks for them.
        settings = PollerSettings(interval=interval, deadline=config.poll.deadline, log_dirs=interval)
        self._poller = Poller(settings, config.kafka.settings, None)
        self._parameters = config.to_parameters()
        self._measure, self._interval = measure, interval
        self._memory: Memory | None = None
        self._inbound: Inbound | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._poller.close()

    def once(self) -> Snapshot:
        """Poll once."""
        begun = monotonic()
        snapshot = self._poller.poll()
        if snapshot is None or snapshot.clock < begun:
            raise IncompleteError("no broker answered: is a broker of kafka.bootstrap.servers up?")
        return snapshot

    def check_moves(self, snapshot: Snapshot) -> None:
        """Check that the moves in progress are known.

        Raises:
            IncompleteError: they are not; the message has the reason.
        """
        if not snapshot.reassignments_known:
            status = snapshot.status.get((Source.REASSIGNMENTS, NO_BROKER))
            errors = dict(status.errors) if status is not None else {}
            refused = self._poller.not_available.get((Source.REASSIGNMENTS, NO_BROKER), "unknown")
            reason = max(errors, key=lambda name: errors[name], default=refused)
            hint = "; docs/reference/acls.md lists the required ACLs" if reason == "authorization" else ""
            raise IncompleteError(f"the moves in progress are unknown: {reason}{hint}")

    def measure(self, targets: Sequence[Target]) -> tuple[Snapshot, Inbound]:
        """Poll until the inbound rate was measured; poll once without a time for it, or if nothing is to be copied.

        Raises:
            PlanError: the file names something that does not exist; raised after the first poll.
        """
        begun = monotonic()
        snapshot = self.once()
        inbound = self._add(snapshot)
        if self._measure and copies_anything(snapshot, targets):
            complain(f"kafka-warden: measuring the inbound rate for {in_time(self._measure)}")
            while (left := begun + self._measure - monotonic()) > 0:
                time.sleep(min(self._interval, left))
                snapshot = self.once()
                inbound = self._add(snapshot)
        self.check_moves(snapshot)
        return snapshot, inbound

    def _add(self, snapshot: Snapshot) -> Inbound:
        self._memory, derived = derive(snapshot, self._memory, self._parameters)
        self._inbound = step(self._inbound, snapshot, derived.bytes_in)
        return self._inbound
