"""Renders the catalogue once per poll into one `Page`, in both formats of Prometheus, compressed.

prometheus-client renders the families of its own registry: process, garbage collection, Python. It would need 170 ms
for 30,000 samples of the catalogue. Its parser checks the output in the tests.
"""

import gzip
import hashlib
import math
import threading
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Final

from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics_exposition

from kafka_warden.catalogue import (
    CATALOGUE,
    ExporterState,
    Kind,
    Metric,
    Rank,
    Sample,
    SelfMetric,
    View,
    clients_left_out,
)
from kafka_warden.catalogue.metric import Counted, Labels, rank_of_labels
from kafka_warden.views import Views


class OnDemand:
    """The rows of one snapshot, made when they are first asked for. Safe in every thread.

    The snapshot is needed until then. `release` gives it up, so that two are not in memory at once.
    """

    def __init__(self, make: Callable[[], Views]) -> None:
        self._make: Callable[[], Views] | None = make
        self._made: Views | None = None
        self._making = threading.Lock()
        self.since = time.monotonic()
        """When the page was made."""

    def get(self) -> Views | None:
        """Return the rows, and make them if needed, which may take 100 ms; `None` if the snapshot was given up."""
        with self._making:
            if self._made is None and (make := self._make) is not None:
                self._made = make()
                self._make = None
            return self._made

    def release(self) -> None:
        """Give up the snapshot. Does not wait for a thread that makes the rows."""
        self._make = None


@dataclass(frozen=True)
class Page:
    """One snapshot in both of Prometheus' formats, compressed as scrapers ask for them, and its rows."""

    text_gzip: bytes
    openmetrics_gzip: bytes
    views: OnDemand | None = None

    @cached_property
    def text(self) -> bytes:
        """The page without compression, one copy for all clients that ask for it."""
        return gzip.decompress(self.text_gzip)

    @cached_property
    def openmetrics(self) -> bytes:
        """The same in the format of OpenMetrics."""
        return gzip.decompress(self.openmetrics_gzip)


@dataclass(slots=True)
class PageHolder:
    """The page in force. A new one replaces it by one assignment, so no request sees a mixture."""

    page: Page | None = None
    ready: bool = False
    """Whether the page has a fresh snapshot."""
    wanted: bool = False
    """A client waits for rows: those of the next page are made at once, as the next poll may start soon."""


BROKER_SERIES: Final = 2_000
"""Series by broker that do not count against `limits.series`: all those of some 30 brokers."""

FIXED_SERIES: Final = 500
"""At most so many series are of families that do not grow with the cluster. They do not count, either."""

SURE: Final = 0.75
"""Of a family that is cut, the series in this part of its room are always shown."""

KEPT: Final = 1.5
"""The rest of the room goes first to series that were shown before, up to this multiple of the room."""

GROWTH: Final = 1.1
"""The room of a family that is cut grows when there is this much of it: a room that changes in each poll is no use."""


class Budget:
    """Gives each part of a page its room, in the order of the ranks."""

    def __init__(self, series: int) -> None:
        self._series = series
        self._left = self._left_brokers = 0
        self._cut: dict[tuple[Rank, str], frozenset[Labels]] = {}
        """Of each part that the last page had to cut, the series that it showed."""

    def begin(self) -> None:
        """Start a page."""
        self._left, self._left_brokers = self._series, BROKER_SERIES

    def choose(
        self, rank: Rank, metric: Metric | SelfMetric, samples: Iterable[Sample]
    ) -> tuple[dict[Labels, float], int]:
        """Return the samples of this part that are shown, and the number of the others.

        A label set that appears twice keeps its first value, since a page with both is refused.
        """
        if rank is Rank.FIXED:
            return _first(samples, math.inf, math.inf)[0], 0
        by_broker = "topic" not in metric.labels and "user" not in metric.labels
        room = self._left + (self._left_brokers if by_broker else 0)
        before = self._cut.pop((rank, metric.name), frozenset())
        used = min(room, len(before)) if room <= GROWTH * len(before) else room
        chosen, spare, left_out = _first(samples, SURE * used, KEPT * used)
        if len(chosen) + len(spare) + left_out > room:
            kept = sorted(spare, key=lambda labels: labels not in before)[: used - len(chosen)]
            left_out += len(spare) - len(kept)
            spare = {labels: spare[labels] for labels in kept}
        chosen |= spare
        if left_out:
            self._cut[rank, metric.name] = frozenset(chosen)
        free = min(len(chosen), self._left_brokers) if by_broker else 0
        self._left_brokers -= free
        self._left -= len(chosen) - free
        return chosen, left_out


def _first(samples: Iterable[Sample], sure: float, most: float) -> tuple[dict[Labels, float], dict[Labels, float], int]:
    """Return the first known samples up to `sure`, those after them up to `most`, and the number of the others."""
    chosen: dict[Labels, float] = {}
    spare: dict[Labels, float] = {}
    left_out = 0
    for number, (labels, value) in enumerate(samples):
        if math.isnan(value) or labels in chosen:
            continue
        if len(chosen) < sure:
            chosen[labels] = value
        elif labels not in spare:
            if len(chosen) + len(spare) < most:
                spare[labels] = value
            elif isinstance(samples, Counted):
                return chosen, spare, len(samples) - number
            else:
                left_out += 1
    return chosen, spare, left_out


GZIP_LEVEL: Final = 1
"""Twice the size of level 9 at a tenth of the time; it is paid once per poll."""

LONGEST_LABEL: Final = 256
"""Characters of a label value. Kafka limits the names of topics to 249, but not those of users and client ids."""

INFO: Final = "_info"
TOTAL: Final = "_total"
END: Final = b"# EOF\n"

