"""The examples of the five documents, and the arithmetic between formulas that they need."""

import math
from collections import Counter
from typing import Final

import numpy as np

from docs.worked_examples import Document, Example, Given, written
from kafka_warden.formulas import lag, law, limits, moves, mutation, replica_time, throttle, tiered_problems
from kafka_warden.formulas.ops import NUMBERS

TIME_LIMIT: Final = Given(500, "ms")
COUNT_LIMIT: Final = Given(4)
BY_HAND: Final = "by hand"


def both_rules(messages: float, behind: float, count_limit: float, time_limit: float) -> str:
    """What the two rules make of a follower."""
    by_count = lag.out_of_sync_by_count(messages, count_limit)
    by_time = lag.out_of_sync_by_time(behind, time_limit)
    return f"by count {'out' if by_count else 'in'}, by time {'out' if by_time else 'in'}"


def follower(about: str, messages: float, behind: float, says: str, where: str) -> Example:
    """An example of the two rules for the ISR."""
    given = {"messages": Given(messages), "behind": Given(behind, "ms")}
    given |= {"count_limit": COUNT_LIMIT, "time_limit": TIME_LIMIT}
    return Example(about, given, both_rules, (lag.out_of_sync_by_count, lag.out_of_sync_by_time), says, where)


def steady(about: str, after: float, says: str) -> Example:
    """An example of a follower that is slow, but not slower and slower."""
    given = {"lag_in_time": Given(20, "s"), "limit": Given(30, "s"), "after": Given(after, "s")}
    used = (replica_time.lag_seconds, replica_time.behind, lag.out_of_sync_by_time)
    return Example(about, given, steady_follower, used, says, f'"consistently not able to catch up", {BY_HAND}')


def fetch_size(nodes: float, quota: float, window: float, network: float) -> float:
    """The largest fetch response."""
    return throttle.largest_fetch(NUMBERS, quota, nodes, window, network)


def in_one_window(response_bytes: float, window: float, quota: float) -> bool:
    """Whether a response passes within a window."""
    return throttle.largest_fetch(NUMBERS, quota, 1.0, window, math.inf) >= response_bytes


def steady_follower(lag_in_time: float, limit: float, after: float) -> str:
    """The lag of a follower that is always as far behind, at one record per second, and the verdict after a time."""
    times = [np.array([second]) for second in np.arange(-lag_in_time, after + 1)]
    ends = [time.astype(np.int64) for time in times]
    age = replica_time.lag_seconds(ends[-1] - int(lag_in_time), times, ends, after).values[0]
    _, behind = replica_time.behind(np.array([0.0]), after, np.array([False]))
    return f"lag {age:g} s, {'out of sync' if lag.out_of_sync_by_time(behind, limit)[0] else 'in sync'}"


def move_time(move_ratio: float, log_size_per_broker: float, brokers: float, quota: float, busiest: float) -> float:
    """KIP-73's own estimate."""
    return moves.move_time(NUMBERS, move_ratio, log_size_per_broker, brokers, quota, busiest)


def bounds(inbound: float, network: float, replication_factor: float) -> str:
    """KIP-73's bounds of a broker whose inbound rate is that of one replica."""
    brokers = int(replication_factor)
    none, every = np.zeros(brokers, bool), np.ones(brokers, bool)
    rows = np.arange(brokers, dtype=np.int32)
    replicas = throttle.Replicas(np.zeros(brokers, np.int32), rows, rows == 0, every, none, none)
    low = throttle.lower_bound(replicas, np.array([inbound]), brokers).values[0]
    high = throttle.upper_bound(replicas, np.array([inbound]), brokers, network).values[0]
    return f"{written(low, 'MB/s')} < T < {written(high, 'MB/s')}"


def admitted(tokens: float, requests: tuple[float, ...]) -> tuple[int, float]:
    """Requests of so many mutations each at one moment: how many are admitted, and the tokens that are left."""
    count = 0
    for mutations in requests:
        if mutation.admission_delay(NUMBERS, tokens, 1.0) > 0:
            break
        tokens, count = tokens - mutations, count + 1
    return count, tokens


