"""What the poller keeps from one poll to the next: brokers, last good answers, and when each question was answered."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from kafka_warden.arrays import Keys, carry, match_partitions, match_replicas
from kafka_warden.model import (
    Broker,
    BrokerConfig,
    Floats,
    OptionalQuestion,
    ProcessBeans,
    QuotaEntity,
    Source,
    TopicConfig,
)
from kafka_warden.poller.tables import Columns, Rows
from kafka_warden.replies import ControllerWindow, FutureReplica, LogDir, LogGaps, Quorum
from kafka_warden.sources.cluster import Reassignments
from kafka_warden.sources.log_dirs import LogDirs
from kafka_warden.sources.metadata import Layout, MetadataQuestion

LOST_FOR: Final = 6 * 3600.0
"""Seconds for which a lost broker or topic is kept. Before Kafka 4.0 nothing shows whether a broker without replicas
was removed meanwhile."""

MOST_LOST: Final = 100
"""Brokers without replicas that are shown although the cluster no longer lists them."""

ALL_LOGS: Final = "all logs"
"""With the id of a broker, the question about all of its logs."""

EARLY: Final = 0.9
"""Part of the interval after which a question is due: polls start a little early or late."""


@dataclass(slots=True)
class LastAnswers:
    """Brokers and the last good answer to each question."""

    metadata: MetadataQuestion = field(default_factory=MetadataQuestion)
    layout: Layout | None = None
    kafka_version: str | None = None
    rows: Rows | None = None
    columns: Columns = field(default_factory=lambda: Columns.unknown(0))
    brokers: dict[int, Broker] = field(default_factory=dict)
    lost: dict[int, float] = field(default_factory=dict)
    """Broker without replicas to when the cluster no longer listed it, although it was not shut down in order."""
    reassignments: Reassignments = field(default_factory=dict)
    quorum: Quorum | None = None
    quotas: tuple[QuotaEntity, ...] | None = None
    windows: dict[int | None, ControllerWindow] = field(default_factory=dict)
    """By node id, as the last active controller that was read answered."""
    broker_configs: dict[int, BrokerConfig] = field(default_factory=dict)
    topic_configs: dict[str, TopicConfig] = field(default_factory=dict)
    refused_topics: frozenset[str] | set[str] = frozenset()
    """Topics that were asked about and not answered, for example for lack of an ACL."""
    undescribed: dict[str, float] = field(default_factory=dict)
    """Topics that the metadata had, and that may not be described any more, with when they vanished."""
    _topics_answered: dict[str, float] = field(default_factory=dict)
    """By topic, when its configuration was last answered."""
    log_dirs: dict[int, tuple[LogDir, ...]] = field(default_factory=dict)
    future: dict[int, tuple[FutureReplica, ...]] = field(default_factory=dict)
    log_gaps: dict[int, LogGaps] = field(default_factory=dict)
    placed: dict[int, dict[tuple[str, int], str]] = field(default_factory=dict)
    """Of each broker, topic and partition of the watched logs with their directories."""
    broker_beans: dict[int, ProcessBeans] = field(default_factory=dict)
    controller_beans: dict[str, ProcessBeans] = field(default_factory=dict)
    _answered: dict[object, float] = field(default_factory=dict)

    def mark_answered(self, question: object, clock: float) -> None:
        """Note that a question was answered, at a monotonic time."""
        self._answered[question] = clock

    def store_topic_configs(self, configs: Mapping[str, TopicConfig], asked: Collection[str], clock: float) -> None:
        """Store the configurations of the topics that were asked about, as answered at a monotonic time."""
        self.topic_configs.update(configs)
        self._topics_answered.update(dict.fromkeys(configs, clock))
        self.refused_topics = (self.refused_topics | set(asked)) - configs.keys()

    def topic_configs_since(self, oldest: float) -> dict[str, TopicConfig]:
        """Return the configurations that were answered since a monotonic time."""
        return {name: config for name, config in self.topic_configs.items() if self._topics_answered[name] >= oldest}

    def answered_since(self, question: object, oldest: float) -> bool:
        """Return whether a question was answered since a monotonic time."""
        return self._answered.get(question, -math.inf) >= oldest

    def due(self, question: object, interval: float, clock: float) -> bool:
        """Return whether so many seconds have passed since the last answer; true for a question that never had one."""
        return clock - self._answered.get(question, -math.inf) >= EARLY * interval

    def forget(self, question: object) -> None:
        """Make a question due at once."""
        self._answered.pop(question, None)

    def keep_beans(self, keys: Collection[str]) -> None:
        """Drop the beans of all processes except these: `broker ID` or `controller NAME`."""
        self.broker_beans = {key: beans for key, beans in self.broker_beans.items() if f"broker {key}" in keys}
        self.controller_beans = {
            key: beans for key, beans in self.controller_beans.items() if f"controller {key}" in keys
        }

    def drop(self, disabled: Collection[OptionalQuestion]) -> None:
        """Drop what is not asked any more and would be used without an age."""
        if OptionalQuestion.REASSIGNMENTS in disabled:
            self.reassignments = {}
        if OptionalQuestion.QUORUM in disabled:
            self.quorum = None

    def copied_topics(self) -> frozenset[str]:
        """Names of the topics that are known to be copied to remote storage."""
        return frozenset(
            name
            for name, config in self.topic_configs.items()
            if config.remote_storage and not config.remote_copy_disabled
        )

    def copies_due(self, topics: Sequence[str], now: float) -> Floats:
        """Return (T,) before which Unix time records of a topic are to be copied at `now`, 0 without such a limit."""
        configs = (self.topic_configs.get(topic) for topic in topics)
        lags = np.array([config.remote_copy_lag_seconds if config is not None else 0.0 for config in configs])
        return np.where((lags > 0) & np.isfinite(lags), np.maximum(now - lags, 0.0), 0.0)

    def adopt(self, layout: Layout) -> Layout:
        """Take a new layout over. While the rows stay the same their columns are shared, not copied."""
        old, asked = self.layout, self.rows
        if old is None or asked is None:
            self.layout, self.rows, self.columns = layout, Rows(layout), Columns.unknown(len(layout.partition))
            return layout
        before, now, led = old.keys(), layout.keys(), asked.leading
        if now.same(before):
            layout = replace(layout, **{name: getattr(old, name) for name in Keys.__slots__})
            if (layout.leader_row != old.leader_row).any():
                asked = Rows(layout)
        else:
            rows = match_replicas(before, now, match_partitions(before, now))
            led, self.columns = carry(led, rows, missing=False), self.columns.carried(rows)
            asked = Rows(layout)
            self._forget_topics(old, layout)
        if len(leading := np.flatnonzero(asked.leading & ~led)):
            self.columns.lead(leading)
        self.layout, self.rows = layout, asked
        return layout

    def _forget_topics(self, old: Layout, layout: Layout) -> None:
        """Drop configurations of deleted topics, also of those that were created again under the same name."""
        same = set(zip(old.topics, old.topic_ids, strict=True)) & set(zip(layout.topics, layout.topic_ids, strict=True))
        names = {name for name, _ in same}
        self.topic_configs = {name: config for name, config in self.topic_configs.items() if name in names}
        self._topics_answered = {name: at for name, at in self._topics_answered.items() if name in names}
        self.refused_topics = {name for name in self.refused_topics if name in names}

    def update_brokers(
        self,
        active: Mapping[int, Broker],
        fenced: Mapping[int, Broker],
        assigned: frozenset[int],
        lost: Mapping[int, float],
    ) -> list[int]:
        """Update the known brokers; return those that are dropped: not listed, without an assigned replica, not lost.

        `lost`: those that are still to be shown, with the monotonic time since which they are not listed.
        """
        listed = {**fenced, **active}
        # With a replica it is shown for as long as it has one, and no longer: then it was removed.
        known = assigned.union(listed)
        self.lost = dict([(broker, at) for broker, at in lost.items() if broker not in known][-MOST_LOST:])
        missing = {
            broker: replace(self.brokers.get(broker, Broker(broker, "", 0)), fenced=False, gone=True)
            for broker in assigned.union(self.lost) - listed.keys()
        }
        dropped = [broker for broker in self.brokers if broker not in listed and broker not in missing]
        self.brokers = dict(sorted({**listed, **missing}.items()))
        for broker in dropped:
            kept = (self.broker_configs, self.log_dirs, self.future, self.log_gaps, self.placed, self.broker_beans)
            for answers in kept:
                answers.pop(broker, None)
            for question in ((Source.LOG_DIRS, broker), (ALL_LOGS, broker), (Source.CONFIGS, broker)):
                self.forget(question)
        return dropped

    def keep_log_dirs(self, broker: int, answer: LogDirs, asked: set[tuple[str, int]] | None) -> None:
        """Keep one broker's answer about its log directories.

        `asked`: topic and partition of the replicas that it was asked about, `None` for all: only then are the bytes
        per directory complete.
        """
        self.placed[broker] = answer.placed
        if asked is None:
            self.log_dirs[broker] = tuple(answer.directories)
            self.future[broker] = tuple(answer.future)
            return
        used = {directory.path: directory.bytes for directory in self.log_dirs.get(broker, ())}
        self.log_dirs[broker] = tuple(
            replace(directory, bytes=used.get(directory.path, directory.bytes)) if directory.online else directory
            for directory in answer.directories
        )
        others = (moving for moving in self.future.get(broker, ()) if (moving.topic, moving.partition) not in asked)
        self.future[broker] = (*others, *answer.future)
