"""`kafka-warden plan`: watch the cluster for a while, plan, print. It changes nothing. Wires as `app` does."""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from kafka_warden.config import Config
from kafka_warden.derive import Memory, derive
from kafka_warden.errors import ConfigError, IncompleteError, ReassignmentError
from kafka_warden.log import configure
from kafka_warden.model import NO_BROKER, Snapshot, Source
from kafka_warden.plan.files import read_targets, write_rollback
from kafka_warden.planning.choice import Goal
from kafka_warden.planning.commands import ROLLBACK, Where
from kafka_warden.planning.creation import plan_creation
from kafka_warden.planning.document import creation_document, move_document
from kafka_warden.planning.findings import Verdict, verdict
from kafka_warden.planning.formatting import in_time
from kafka_warden.planning.inbound import Inbound, step
from kafka_warden.planning.moving import copies_anything
from kafka_warden.planning.plan import plan_move
from kafka_warden.planning.reassignment import Target, to_json
from kafka_warden.planning.text import creation_text, move_text
from kafka_warden.poller import Poller, PollerSettings

IMPOSSIBLE: Final = 1
"""Exit code of a plan that cannot be, does not fit, or is of nothing that is planned."""

LEAST_POLLS: Final = 4
"""Rates that a measure is made of, at least: polls go on that much more often where the interval is too long for it."""

UNSECURED: Final = "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """A reassignment that is to be planned. Seconds."""

    file: Path
    deadline: float | None
    """`None` for the option `moves.deadline`."""
    share: float | None
    measure: float
    rollback: Path | None


@dataclass(frozen=True, slots=True)
class CreationRequest:
    """A topic that is to be created."""

    topic: str
    partitions: int
    factor: int


def run(config: Config, request: MoveRequest | CreationRequest, *, as_json: bool) -> int:
    """Print the plan; return 0 where it is possible, 1 where it is not.

    Raises:
        ConfigError: something is asked for that the configuration does not allow.
        ReassignmentError: the file cannot be planned.
        TopicError: there can be no such topic.
        IncompleteError: the cluster did not tell enough.
    """
    configure(config.log.level if "log.level" in config.explicit else "warning", config.log.format)
    if isinstance(request, MoveRequest):
        return _move(config, request, as_json=as_json)
    return _creation(config, request, as_json=as_json)


def _creation(config: Config, request: CreationRequest, *, as_json: bool) -> int:
    with _Watch(config, 0.0) as watch:
        snapshot = watch.once()
    broker_limit, cluster_limit = config.limits.max_broker_partitions, config.limits.max_partitions
    plan = plan_creation(snapshot, request.topic, request.partitions, request.factor, broker_limit, cluster_limit)
    where = _where(config, Path(), None)
    sys.stdout.write(_dumped(creation_document(plan, where)) if as_json else creation_text(plan, where))
    return 0 if plan.fits else IMPOSSIBLE


def _move(config: Config, request: MoveRequest, *, as_json: bool) -> int:
    goal = _goal(config, request)
    targets = read_targets(request.file)
    with _Watch(config, request.measure) as watch:
        try:
            snapshot, inbound = watch.until_measured(targets)
            most = config.limits.max_broker_partitions
            plan = plan_move(snapshot, targets, inbound.rates, goal, most)
        except ReassignmentError as failure:
            raise ReassignmentError(f"{request.file}: {failure}") from None
    rollback = to_json(plan.rollback)
    write_rollback(request.rollback, rollback)
    where = _where(config, request.file, request.rollback)
    printed = "" if request.rollback is not None else rollback
    document = move_document(plan, inbound, where)
    sys.stdout.write(_dumped(document) if as_json else move_text(plan, inbound, where, printed))
    return 0 if verdict(plan) is Verdict.POSSIBLE else IMPOSSIBLE


def _goal(config: Config, request: MoveRequest) -> Goal:
    network = config.network.bytes_per_second
    if request.share is not None and network is None:
        raise ConfigError(
            "--max-network-share: a share of what? Set network.bytes_per_second to what the network of one broker"
            " carries, or --network 125MB/s"
        )
    return Goal(config.moves.deadline if request.deadline is None else request.deadline, request.share, network)


def _where(config: Config, file: Path, rollback: Path | None) -> Where:
    properties = config.kafka.properties
    servers = properties.get("bootstrap.servers") or properties.get("metadata.broker.list") or ""
    protocol = properties.get("security.protocol", UNSECURED)
    return Where(servers, str(file), ROLLBACK if rollback is None else str(rollback), protocol.upper() != UNSECURED)


def _dumped(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


class _Watch:
    """Polls a cluster for as long as it takes, and ends with the block."""

    def __init__(self, config: Config, measure: float) -> None:
        interval = min(config.poll.interval, measure / LEAST_POLLS) if measure else config.poll.interval
        # Sizes with every poll: a plan stands on those of its last one.
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
        begun = time.monotonic()
        snapshot = self._poller.poll()
        if snapshot is None or snapshot.clock < begun:
            raise IncompleteError("nobody told about the cluster: is a broker of kafka.bootstrap.servers up?")
        return snapshot

    def until_measured(self, targets: Sequence[Target]) -> tuple[Snapshot, Inbound]:
        """Poll until what is produced is known for as long as was asked for; once where nothing is to be copied.

        Raises:
            ReassignmentError: the file names what is not there, found with the first poll.
        """
        begun = time.monotonic()
        snapshot = self.once()
        inbound = self._judge(snapshot)
        if copies_anything(snapshot, targets):
            sys.stderr.write(f"kafka-warden: measuring what is produced, for {in_time(self._measure)}\n")
            while (left := begun + self._measure - time.monotonic()) > 0:
                time.sleep(min(self._interval, left))
                snapshot = self.once()
                inbound = self._judge(snapshot)
        if not snapshot.reassignments_known:
            raise IncompleteError(f"what moves already is not told: {_fault(snapshot, Source.REASSIGNMENTS)}")
        return snapshot, inbound

    def _judge(self, snapshot: Snapshot) -> Inbound:
        self._memory, derived = derive(snapshot, self._memory, self._parameters)
        self._inbound = step(self._inbound, snapshot, derived.bytes_in)
        return self._inbound


def _fault(snapshot: Snapshot, source: Source) -> str:
    """Name the reason that a source of the cluster failed for most often."""
    status = snapshot.status.get((source, NO_BROKER))
    reasons = dict(status.errors) if status is not None else {}
    worst = max(reasons, key=lambda name: reasons[name], default="unknown")
    return f"{worst}; docs/security.md lists what is to be allowed" if worst == "authorization" else worst
