"""Everything that a sidecar shows of one poll: `/metrics`, all paths of `/api/v1`, all parts of the status page."""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafka_warden.views.fields import FAMILIES
from kafka_warden.views.specs import TABLES
from kafka_warden.web.status.render import ROWS, parameter
from tests.support.page_numbers import PageNumbers
from tests.support.row_values import Series, series_of

PREFIX: Final = "kafka_warden_"


@dataclass(frozen=True)
class Metrics:
    """A page of `/metrics`."""

    series: Series

    def labelled(self, name: str, **labels: str) -> dict[tuple[str, ...], float]:
        """Return the series of a family with these labels, by all its labels."""
        family = FAMILIES[name]
        found = {}
        for (full, pairs), value in self.series.items():
            if full == family.full_name and set(labels.items()) <= pairs:
                of = dict(pairs)
                found[tuple(of[label] for label in family.labels)] = value
        return found

    def get(self, name: str, **labels: str) -> float | None:
        return self.series.get((PREFIX + name, frozenset(labels.items())))

    def counted(self, name: str, label: str, **labels: str) -> dict[str, float]:
        """Return the sums by one label, without those of 0."""
        place, sums = FAMILIES[name].labels.index(label), Counter[str]()
        for key, value in self.labelled(name, **labels).items():
            sums[key[place]] += int(value)
        return {each: float(count) for each, count in sums.items() if count}


@dataclass(frozen=True)
class Answers:
    """What a sidecar answers for one poll, and `/metrics` of polls before it, by their times."""

    metrics: Metrics
    api: Mapping[str, Any]
    """Path to data; of tables all rows."""
    document: Mapping[str, Any]
    pages: Mapping[tuple[str, int], PageNumbers]
    """All parts of the status page, by the table and the number of the part."""
    before: Mapping[float, Metrics] = field(default_factory=dict)

    def plot(self, name: str, broker: int | None = None, side: str = "") -> float | None:
        """Return the last value of the history, as the plots show it."""
        data = self.api["/history"]
        if broker is not None:
            data = next(each for each in data["sides"] if (each["broker"], each["side"]) == (broker, side))
        return number(data[name][-1]) if data[name] else None


def read(get: Callable[[str], bytes], before: Mapping[float, bytes]) -> Answers:
    document = json.loads(get("/api/v1/openapi.json"))
    metrics = Metrics(series_of(get("/metrics")))
    bodies = {
        path: json.loads(get(f"/api/v1{path}{'?limit=1000' if _is_table(document, path) else ''}"))
        for path in document["paths"]
    }
    pages = {("", 1): PageNumbers(get("/").decode())}
    for spec in TABLES:
        name, rows = parameter(spec), bodies[f"/{spec.name}"]["total"]
        for part in range(2, -(-rows // ROWS) + 1):
            pages[name, part] = PageNumbers(get(f"/?{name}={part}").decode())
    for body in bodies.values():
        assert body["time"] == metrics.get("snapshot_timestamp_seconds")
        assert "total" not in body or body["total"] == len(body["data"])
    data = {path: body["data"] for path, body in bodies.items()}
    return Answers(metrics, data, document, pages, {time: Metrics(series_of(text)) for time, text in before.items()})


def number(value: Any) -> float | None:
    return None if value is None else math.inf if value == "+Inf" else float(value)


def _is_table(document: Mapping[str, Any], path: str) -> bool:
    return any(each["name"] == "limit" for each in document["paths"][path]["get"].get("parameters", ()))