def bucket(rate: float, burst: float, requests: tuple[float, ...]) -> str:
    """What a full bucket admits, what is left, and the wait of the next request."""
    count, tokens = admitted(burst, requests)
    delay = mutation.admission_delay(NUMBERS, tokens, rate)
    return f"{count} of {len(requests)} admitted, K {tokens:g}, wait {delay:g} s"


def creation(hosted: tuple[float, ...], limit: float, partitions: float, factor: float) -> str:
    """What a creation leaves on each broker."""
    if not limits.creation_fits(
        [limits.headroom(limit, each) for each in hosted], math.inf, int(partitions), int(factor)
    ):
        return "does not fit"
    placed = limits.placement([int(each) for each in hosted], int(partitions), int(factor))
    added = Counter(broker for replicas in placed for broker in replicas)
    return f"fits: {', '.join(f'{each + added[broker]:g}' for broker, each in enumerate(hosted))}"


def creation_of(
    about: str, hosted: tuple[float, ...], limit: float, partitions: float, factor: float, says: str, where: str
) -> Example:
    """An example of KIP-578."""
    given = {"hosted": Given(hosted), "limit": Given(limit), "partitions": Given(partitions), "factor": Given(factor)}
    used = (limits.headroom, limits.creation_fits, limits.placement)
    return Example(about, given, creation, used, says, where)


def law_rates(headroom: float, partitions: float, fetch_max_bytes: float, inbound: float) -> str:
    """The rates of a flow by the measured law, and whether it ends."""
    size = law.burst(NUMBERS, partitions, fetch_max_bytes, math.inf)
    copied = law.gross(NUMBERS, headroom, size)
    return f"{written(law.net(copied, inbound), 'MB/s')}, {law.verdict(headroom, size, inbound)}"


HANDS_FREE: Final = Document(
    "Hands-free Kafka replication",
    "A topic whose batches have at most three messages gets one of four. The rule that counts messages removes\n"
    "healthy followers from the ISR. The rule by time does not.",
    (
        follower("a pause of 100 ms", 1, 100, "by count in, by time in", '"caught up to the leader"'),
        follower("the largest usual batch", 3, 100, "by count in, by time in", '"a replica is lagging"'),
        follower("a batch of exactly four", 4, 0, "by count out, by time in", '"a replica is lagging"'),
        follower("the same batch, never fetched", 4, 501, "by count out, by time out", '"One config to rule them all"'),
        steady("always 20 s behind, at first", 30, "lag 20 s, in sync"),
        steady("always 20 s behind, after 31 s", 31, "lag 20 s, out of sync"),
    ),
)

