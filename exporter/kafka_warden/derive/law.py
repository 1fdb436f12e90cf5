"""How fast a throttled move really goes: docs/spec/throttle-law.md#the-law.

A *flow* is one fetcher, leader -> target. Bytes and seconds throughout. Per flow: the headroom c that in-sync traffic
leaves of its limits, the burst B that passes before it is counted, gross = bytes copied per second, net = gross less
the inbound rate of the partitions that are still behind.

The flows of a cluster divide the headroom of both their sides by max-min fair shares: all grow alike until a side is
used up, its flows stop there, and the others grow further.

A fetcher asks for listed and unlisted partitions in one request, and Kafka leaves out only the listed ones while a
limit is used up. So there are up to four flows between two brokers: listed on both sides, on either, on none.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

import numpy as np

from kafka_warden.arrays import Bools, Ints, Value, as_known
from kafka_warden.derive.lag import Lag
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle import Throttles
from kafka_warden.model import SIDES, UNKNOWN, BrokerConfig, Floats, Longs, Side

BACKOFF: Final = 1.0
"""`replica.fetch.backoff.ms`: a throttled follower fetches again only after it, so it cannot use that part of a
window."""

LEAST_USABLE: Final = 1e-3
"""Seconds, above 0: a flow without a limit copies in a window of 1 s, too."""

HALF_POLL: Final = 0.5
"""Seconds from the end of a window to the next fetch: half a `replica.fetch.backoff.ms` in the mean."""

CERTAIN_LOSS: Final = -0.1
"""A net rate by the law below this share of gross is certainly a loss: the error of the law is within 13 % of gross."""

FLAT_SLOPE_SECONDS: Final = 36.0
"""A measured slope that is not positive is used if it spans this time: docs/spec/throttle-law.md#never."""


@dataclass(frozen=True, slots=True)
class Window:
    """A broker's replication quota window, `replication.quota.window.num` x `size.seconds`."""

    samples: Annotated[int, "`replication.quota.window.num`"] = 11
    size: Annotated[float, "`replication.quota.window.size.seconds`", "s"] = 1.0

    @property
    def seconds(self) -> float:
        """For how long a sample counts."""
        return self.samples * self.size

    @property
    def usable(self) -> float:
        """Seconds of a window in which a throttled fetch looks at the quota: 10 by default."""
        return max(self.seconds - BACKOFF, LEAST_USABLE)

    @property
    def period(self) -> float:
        """Seconds after which a lone burst is followed by the next: 11.5 by default."""
        return self.seconds + HALF_POLL

    @property
    def settling(self) -> float:
        """Seconds after a change before a slope is used, and the step of its span: 12 by default."""
        return self.seconds + BACKOFF


DEFAULT_WINDOW: Final = Window()


@dataclass(frozen=True, slots=True)
class Trend:
    """A line through a series."""

    rate: Annotated[float, "change per second", "bytes/s"]
    seconds: Annotated[float, "time span", "s"]
    ahead: Annotated[float, "last value minus that of the fitted line", "bytes"] = 0.0
    """The last value less that of the line: positive just after a burst, negative just before one."""


def burst(lagging_partitions: float, fetch_max_bytes: float, response_max_bytes: float) -> float:
    """B: bytes of one fetch response of a flow, all of which passes before it is counted."""
    return float(min(lagging_partitions * fetch_max_bytes, response_max_bytes))


def gross(headroom: float, burst: float, window: Window = DEFAULT_WINDOW) -> float:
    """Bytes a second that a flow copies: 0 if c <= 0, else B / 11.5 s x (floor(10 s x c / B) + 1).

    docs/spec/throttle-law.md#the-law. `+inf` where no limit binds (c is `+inf`); 0 where nothing lags (B is 0). Never
    more than c + B / 11 s.
    """
    if headroom <= 0 or burst <= 0:
        return 0.0
    if math.isinf(headroom):
        return math.inf
    return burst * (math.floor(window.usable * headroom / burst) + 1.0) * (1.0 / window.period)


