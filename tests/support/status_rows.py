"""Pages with rows for the status page: the scene of the golden page, a healthy cluster, thousands of moves."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
from prometheus_client import CollectorRegistry

from kafka_warden.catalogue import ExporterState, View
from kafka_warden.derive import derive
from kafka_warden.exposition import Exposition, OnDemand, Page
from kafka_warden.model import BrokerConfig, Limit, Origin, Parameters, Side, Snapshot, TopicConfig
from kafka_warden.views import Recent, make_views
from tests import scene
from tests.building import Partition, snapshot

Poll = Callable[[float], Snapshot]

MANY: int = 3_000
"""Moves of the large cluster."""


def page(poll: Poll, parameters: Parameters, polls: int = 10, deny: str = "hidden", uncounted: str = "hidden") -> Page:
    """Poll every 10 s, and render the last poll as the sidecar does; topics of one name are denied or not counted."""
    memory, recent, view = None, Recent(), None
    for number in range(polls):
        memory, derived = derive(poll(10.0 * number), memory, parameters)
        names, time = derived.indexed.snapshot.topics, derived.indexed.snapshot.time
        topics, left_out = np.array([name != deny for name in names]), np.array([name == uncounted for name in names])
        view = View(derived, replace(scene.sidecar(), snapshot_time=time), topics, parameters, left_out)
        recent.add(view)
    assert view is not None
    return rendered(view.exporter, view, recent)


def rendered(sidecar: ExporterState, view: View | None, recent: Recent) -> Page:
    """Render `/metrics`, and keep what its rows are made from."""
    made = Exposition(1_000_000, CollectorRegistry()).render(sidecar, view)
    return replace(made, views=OnDemand(lambda: make_views(view, sidecar, recent.read())))


@cache
def troubled() -> Page:
    """The cluster of the golden page, in every kind of trouble."""
    return page(scene.poll, scene.PARAMETERS)


def hostile(name: str, client_id: str) -> Page:
    """The cluster in trouble, with a name that would change a screen or a page: of all that has names."""

    def poll(clock: float) -> Snapshot:
        seen = scene.poll(clock)
        beans = seen.controller_beans["101"]
        clients = (replace(beans.mutations[0], user=name, client_id=client_id),)
        return replace(
            seen,
            topics=tuple(name if topic == "orders" else topic for topic in seen.topics),
            topic_configs={**seen.topic_configs, name: TopicConfig()},
            controller_beans={"101": replace(beans, mutations=clients)},
            log_dirs=tuple(replace(each, path=name) for each in seen.log_dirs[:1]),
            cluster_id=name,
            kafka_version=name,
        )

    return page(poll, scene.PARAMETERS)


@cache
def blind() -> Page:
    return rendered(scene.sidecar(), None, Recent())


@cache
def quiet(interval: float = 10.0) -> Page:
    """A healthy cluster in which nothing moves; the page refreshes itself after so many seconds, at least 2."""

    def poll(clock: float) -> Snapshot:
        topics = {"orders": [Partition(end=1000 + int(clock)) for _ in range(3)]}
        unlimited = {side: Limit(math.inf, Origin.UNSET) for side in (Side.LEADER, Side.FOLLOWER)}
        configs = dict.fromkeys((1, 2, 3), BrokerConfig(limits=unlimited))
        return snapshot(topics, clock=clock, topic_configs={"orders": TopicConfig()}, broker_configs=configs)

    def healthy(sidecar: ExporterState) -> ExporterState:
        status = {key: each for key, each in sidecar.polled.status.items() if each.up}
        sinks = {name: replace(sink, up=True) for name, sink in sidecar.sinks.items()}
        return replace(
            sidecar,
            polled=replace(sidecar.polled, status=status),
            sinks=sinks,
            figures={**sidecar.figures, "web_config_in_use": {(): True}, "poll_interval_seconds": {(): interval}},
        )

    recent = Recent()
    _, derived = derive(poll(0.0), None, Parameters())
    view = View(derived, healthy(scene.sidecar()), np.ones(1, bool), Parameters())
    recent.add(view)
    return rendered(view.exporter, view, recent)


@cache
def moving(moves: int = MANY, polls: int = 6) -> Page:
    """Six brokers, and a throttled reassignment of so many partitions to three new ones, which advance differently."""

    def poll(clock: float) -> Snapshot:
        rows = []
        for number in range(moves):
            target = 4 + number % 3
            size, speed = 4_000_000 + number % 7 * 100_000, (number % 11) * 4_000
            # One in ten does not advance at all.
            lag = size if number % 10 == 0 else max(size - int((clock + number % 50) * speed / 3), 0)
            rows.append(
                Partition(replicas=(1, 2, 3, target), adding=(target,), removing=(3,), end=size, lag={target: lag})
            )
        limits = {side: Limit(2e8, Origin.BROKER) for side in (Side.LEADER, Side.FOLLOWER)}
        return snapshot(
            {"payments.settled.v2": rows[: moves // 2], "orders.placed": rows[moves // 2 :]},
            clock=clock,
            broker_configs={broker: BrokerConfig(limits=limits) for broker in range(1, 7)},
            topic_configs=dict.fromkeys(("payments.settled.v2", "orders.placed"), TopicConfig("*", "*")),
            kafka_version="4.1.1",
        )

    return page(poll, Parameters(), polls=polls)
