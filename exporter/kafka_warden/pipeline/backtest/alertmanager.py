"""Faults from alerts of other tools, exported by Alertmanager's API: `GET /api/v2/alerts`."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from kafka_warden.errors import TruthError
from kafka_warden.pipeline.landing import joined

Fault = tuple[str, str, float, float, str | None, int | None, int | None]
"""Cluster id, kind, begin and end (Unix s), topic, partition, broker."""
_Subject = tuple[str, str, tuple[str | None, int | None, int | None]]

_SPACE: Final = re.compile(r"\s*")
_AFTER_NUMBERS: Final = 1 << 31
"""Kafka's numbers of partitions and brokers are lower."""


def faults(text: str, kinds: Mapping[str, str], clusters: Mapping[str, str]) -> list[Fault]:
    """Read one export, or several one after the other. Alerts of one subject that overlap are one fault.

    The API only has alerts that fire. So a fault begins when its alert fired, and ends when the last export says: a few
    minutes after it was resolved.

    Args:
        text: The answers of the API.
        kinds: Alert name to the kind of fault that it shows. Other alerts are left out.
        clusters: Label `cluster` to cluster id, for alerts without the label `cluster_id`.

    Raises:
        TruthError: another form, an alert of no known cluster, or no alert with a name of `kinds`.
    """
    found: dict[_Subject, list[tuple[float, float]]] = defaultdict(list)
    names = set()
    for alert in _alerts(text):
        try:
            labels, began, ended = dict(alert["labels"]), _seconds(alert["startsAt"]), _seconds(alert["endsAt"])
            # Spark takes strings only, and no half of a surrogate pair.
            "".join(labels.values()).encode()
            name = labels["alertname"]
            names.add(name)
            if name in kinds:
                about = (labels.get("topic"), _number(labels, "partition"), _number(labels, "broker"))
                found[_cluster(labels, clusters), kinds[name], about].append((began, ended))
        except (KeyError, TypeError, ValueError) as failure:
            raise TruthError(f"an alert cannot be read ({failure!r}): {json.dumps(alert)[:300]}") from None
    if not found:
        there = ", ".join(sorted(names)) or "none"
        raise TruthError(f"no alert has a name of --truth-alert NAME=KIND; names in the export: {there}")
    return [
        (cluster, kind, began, ended, *about)
        for (cluster, kind, about), spans in found.items()
        for began, ended in joined(spans)
    ]


def _alerts(text: str) -> Iterator[Any]:
    """Yield the alerts of all arrays."""
    decoder, place = json.JSONDecoder(), _after_space(text, 0)
    while place < len(text):
        try:
            answer, place = decoder.raw_decode(text, place)
        except ValueError as failure:
            raise TruthError(f"it is no JSON: {failure}; save the answer of GET /api/v2/alerts") from None
        if not isinstance(answer, list):
            raise TruthError("it is no array of alerts; save the answer of GET /api/v2/alerts")
        yield from answer
        place = _after_space(text, place)


def _after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return place if found is None else found.end()


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _number(labels: Mapping[str, str], name: str) -> int | None:
    if name not in labels:
        return None
    text = labels[name]
    if not (text.isascii() and text.isdigit() and int(text) < _AFTER_NUMBERS):
        raise TruthError(f"{labels['alertname']}: its label {name}={text!r} is no number of a {name}")
    return int(text)


def _cluster(labels: Mapping[str, str], clusters: Mapping[str, str]) -> str:
    found = labels.get("cluster_id") or clusters.get(labels.get("cluster", ""))
    if found is None:
        label = labels.get("cluster", "")
        raise TruthError(
            f"{labels['alertname']}: the cluster id of its label cluster={label!r} is unknown; give --truth-cluster"
            f" {label or 'LABEL'}=ID, or alerts with the label cluster_id"
        )
    return found