MOVE: Final = {"move_ratio": Given(0.1), "log_size_per_broker": Given(100, "GB"), "brokers": Given(10)}
KIP_73: Final = Document(
    "KIP-73: replication quotas",
    "MoveTime subtracts the busiest broker's inbound rate from the limit. On real brokers that is wrong by up to\n"
    "134 %. ETAs use the measured [law](throttle-law.md), and MoveTime is shown beside them.",
    (
        Example(
            "time of a move",
            MOVE | {"quota": Given(50, "MB/s"), "busiest": Given(30, "MB/s")},
            move_time,
            (moves.move_time,),
            "5,000 s",
            f"Q&A 1, {BY_HAND}",
            "s",
        ),
        Example(
            "a limit that is not above the inbound rate",
            MOVE | {"quota": Given(50, "MB/s"), "busiest": Given(50, "MB/s")},
            move_time,
            (moves.move_time,),
            "+Inf",
            'Q&A 1: "never make progress"',
            "s",
        ),
        Example(
            "30 % of the network",
            {"network": Given(125, "MB/s"), "fraction": Given(30, "%")},
            throttle.share_of_network,
            (throttle.share_of_network,),
            "37.5 MB/s",
            f"Q&A 1, {BY_HAND}",
            "MB/s",
        ),
        Example(
            "bounds of a throttle T",
            {"inbound": Given(50, "MB/s"), "network": Given(125, "MB/s"), "replication_factor": Given(2)},
            bounds,
            (throttle.lower_bound, throttle.upper_bound),
            "50 MB/s < T < 100 MB/s",
            f"Q&A 4, {BY_HAND}",
        ),
        Example(
            "largest fetch response, small cluster",
            {"nodes": Given(5), "quota": Given(1, "MB/s"), "window": Given(10, "s"), "network": Given(125, "MB/s")},
            fetch_size,
            (throttle.largest_fetch,),
            "10 MB",
            "Q&A 5",
            "MB",
        ),
        Example(
            "largest fetch response, the network binds",
            {"nodes": Given(500), "quota": Given(1, "MB/s"), "window": Given(10, "s"), "network": Given(100, "MB/s")},
            fetch_size,
            (throttle.largest_fetch,),
            "2 MB",
            "Q&A 5",
            "MB",
        ),
        Example(
            "the default response of 10 MiB in the default window",
            {"response_bytes": Given(10, "MiB"), "window": Given(11, "s"), "quota": Given(953_251, "B/s")},
            in_one_window,
            (throttle.largest_fetch,),
            "yes",
            f"Q&A 5, {BY_HAND}",
        ),
        Example(
            "with 1 B/s less",
            {"response_bytes": Given(10, "MiB"), "window": Given(11, "s"), "quota": Given(953_250, "B/s")},
            in_one_window,
            (throttle.largest_fetch,),
            "no",
            f"Q&A 5, {BY_HAND}",
        ),
        Example(
            "net rate of a listed replica while in-sync copies use the whole limit",
            {
                "headroom": Given(0, "MB/s"),
                "partitions": Given(6),
                "fetch_max_bytes": Given(1, "MiB"),
                "inbound": Given(0.5, "MB/s"),
            },
            law_rates,
            (law.burst, law.gross, law.net, law.verdict),
            "-0.5 MB/s, never",
            'Amendments: in-sync traffic "will still be accounted"',
        ),
    ),
)

R_5: Final = Given(5, "1/s")
BUCKET: Final = (mutation.admission_delay,)
KIP_599: Final = Document(
    "KIP-599: controller mutation quota",
    "A bucket of K tokens fills at R per second up to B. A request is admitted while K is not below 0, however large\n"
    "it is. The document writes the wait as -K * R in one place; its example divides, and so does Kafka.",
    (
        Example(
            "burst from the window",
            {"rate": R_5, "samples": Given(100), "window": Given(1, "s")},
            mutation.burst,
            (mutation.burst,),
            "500",
            "Throttling Algorithm",
        ),
        Example(
            "seven topics of 80 partitions at once",
            {"rate": R_5, "burst": Given(500), "requests": Given((80,) * 7)},
            bucket,
            BUCKET,
            "7 of 7 admitted, K -60, wait 12 s",
            "Throttling Algorithm",
        ),
        Example(
            "an eighth topic of 80",
            {"rate": R_5, "burst": Given(500), "requests": Given((80,) * 8)},
            bucket,
            BUCKET,
            "7 of 8 admitted, K -60, wait 12 s",
            f"Throttling Algorithm, {BY_HAND}",
        ),
        Example(
            "one topic of 60, with Kafka's default window of 11 s",
            {"rate": R_5, "burst": Given(55), "requests": Given((60,))},
            bucket,
            BUCKET,
            "1 of 1 admitted, K -5, wait 1 s",
            f"Throttling Algorithm, {BY_HAND}",
        ),
        Example(
            "one topic of 100",
            {"rate": R_5, "burst": Given(55), "requests": Given((100,))},
            bucket,
            BUCKET,
            "1 of 1 admitted, K -45, wait 9 s",
            f"Throttling Algorithm, {BY_HAND}",
        ),
        Example(
            "100 topics of one partition",
            {"rate": R_5, "burst": Given(55), "requests": Given((1,) * 100)},
            bucket,
            BUCKET,
            "56 of 100 admitted, K -1, wait 0.2 s",
            f"Throttling Algorithm, {BY_HAND}",
        ),
        Example(
            "an empty bucket admits",
            {"rate": R_5, "burst": Given(0), "requests": Given((1,))},
            bucket,
            BUCKET,
            "1 of 1 admitted, K -1, wait 0.2 s",
            '"admitted iff K >= 0"',
        ),
    ),
)

