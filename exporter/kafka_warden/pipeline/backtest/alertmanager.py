"""Faults from alerts of other tools, exported by Alertmanager's API: `GET /api/v2/alerts`."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from kafka_warden.errors import TruthError

Fault = tuple[str, str, float, float, str | None, int | None, int | None]
"""Cluster id, kind, begin and end (Unix s), topic, partition, broker."""


def faults(text: str, kinds: Mapping[str, str], clusters: Mapping[str, str]) -> list[Fault]:
    """Read one export, or several one after the other: an alert that is in many of them is one fault.

    The API only has alerts that fire, so an alert ends when its last export says: a few minutes after it was resolved.

    Args:
        text: The answers of the API.
        kinds: Alert name to the kind of fault that it shows. Other alerts are left out.
        clusters: Label `cluster` to cluster id, for alerts without the label `cluster_id`.

    Raises:
        TruthError: another form, an alert of no known cluster, or no alert with a name of `kinds`.
    """
    found: dict[tuple[str, str], Fault] = {}
    names = set()
    for alert in _alerts(text):
        try:
            labels, began, ended = dict(alert["labels"]), _seconds(alert["startsAt"]), _seconds(alert["endsAt"])
            name = labels["alertname"]
            names.add(name)
            if name in kinds:
                key = (json.dumps(labels, sort_keys=True), alert["startsAt"])
                last = max(ended, found[key][3]) if key in found else ended
                about = (labels.get("topic"), _number(labels, "partition"), _number(labels, "broker"))
                found[key] = (_cluster(labels, clusters), kinds[name], began, last, *about)
        except (KeyError, TypeError, ValueError) as failure:
            raise TruthError(
                f"an alert is not of Alertmanager's form ({failure!r}): {json.dumps(alert)[:300]}"
            ) from None
    if not found:
        there = ", ".join(sorted(names)) or "none"
        raise TruthError(f"no alert has a name of --truth-alert NAME=KIND; names in the export: {there}")
    return list(found.values())


def _alerts(text: str) -> Iterator[Any]:
    """Yield the alerts of all arrays."""
    decoder, text = json.JSONDecoder(), text.strip()
    while text:
        try:
            answer, after = decoder.raw_decode(text)
        except ValueError as failure:
            raise TruthError(f"it is no JSON: {failure}; save the answer of GET /api/v2/alerts") from None
        if not isinstance(answer, list):
            raise TruthError("it is no array of alerts; save the answer of GET /api/v2/alerts")
        yield from answer
        text = text[after:].strip()


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _number(labels: Mapping[str, str], name: str) -> int | None:
    return int(labels[name]) if name in labels else None


def _cluster(labels: Mapping[str, str], clusters: Mapping[str, str]) -> str:
    found = labels.get("cluster_id") or clusters.get(labels.get("cluster", ""))
    if found is None:
        label = labels.get("cluster", "")
        raise TruthError(
            f"{labels['alertname']}: the cluster id of its label cluster={label!r} is unknown; give --truth-cluster"
            f" {label or 'LABEL'}=ID, or alerts with the label cluster_id"
        )
    return found
