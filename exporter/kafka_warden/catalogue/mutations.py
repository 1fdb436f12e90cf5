"""Controller mutation quotas: KIP-599."""

from collections.abc import Callable, Iterator
from typing import Final

from kafka_warden.catalogue.metric import PREFIX, Kind, Metric, Sample, View, known
from kafka_warden.catalogue.rank import Rank
from kafka_warden.derive.mutation import QUOTA_KEY, ClientMutations, active_controller

CLIENT = ("user", "client_id")
DEFAULT: Final = "<default>"
QUANTILES: Final = {
    "event_queue_time_p50": "0.5",
    "event_queue_time_p75": "0.75",
    "event_queue_time_p95": "0.95",
    "event_queue_time_p98": "0.98",
    "event_queue_time_p99": "0.99",
    "event_queue_time_p999": "0.999",
}


def _each(name: str, about: str, value: Callable[[ClientMutations], float | None]) -> Metric:
    def read(view: View) -> Iterator[Sample]:
        return known(((client.user, client.client_id), value(client)) for client in view.derived.mutations)

    return Metric(name, about, CLIENT, read)


def _configured(view: View) -> Iterator[Sample]:
    for entity in view.snapshot.quotas or ():
        if QUOTA_KEY in entity.values:
            names = (entity.user, entity.client_id)
            labels = tuple("" if name is None else name or DEFAULT for name in names)
            yield labels, entity.values[QUOTA_KEY]


def _request_throttle(view: View) -> Iterator[Sample]:
    for broker, beans in view.snapshot.broker_beans.items():
        for client in beans.requests:
            if "throttle_time" in client.values:
                yield (str(broker), client.user or "", client.client_id or ""), client.values["throttle_time"]


def _queue(view: View) -> Iterator[Sample]:
    beans = active_controller(view.snapshot)
    for short, quantile in QUANTILES.items():
        if beans is not None and short in beans.values:
            yield (quantile,), beans.values[short]


def clients_left_out(view: View) -> dict[tuple[str, Rank], int]:
    """Return family, rank, and number of the clients whose beans were not read, because a process has too many."""
    controller = active_controller(view.snapshot)
    counts = {
        f"{PREFIX}controller_mutation_tokens": controller.left_out if controller is not None else 0,
        f"{PREFIX}client_request_throttle_seconds": sum(each.left_out for each in view.snapshot.broker_beans.values()),
    }
    return {(family, Rank.CLIENTS): count for family, count in counts.items() if count}


MUTATIONS = (
    _each(
        "controller_mutation_tokens",
        "K of KIP-599: tokens left, below 0 while requests of the client are refused, +Inf without a quota "
        "(bean ControllerMutation of the active controller, tokens)",
        lambda client: client.tokens,
    ),
    _each(
        "controller_mutations_per_second",
        "Partitions created, deleted or added per second (bean ControllerMutation, mutation-rate). KIP-599",
        lambda client: client.rate,
    ),
    _each(
        "controller_mutation_throttle_seconds",
        "Mean throttle time (bean ControllerMutation, throttle-time); unknown in KRaft. KIP-599",
        lambda client: client.throttle,
    ),
    _each(
        "controller_mutation_quota_per_second",
        "R of KIP-599: the quota that applies to the client (DescribeClientQuotas), +Inf without one",
        lambda client: client.quota,
    ),
    _each(
        "controller_mutation_burst",
        "B of KIP-599: quota x controller.quota.window.num x controller.quota.window.size.seconds (DescribeConfigs)",
        lambda client: client.burst,
    ),
    _each(
        "controller_mutation_admission_delay_seconds",
        "Seconds until the client's next mutation is admitted: -K / R, 0 while tokens are left "
        "(bean ControllerMutation, tokens; DescribeClientQuotas). KIP-599",
        lambda client: client.delay,
    ),
    Metric(
        "controller_mutation_quota_config",
        "Configured controller_mutation_rate (DescribeClientQuotas); <default> is the default entity. KIP-599",
        CLIENT,
        _configured,
    ),
    Metric(
        "client_request_throttle_seconds",
        "Mean throttle time of clients on the broker, request quotas included (bean Request, throttle-time)",
        ("broker", "user", "client_id"),
        _request_throttle,
    ),
    Metric(
        "controller_event_queue_seconds",
        "Time that events wait in the active controller's queue (bean EventQueueTimeMs)",
        ("quantile",),
        _queue,
        Kind.SUMMARY,
    ),
)