UPLOADS: Final = {"segment_bytes": Given(1024, "MiB"), "window": Given(11, "s")}
KIP_956: Final = Document(
    "KIP-956: quotas of tiered storage",
    "A quota is checked before a segment is copied, and the whole segment is recorded afterwards. The document has no\n"
    "numbers for these cases.",
    (
        Example(
            "a copy quota below one segment of 1 GiB per window: it cannot be upheld",
            {"quota": Given(97, "MB/s")} | UPLOADS,
            tiered_problems.copy_quota_below_segment,
            (tiered_problems.copy_quota_below_segment,),
            "yes",
            f"RLM WriteQuotaManager, {BY_HAND}",
        ),
        Example(
            "a copy quota just above it",
            {"quota": Given(98, "MB/s")} | UPLOADS,
            tiered_problems.copy_quota_below_segment,
            (tiered_problems.copy_quota_below_segment,),
            "no",
            f"RLM WriteQuotaManager, {BY_HAND}",
        ),
        Example(
            "a client without a fetch quota of its own can use up the broker's",
            {"quota": Given(100, "MB/s")},
            lambda quota: bool(tiered_problems.client_fetch_quota_above(quota, {})),
            (tiered_problems.client_fetch_quota_above,),
            "yes",
            'RLM ReadQuotaManager: "a rogue client"',
        ),
        Example(
            "every client has a fetch quota below the broker's",
            {"quota": Given(100, "MB/s"), "client_quota": Given(10, "MB/s")},
            lambda quota, client_quota: bool(
                tiered_problems.client_fetch_quota_above(quota, {(None, mutation.DEFAULT): client_quota})
            ),
            (tiered_problems.client_fetch_quota_above,),
            "no",
            'RLM ReadQuotaManager: "lesser than broker-level"',
        ),
    ),
)

TOY: Final = '"An illustrative (toy) example"'
KIP_578: Final = Document(
    "KIP-578: partition limits",
    "Brokers have a limit of replicas. A creation fits whole or not at all. Kafka never built these limits;\n"
    "kafka-warden shows the headroom to those that you configure.",
    (
        creation_of("one partition, factor 3", (8, 6, 9), 10, 1, 3, "fits: 9, 7, 10", TOY),
        creation_of("the next one: broker 3 is full", (9, 7, 10), 10, 1, 3, "does not fit", TOY),
        creation_of("with factor 2", (9, 7, 10), 10, 1, 2, "fits: 10, 8, 10", f"{TOY}; counts {BY_HAND}"),
        creation_of("two partitions from the start", (8, 6, 9), 10, 2, 3, "does not fit", TOY),
        creation_of("the last that fits", (10, 20, 30), 40, 30, 2, "fits: 40, 40, 40", BY_HAND),
        creation_of("one more", (10, 20, 30), 40, 31, 2, "does not fit", BY_HAND),
        creation_of("the last that fits, factor 3", (10, 20, 30), 40, 10, 3, "fits: 20, 30, 40", BY_HAND),
        creation_of("one more, factor 3", (10, 20, 30), 40, 11, 3, "does not fit", BY_HAND),
    ),
)

FIVE: Final = (KIP_73, KIP_599, KIP_956, KIP_578, HANDS_FREE)