def net(gross: Value, bytes_in: Value) -> Value:
    """Bytes a second by which a flow gains on its leader; negative when inbound outruns it."""
    return gross - bytes_in


def ceiling(headroom: float, burst: float, window: Window = DEFAULT_WINDOW) -> float:
    """The most that a flow can copy, c + B / 11 s, and 0 if c <= 0: no run exceeded it."""
    return 0.0 if headroom <= 0 else headroom + burst * (1.0 / window.seconds)


def never_ends(
    headroom: float | None,
    burst: float,
    bytes_in: float | None,
    measured: Trend | None = None,
    window: Window = DEFAULT_WINDOW,
) -> bool | None:
    """Whether a flow never catches up at its present limits and inbound rate. `None` is unknown.

    docs/spec/throttle-law.md#never: the first rule with an answer applies. A loss within the error of the law is none.

    `headroom` is c and `burst` B of the flow, `bytes_in` the inbound rate of its lagging partitions; `None` is unknown.
    `measured`: net rate, positive when remaining shrinks, without a change in between; `None` if not usable.
    `window`: of the side that binds.
    """
    if headroom is not None and headroom <= 0:
        return True
    seen = gains_nothing(measured)
    if headroom is None or bytes_in is None or headroom == math.inf:
        return seen
    if burst <= 0:
        return False
    if ceiling(headroom, burst, window) <= bytes_in:
        return True
    if seen is not None:
        return seen
    copied = gross(headroom, burst, window)
    return net(copied, bytes_in) < CERTAIN_LOSS * copied


def may_lose(headroom: float, burst: float, bytes_in: float, window: Window = DEFAULT_WINDOW) -> bool:
    """Whether the throttle can be why a flow loses: the law's net is not clearly above 0. False without a limit.

    A flow that does not gain although the law says so has another cause.
    """
    if headroom == math.inf:
        return False
    copied = gross(headroom, burst, window)
    return net(copied, bytes_in) <= -CERTAIN_LOSS * copied


def gains_nothing(measured: Trend | None) -> bool | None:
    """Whether a flow does not gain on its leader, as measured; `None` before 36 s."""
    return None if measured is None or measured.seconds < FLAT_SLOPE_SECONDS else measured.rate <= 0


def fair_shares(
    leaders: Ints, targets: Ints, leader_headroom: Mapping[int, float], follower_headroom: Mapping[int, float]
) -> Floats:
    """The headroom c of F flows: the max-min fair share of their leader's and their target's, bytes per second. (F,).

    `leaders`, `targets`: broker ids of each flow. Headroom by broker id; a broker that is missing there has no limit,
    NaN is unknown. A side with nothing left gives all its flows its own (zero or negative) headroom; a flow neither of
    whose sides binds has `+inf`; a flow that an unknown side might bind is NaN.
    """
    sides, of_flow = _sides(leaders, targets)
    headroom = (leader_headroom, follower_headroom)
    left = np.array([headroom[is_follower].get(broker, np.inf) for is_follower, broker in sides], dtype=np.float64)
    unknown = np.isnan(left)[of_flow].any(axis=0) if len(leaders) else np.zeros(0, dtype=np.bool_)
    left[np.isnan(left)] = np.inf
    shares = _fill(of_flow, left)
    # Nothing left on the known side decides alone; any other share could be smaller than what the known sides allow.
    return np.where(unknown & (shares > 0), np.nan, shares)


def _sides(leaders: Ints, targets: Ints) -> tuple[list[tuple[bool, int]], Ints]:
    """The distinct (is follower side, broker) and, (2, F), which two of them each flow uses."""
    keys = [(False, int(broker)) for broker in leaders] + [(True, int(broker)) for broker in targets]
    sides = sorted(set(keys))
    index = {side: position for position, side in enumerate(sides)}
    return sides, np.array([index[key] for key in keys], dtype=np.int32).reshape(2, len(leaders))