AnyMetric = Metric | SelfMetric
Part = tuple[Rank, AnyMetric, Callable[[Any], Iterable[Sample]]]


def _parts() -> Iterator[Part]:
    for metric in CATALOGUE:
        yield metric.rank, metric, metric.read
        if metric.rest is not None:
            yield rank_of_labels(metric.labels), metric, metric.rest
        if metric.rank is Rank.BROKERS:
            yield Rank.UNKNOWN_BROKERS, metric, metric.read


PARTS: Final = sorted(_parts(), key=lambda part: part[0])
"""Parts of families in the order in which they are placed; those of one rank in the order of the catalogue."""


class Exposition:
    """Renders pages. Keeps the text of the last page's label sets, because most stay the same."""

    def __init__(self, series_budget: int, registry: CollectorRegistry = REGISTRY) -> None:
        self._budget = Budget(series_budget)
        self._registry = registry
        self._labels: dict[tuple[str, ...], dict[Labels, str]] = defaultdict(dict)
        self.dropped: Mapping[tuple[str, Rank], int] = {}
        """What the last page left out, by family and rank."""

    def render(self, exporter: ExporterState, view: View | None) -> Page:
        """Render all known values; without a fresh `view` those of the exporter only."""
        unknown = view.unknown_brokers() if view is not None else frozenset()
        dropped = Counter(clients_left_out(view) if view is not None else ())
        # Families of the rank FIXED come last, and show what was dropped until then.
        exporter = replace(exporter, dropped=dropped)
        # Bytes of a part at once: a string for each line of the page would keep twice the memory.
        lines: dict[str, bytes] = defaultdict(bytes)
        labels: dict[tuple[str, ...], dict[Labels, str]] = defaultdict(dict)
        self._budget.begin()
        for rank, metric, read in PARTS:
            data = exporter if isinstance(metric, SelfMetric) else view
            if data is None or (rank is Rank.UNKNOWN_BROKERS and not unknown):
                continue
            samples = read(data)
            if unknown and rank in (Rank.BROKERS, Rank.UNKNOWN_BROKERS):
                samples = _split(metric, samples, unknown, inside=rank is Rank.UNKNOWN_BROKERS)
            chosen, left_out = self._budget.choose(rank, metric, samples)
            lines[metric.name] += "".join(self._lines(metric, chosen, labels[metric.labels])).encode()
            if left_out:
                dropped[metric.full_name, rank] += left_out
        self._labels, self.dropped = labels, dropped
        families = [(metric, lines[metric.name]) for metric in CATALOGUE if lines[metric.name]]
        process = openmetrics_exposition.generate_latest(self._registry)
        return Page(
            pack(chain(_page(families, openmetrics=False), [generate_latest(self._registry)])),
            pack(chain(_page(families, openmetrics=True), [process.removesuffix(END), END])),
        )

    def _lines(self, metric: AnyMetric, samples: dict[Labels, float], kept: dict[Labels, str]) -> Iterator[str]:
        name, last = metric.full_name, self._labels[metric.labels]
        for labels, value in samples.items():
            text = kept[labels] = last.get(labels) or _label_text(metric, labels)
            yield f"{name}{text} {_number(value)}\n"


def _split(metric: AnyMetric, samples: Iterable[Sample], brokers: frozenset[str], *, inside: bool) -> Iterator[Sample]:
    """Choose the samples of some brokers, or of all others."""
    place = metric.labels.index("broker") if "broker" in metric.labels else metric.labels.index("node")
    return (sample for sample in samples if (sample[0][place] in brokers) is inside)


def _label_text(metric: AnyMetric, labels: tuple[str, ...]) -> str:
    if len(labels) != len(metric.labels):
        raise ValueError(f"{metric.name} has the labels {metric.labels} and got the values {labels}")
    if not labels:
        return ""
    values = map(_escape, map(_cut, labels))
    return "{" + ",".join(f'{name}="{value}"' for name, value in zip(metric.labels, values, strict=True)) + "}"


def _cut(value: str) -> str:
    """Cut a long value; a hash keeps it distinct. Values of this length are cut, too, so none equals a cut one."""
    if len(value) < LONGEST_LABEL:
        return value
    mark = "~" + hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return value[: LONGEST_LABEL - len(mark)] + mark


def _escape(value: str) -> str:
    text = value.encode("utf-8", "backslashreplace").decode()
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    if value == math.inf:
        return "+Inf"
    if value == -math.inf:
        return "-Inf"
    # 3030268 reads better than 3030268.0, and both formats allow it.
    return repr(int(value)) if value == int(value) else repr(value)


def _page(families: list[tuple[AnyMetric, bytes]], *, openmetrics: bool) -> Iterator[bytes]:
    for metric, lines in families:
        yield _header(metric, openmetrics=openmetrics).encode()
        yield lines


def _header(metric: AnyMetric, *, openmetrics: bool) -> str:
    """HELP and TYPE. OpenMetrics names a family without the suffix of its samples, and knows info as a type."""
    name, kind = metric.full_name, metric.kind
    text = metric.help.replace("\\", r"\\").replace("\n", r"\n")
    if openmetrics:
        name = name.removesuffix(TOTAL if kind is Kind.COUNTER else INFO if kind is Kind.INFO else "")
        text = text.replace('"', r"\"")
    elif kind is Kind.INFO:
        kind = Kind.GAUGE
    return f"# HELP {name} {text}\n# TYPE {name} {kind}\n"


def pack(page: Iterable[bytes]) -> bytes:
    """Compress a page as it is served, part by part, so the whole of it is never in memory."""
    packer = zlib.compressobj(GZIP_LEVEL, wbits=16 + zlib.MAX_WBITS)
    return b"".join([*map(packer.compress, page), packer.flush()])
