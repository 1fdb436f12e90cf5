"""One cycle: poll, evaluate, render, replace the page. Numbers that are too old are removed from the page."""

import math
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import numpy as np
import structlog

from kafka_warden.catalogue import Build, ExporterState, Figures, View
from kafka_warden.clock import Clock
from kafka_warden.derive import Derived, Memory, derive
from kafka_warden.derive.saved import from_document, to_document
from kafka_warden.errors import PollAbandonedError, StateError
from kafka_warden.exposition import Exposition, OnDemand, PageHolder
from kafka_warden.history.poll import Remembered
from kafka_warden.history.recorder import Recorder
from kafka_warden.lifecycle import FreeMemory
from kafka_warden.model import Bools, OptionalQuestion, Parameters, PollResult, Snapshot
from kafka_warden.poller import SHOWN_FOR, Poller
from kafka_warden.state import BOOTSTRAP, StateFile, watched_cluster
from kafka_warden.timer import Pace, most_silent
from kafka_warden.views import Recent, make_views

log = structlog.get_logger(__name__)

SAVE_SECONDS: Final = 30.0
"""Seconds between two writes of the state file: a crash loses at most these. A clean stop loses nothing."""

EVER_ANSWERED: Final = "answered"
"""Key of the state file: questions that were ever answered. That they are refused after a restart is a failure, too."""

SAVE_WAIT: Final = 1.0
"""Seconds to wait for another thread that writes the state file."""

_NO_TOPICS: Final = ((), np.zeros(0, bool), np.zeros(0, bool))