def _fill(of_flow: Ints, left: Floats) -> Floats:
    """Progressive filling. `of_flow` (2, F) indexes the S sides, `left` (S,) is their headroom and is used up."""
    ahead, behind = of_flow
    shares = np.minimum(left[ahead], left[behind])
    growing: Bools = (shares > 0) & np.isfinite(shares)
    level = np.zeros(len(shares))
    while growing.any():
        users = np.bincount(of_flow[:, growing].ravel(), minlength=len(left))
        # Each round brings one side to exactly its headroom, so there are at most S rounds.
        room = np.full(len(left), np.inf)
        np.divide(left, users, out=room, where=users > 0)
        gain = float(room.min())
        level[growing] += gain
        full = room <= gain
        left = np.where(users > 0, np.maximum(left - gain * users, 0.0), left)
        growing &= ~(full[ahead] | full[behind])
    return np.where((shares > 0) & np.isfinite(shares), level, shares)


class FlowKey(NamedTuple):
    """The identity of a flow."""

    target: int
    """Broker id."""
    leader: int
    """Broker id, `UNKNOWN` where none leads, `NO_LISTENER` where the leader is not known."""
    leader_listed: bool
    """The leader's list names its partitions, so that the leader's limit holds it back."""
    follower_listed: bool
    """The same for the target's list."""

    def broker(self, side: Side) -> int:
        """Return the broker of a side."""
        return self.leader if side is Side.LEADER else self.target

    def listed(self, side: Side) -> bool:
        """Return whether the limit of a side holds it back."""
        return self.leader_listed if side is Side.LEADER else self.follower_listed


def group_by_flow(indexed: IndexedSnapshot, throttles: Throttles, rows: Longs) -> dict[FlowKey, list[int]]:
    """Group followers, given as rows of the replicas, by the flow that they catch up over."""
    replicas = indexed.snapshot.replicas
    led_by = indexed.led_by[replicas.partition[rows]]
    none = np.minimum(indexed.snapshot.partitions.leader[replicas.partition[rows]], UNKNOWN)
    leaders = np.where(led_by == UNKNOWN, none, indexed.brokers[led_by])
    columns = (replicas.broker[rows], leaders, *(throttles.last_held[side][rows] for side in SIDES))
    groups: dict[tuple[int, int, bool, bool], list[int]] = {}
    for row, *key in zip(rows.tolist(), *(column.tolist() for column in columns), strict=True):
        groups.setdefault(tuple(key), []).append(row)
    return {FlowKey(*key): group for key, group in groups.items()}


NO_SIDE = -1
"""Broker id of a side that does not throttle a flow: no broker has it, so it has no limit."""


@dataclass(frozen=True, slots=True)
class Inbound:
    """Bytes per second appended to each of P partitions, NaN where unknown."""

    mean: Floats
    """(P,) over 36 s, for the law and ETAs."""
    least: Floats
    """(P,) the mean, or the present rate where that is lower, for "never"."""
    seconds: Floats
    """(P,) seconds that the mean spans: about 36, less for new partitions."""


class Traffic:
    """Flows under one headroom by the law. Bytes and bytes per second; `None` is unknown, `+inf` unlimited."""

    __slots__ = ()
    remaining: float | None
    """Bytes to copy."""
    bytes_in: float | None
    """Mean inbound rate."""
    least_in: float | None
    """Least inbound rate: neither a burst nor a load that ended proves a lasting loss."""
    burst: float
    headroom: float | None
    window: Window

    @property
    def gross(self) -> float | None:
        """Gross rate by the law, `+inf` without a limit."""
        return None if self.headroom is None else gross(self.headroom, self.burst, self.window)

    @property
    def net(self) -> float | None:
        """Net rate by the law, `+inf` without a limit."""
        if self.headroom is not None and self.headroom <= 0:
            return net(0.0, self.bytes_in or 0.0)
        return None if self.gross is None or self.bytes_in is None else net(self.gross, self.bytes_in)

    @property
    def may_lose(self) -> bool | None:
        """Whether the throttle can be why nothing is gained; `None` while unknown.

        Where only the mean inbound rate is too high, the load may be over or come back.
        """
        if self.headroom is not None and self.headroom <= 0:
            return True
        if self.headroom is None or self.bytes_in is None or self.least_in is None:
            return None
        if not may_lose(self.headroom, self.burst, self.bytes_in, self.window):
            return False
        return may_lose(self.headroom, self.burst, self.least_in, self.window) or None

    def never_ends(self, measured: Trend | None) -> bool | None:
        """Whether it never catches up, given its measured net rate; `None` is unknown."""
        return never_ends(self.headroom, self.burst, self.least_in, measured, self.window)


@dataclass(frozen=True, slots=True)
class Flow(Traffic):
    """The followers that catch up over one fetcher."""

    rows: Longs
    """Rows of its replicas."""
    remaining: float | None
    bytes_in: float | None
    least_in: float | None
    settled: bool
    """The inbound rate spans more than one burst."""
    burst: float
    response: float
    """Largest burst of all flows between its two brokers together."""
    headroom: float | None
    window: Window


def without_flow(indexed: IndexedSnapshot) -> Longs:
    """Rows of replicas that a move adds and that are in no flow, as their leader is unknown; so is what they lack."""
    replicas = indexed.snapshot.replicas
    rows = np.flatnonzero(replicas.adding)
    found: Longs = rows[indexed.led_by[replicas.partition[rows]] == UNKNOWN]
    return found


def derive_flows(indexed: IndexedSnapshot, lag: Lag, throttles: Throttles, inbound: Inbound) -> dict[FlowKey, Flow]:
    """Group the replicas that catch up: adding ones, and listed ones out of sync; both with a leader."""
    replicas = indexed.snapshot.replicas
    held = throttles.last_held[Side.LEADER] | throttles.last_held[Side.FOLLOWER]
    led = indexed.led_by[replicas.partition] != UNKNOWN
    wanted = (replicas.adding | (held & ~replicas.in_isr)) & ~indexed.is_leader & led & (lag.messages != 0)
    groups = group_by_flow(indexed, throttles, np.flatnonzero(wanted))
    shares = _shares(indexed, throttles, groups)
    return {key: _flow(indexed, key.target, rows, lag, shares[key], inbound) for key, rows in groups.items()}


def _shares(indexed: IndexedSnapshot, throttles: Throttles, keys: Collection[FlowKey]) -> dict[FlowKey, float]:
    """Divide the headroom of the limits among the flows that they hold back."""
    leaders, targets = (
        np.array([key.broker(side) if key.listed(side) else NO_SIDE for key in keys], dtype=np.int32) for side in SIDES
    )
    shares = fair_shares(leaders, targets, *(indexed.by_broker(throttles.lasting[side]) for side in SIDES))
    return dict(zip(keys, shares.tolist(), strict=True))


def _flow(indexed: IndexedSnapshot, target: int, rows: list[int], lag: Lag, share: float, inbound: Inbound) -> Flow:
    config = indexed.snapshot.broker_configs.get(target, BrokerConfig())
    window = Window(config.quota_window_num, config.quota_window_size)
    partition = indexed.snapshot.replicas.partition[rows]
    # Each fetcher thread has responses of its own, and the law is linear in B: all of them together are one flow.
    response = float(config.replica_fetchers * config.replica_fetch_response_max_bytes)
    return Flow(
        rows=np.array(rows, dtype=np.int64),
        remaining=as_known(float(lag.bytes[rows].sum())),
        bytes_in=as_known(float(inbound.mean[partition].sum())),
        least_in=as_known(float(inbound.least[partition].sum())),
        settled=bool((inbound.seconds[partition] >= window.settling).all()),
        burst=burst(len(rows), config.replica_fetch_max_bytes, response),
        response=response,
        headroom=as_known(share),
        window=window,
    )