class Cycle:
    """Everything between the timer and the page. Ages are measured on the monotonic clock."""

    def __init__(
        self,
        poller: Poller,
        parameters: Parameters,
        build: Build,
        state: StateFile | None = None,
        history: Recorder | None = None,
        clock: Clock | None = None,
        *,
        shows_topic: Callable[[str], bool] = lambda _: True,
        uncounted: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.holder = PageHolder()
        self.figures: Callable[[], Figures] = dict
        """Returns what the parts of the exporter count, from any thread."""
        self._poller = poller
        self._parameters = parameters
        self._shows_topic = shows_topic
        self._uncounted = uncounted
        self._build = build
        self._exposition = Exposition(parameters.series_budget)
        self._kept: tuple[Memory, Snapshot] | None = None
        """Of the last evaluated snapshot. One value, because `save` may run on another thread."""
        self._state = state
        self._history = history
        self._clock = clock or Clock()
        self._saving = threading.Lock()
        self._saved_at = -math.inf
        self._document: Mapping[str, Any] | None = None
        """What the previous process saved, until it is used."""
        self._loaded = False
        self._failing_since: float | None = None
        """Start of the first of the polls up to now that raised, or could not be evaluated."""
        self._polled = PollResult()
        """Of the last poll."""
        self._snapshot: Snapshot | None = None
        """The last one that was evaluated."""
        self._view: View | None = None
        """What the page shows of it."""
        self._snapshot_interval = 0.0
        """Seconds between the starts of two polls when it was polled."""
        self._recent = Recent()
        self._topics: tuple[tuple[str, ...], Bools, Bools] = _NO_TOPICS
        self._rendering = threading.RLock()
        self._pace = Pace(parameters.poll_interval)
        self._free_memory = FreeMemory(self._clock.monotonic())
        self._publish(None)

    def once(self) -> None:
        """Poll once and show the result. Never raises, so that the next cycle runs whatever happened in this one."""
        started = self._clock.awake()
        self._once(started)
        self._free_memory.release(self._clock.monotonic())
        self._pace.ended(self._clock.awake() - started)

    def _once(self, started: float) -> None:
        if not self._loaded:
            self._loaded = True
            self._document = self._state.load() if self._state is not None else None
            self._watch(self._document or {})
        polled, failed = None, False
        try:
            polled = self._polled = self._poller.poll(self.interval)
        except PollAbandonedError:
            return
        except Exception:
            log.exception("the poll failed; this is a bug, please report it")
            failed = True
        self._pace.running(self._clock.awake() - started)
        try:
            self._show(polled)
        except Exception:
            log.exception("the snapshot could not be evaluated; this is a bug, please report it")
            # The memory may be the cause: the next poll is evaluated without it.
            self._kept, failed = None, True
            self.holder.ready = False
            self._publish(None)
        if not failed:
            self._failing_since = None
        elif self._failing_since is None:
            self._failing_since = started

    def _watch(self, document: Mapping[str, Any]) -> None:
        """Poll only the cluster of a state file: an address that it was saved with may lead to another one by now."""
        cluster, answered = watched_cluster(document, self._poller.bootstrap), document.get(EVER_ANSWERED)
        if cluster is not None:
            listed = answered if isinstance(answered, list) else ()
            self._poller.watch(cluster, [question for question in OptionalQuestion if question.value in listed])

    def configure(
        self,
        parameters: Parameters,
        shows_topic: Callable[[str], bool],
        uncounted: Callable[[str], bool],
    ) -> None:
        """Use these from the next poll on; nothing that was measured is lost. Call it between two polls."""
        if parameters.series_budget != self._parameters.series_budget:
            self._exposition = Exposition(parameters.series_budget)
        self._parameters, self._shows_topic, self._uncounted = parameters, shows_topic, uncounted
        self._pace.configured = parameters.poll_interval
        self._topics = _NO_TOPICS

    def save(self, wait: float = SAVE_WAIT) -> None:
        """Write the state file, from which a restart continues. Never raises. Safe in every thread.

        Does nothing if another thread is still writing it after so many seconds.
        """
        if not self._saving.acquire(timeout=wait):
            return
        try:
            # Read under the lock, or an older state could replace a newer one.
            kept = self._kept
            if self._state is not None and kept is not None:
                self._saved_at = kept[1].clock
                answered, bootstrap = sorted(self._polled.ever_answered), sorted(self._poller.bootstrap)
                self._state.save({**to_document(*kept), EVER_ANSWERED: answered, BOOTSTRAP: bootstrap})
        except Exception:
            log.exception("the state could not be written; this is a bug, please report it")
        finally:
            self._saving.release()

    def expire(self) -> None:
        """Without a fresh snapshot, show the self-metrics as they are now, and nothing else."""
        with self._rendering:
            if not self._fresh(self._snapshot):
                self._publish(None)

    def late(self) -> str | None:
        """Return for how long polls have raised or could not be evaluated, if that is so long that a restart may help.

        A cluster that does not answer is no reason for one.
        """
        since = self._failing_since
        failing = 0.0 if since is None else self._clock.awake() - since
        return f"no snapshot could be evaluated for {failing:.0f} s" if failing > most_silent(self.interval) else None

    @property
    def interval(self) -> float:
        """Seconds between the starts of two polls."""
        return self._pace.interval

    def _show(self, snapshot: PollResult | None) -> None:
        """Show a new snapshot; without one, the last as long as it is fresh."""
        if not isinstance(snapshot, Snapshot) or not self._fresh(snapshot):
            self._publish(self._view if self._fresh(self._snapshot) else None)
            return
        # The page stays. Two evaluations of a large cluster at once would add a fifth to the memory in use.
        self._view = None
        if self.holder.page is not None and self.holder.page.views is not None:
            self.holder.page.views.release()
        parameters = replace(self._parameters, poll_interval=self.interval)
        shown, uncounted = self._matched(snapshot.topics)
        view = View(
            derived=self._evaluate(snapshot, parameters),
            exporter=self._exporter(snapshot),
            topics=shown,
            parameters=parameters,
            uncounted=uncounted,
        )
        self._recent.add(view)
        with self._rendering:
            self._snapshot, self._view, self._snapshot_interval = snapshot, view, self.interval
            self._publish(view)
        if snapshot.clock - self._saved_at >= SAVE_SECONDS:
            self.save()

    def _evaluate(self, snapshot: Snapshot, parameters: Parameters) -> Derived:
        document = None
        memory = self._kept[0] if self._kept is not None else None
        remembered = Remembered.KEPT if memory is not None else Remembered.NOTHING
        if memory is None and self._document is not None:
            memory, document = self._restored(snapshot)
            remembered = Remembered.RESTORED if memory is not None else Remembered.NOTHING
        memory, derived = derive(snapshot, memory, parameters)
        self._kept = (memory, snapshot)
        if self._history is not None:
            self._history.record(snapshot, derived, parameters, remembered, document)
        return derived

    def _restored(self, snapshot: Snapshot) -> tuple[Memory | None, Mapping[str, Any] | None]:
        """Return the memory that the previous process saved of this cluster, and its document, or `None` twice."""
        document, self._document = self._document, None
        if self._state is None or document is None:
            return None, None
        try:
            memory = from_document(document, snapshot)
        except StateError as problem:
            self._state.refuse(problem)
            return None, None
        return memory, document

    def _publish(self, view: View | None) -> None:
        with self._rendering:
            exporter = self._exporter(self._snapshot)
            page = self._exposition.render(exporter, view)
            exporter = replace(exporter, dropped=self._exposition.dropped)
            rows = OnDemand(lambda: make_views(view, exporter, self._recent.read()))
            self.holder.page, self.holder.ready = replace(page, views=rows), view is not None
            if self.holder.wanted:
                self.holder.wanted = False
                with suppress(Exception):  # the request makes them again, and reports it
                    rows.get()
            if view is None:
                self._view = None

    def _exporter(self, snapshot: Snapshot | None) -> ExporterState:
        state = self._state
        own: Figures = {
            "poll_interval_seconds": {(): self.interval},
            "state_last_save_successful": {(): state.problem is None if state is not None and state.saved else None},
        }
        return ExporterState(
            self._polled,
            self._build,
            snapshot.time if snapshot is not None else None,
            sinks=self._history.status if self._history is not None else {},
            figures={**self._figures(), **own},
        )

    def _figures(self) -> Figures:
        try:
            return self.figures()
        except Exception:
            log.exception("what the exporter counts could not be read; this is a bug, please report it")
            return {}

    def _fresh(self, snapshot: Snapshot | None) -> bool:
        # A shorter interval is in force before the first poll with it has ended.
        oldest = self._clock.monotonic() - SHOWN_FOR * max(self.interval, self._snapshot_interval)
        return snapshot is not None and snapshot.clock >= oldest

    def _matched(self, topics: tuple[str, ...]) -> tuple[Bools, Bools]:
        """Return which topics (T,) may have series, and which are left out of counts."""
        if self._topics[0] is not topics:
            shown, uncounted = (np.array([*map(each, topics)], bool) for each in (self._shows_topic, self._uncounted))
            self._topics = (topics, shown, uncounted)
        return self._topics[1:]
