"""Compares every number of `/api/v1` with `/metrics`.

What has no series of its own is in `MADE_OF`, with how it is made of series, or in `WITHOUT`, with the reason. A number
that is nowhere is an error.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from kafka_warden.views.fields import FAMILIES
from tests.support.answers import PREFIX, Answers, Metrics, number
from tests.support.page_numbers import tokens

Row = Mapping[str, Any]


def _age(row: Row, metrics: Metrics) -> Any:
    """Return the age of a problem: the longest of those that its sentence counts."""
    kind = str(row["kind"])
    if kind.startswith("stuck_"):
        stuck = metrics.labelled("reassignment_stuck", cause=kind.removeprefix("stuck_"))
        stalled = metrics.labelled("reassignment_stalled_seconds")
        return max(stalled.get(key[:3], 0.0) for key in stuck)
    if kind == "out_of_sync":
        return max(metrics.labelled("replica_out_of_sync_seconds").values())
    if kind.startswith("throttle_"):
        name = kind.removeprefix("throttle_")
        return max(metrics.labelled("replication_throttle_problem_seconds", problem=name).values())
    if kind.startswith("tiered_"):
        (broker,) = tokens(str(row["sentence"]).partition(":")[0])
        return metrics.get(
            "tiered_storage_problem_seconds", broker=f"{broker:.0f}", problem=kind.removeprefix("tiered_")
        )
    return None


def _throttled(row: Row, metrics: Metrics) -> float | None:
    if row["side"] not in ("leader", "follower"):
        return None
    return metrics.get(f"{row['side']}_replication_throttled_bytes_per_second", broker=str(row["broker"]))


def _use(row: Row, metrics: Metrics) -> float | None:
    rate = _throttled(row, metrics)
    limit = metrics.get("replication_throttle_bytes_per_second", broker=str(row["broker"]), side=row["side"])
    return None if rate is None or not limit or math.isinf(limit) else rate / limit


MADE_OF: Final[Mapping[tuple[str, str], Callable[[Row, Metrics], Any]]] = {
    ("Cluster", "brokers"): lambda _, metrics: metrics.counted("broker_state", "state"),
    ("BrokerRow", "fenced_responding"): lambda row, metrics: bool(
        metrics.get("broker_fenced_responding", broker=str(row["broker"]))
    ),
    ("Cluster", "throttles_known"): lambda _, metrics: float(
        bool(metrics.labelled("replication_throttle_bytes_per_second"))
    ),
    ("Cluster", "stuck"): lambda _, metrics: metrics.counted("reassignment_stuck", "cause"),
    ("Cluster", "never_ending"): lambda _, metrics: _never_ending(metrics),
    ("Cluster", "log_dir_moves_never_ending"): lambda _, metrics: dict(
        Counter(key[-1] for key, eta in metrics.labelled("log_dir_move_eta_seconds").items() if math.isinf(eta))
    ),
    ("Cluster", "uncounted"): lambda _, metrics: metrics.counted("uncounted_partitions", "state"),
    ("Cluster", "out_of_sync"): lambda _, metrics: _out_of_sync(metrics),
    ("Throttle", "throttled_rate"): _throttled,
    ("Throttle", "use"): _use,
    ("Problem", "seconds"): _age,
    ("SourceRow", "errors"): lambda row, metrics: metrics.counted(
        "source_errors_total", "reason", source=row["source"], broker=row["broker"]
    ),
    ("ExporterRow", "jmx"): lambda _, metrics: float(bool(metrics.labelled("up", source="jmx"))),
    ("ExporterRow", "dropped_series"): lambda _, metrics: metrics.counted("dropped_series", "family"),
    ("ExporterRow", "history"): lambda _, metrics: {key[0]: up for key, up in metrics.labelled("sink_up").items()},
}
"""Numbers of the API that are made of several series."""

COUNTED: Final = {
    "offline_partitions": "offline_partitions",
    "under_min_isr": "under_min_isr_partitions",
}
"""Kind of a problem to the metric that its sentence has the value of."""

WITHOUT: Final = {
    ("Cluster", "topics"): "no metric counts topics",
    ("Topic", "uncounted"): "whether an option has the topic; no series has that",
    ("Move", "adding"): "a replica that stays and that a move waits for has the same series",
    ("Move", "leader"): "the id of a broker; no series has the leader of a partition as its label",
    ("Replica", "leader"): "the same",
}
"""Numbers of the API without a series, and why. Ids that are labels of the row's own series are compared with them."""


def differences(answers: Answers) -> tuple[list[str], Counter[str]]:
    """Return what differs between API and `/metrics`, and how many numbers of each path were compared."""
    wrong, compared = list[str](), Counter[str]()
    for path in answers.document["paths"]:
        for what, shown, expected in _of_api(answers, path):
            compared[path] += shown is not None
            if not same(shown, expected):
                wrong.append(f"{path} {what}: {shown}, in /metrics {expected}")
    return wrong, compared


def same(one: Any, other: Any) -> bool:
    """Return whether two numbers, or all numbers of two collections, are the same up to rounding of their text."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if one is None or other is None or isinstance(other, str | list | Mapping):
        return one is other
    return math.isclose(one, other, rel_tol=1e-9)


def _numeric(schema: Mapping[str, Any]) -> bool:
    """Return whether a value of this schema has a number."""
    parts = [*schema.get("anyOf", ()), *(schema[key] for key in ("items", "additionalProperties") if key in schema)]
    return schema.get("type") in ("integer", "number", "boolean") or any(map(_numeric, parts))


def _of_api(answers: Answers, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield each number of a path: what it is, its value, and that of `/metrics`."""
    schema = answers.document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    data = schema["properties"]["data"]
    name = (data.get("items") or data)["$ref"].rpartition("/")[2]
    if name == "History":
        yield from _of_history(answers)
        return
    for row in answers.api[path] if data.get("items") else [answers.api[path]]:
        yield from _of_row(answers.metrics, name, row, answers.document["components"]["schemas"][name]["properties"])
        if name == "Problem":
            yield (
                f"{row['kind']}: {row['sentence']}",
                sorted(tokens(row["sentence"])),
                sorted(_counted(row, answers.metrics)),
            )


def _of_row(metrics: Metrics, name: str, row: Row, fields: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    labels = {label for about in fields.values() if "x-metric" in about for label in _family(about).labels}
    for key, about in fields.items():
        value = row[key]
        if "x-metric" in about:
            asked = {label: str(row[label]) for label in _family(about).labels}
            yield f"{name}.{key} {asked}", number(value), metrics.get(_family(about).name, **asked)
        elif (name, key) in MADE_OF:
            shown = {each: number(part) for each, part in value.items()} if isinstance(value, dict) else number(value)
            yield f"{name}.{key} of {row}", shown, MADE_OF[name, key](row, metrics)
        elif _numeric(about):
            assert (name, key) in WITHOUT or key in labels, f"{name}.{key} has no metric"


def _family(about: Mapping[str, Any]) -> Any:
    return FAMILIES[about["x-metric"].removeprefix(PREFIX)]


def _of_history(answers: Answers) -> Iterator[tuple[str, Any, Any]]:
    """Yield the numbers of the last hour, at the times of which `/metrics` is known."""
    data, schemas = answers.api["/history"], answers.document["components"]["schemas"]
    for place, time in enumerate(data["times"]):
        metrics = answers.before.get(time)
        if metrics is None:
            continue
        yield "times", time, metrics.get("snapshot_timestamp_seconds")
        yield f"out_of_sync at {time}", data["out_of_sync"][place], sum(_out_of_sync(metrics).values())
        for row, name in ((data, "History"), *((side, "SideHistory") for side in data["sides"])):
            for key, about in schemas[name]["properties"].items():
                if "x-metric" in about:
                    asked = {label: str(row[label]) for label in _family(about).labels}
                    value = metrics.get(_family(about).name, **asked)
                    expected = None if value is None else float(np.float32(value))
                    yield f"{key} {asked} at {time}", number(row[key][place]), expected


def _counted(row: Row, metrics: Metrics) -> list[float]:
    """Return the numbers that the sentence of a problem must have: what it counts, and ids of brokers."""
    kind, text = str(row["kind"]), str(row["sentence"])
    what, _, which = kind.partition("_")
    if what == "stuck":
        of_cause = metrics.labelled("reassignment_stuck", cause=which)
        return [float(len(of_cause)), *_brokers(text.partition("move")[2], metrics)]
    if what == "broker":
        states = metrics.labelled("broker_state", state=which)
        headroom = metrics.labelled("broker_partition_headroom") if which == "partition_limit" else {}
        held = [key for key, holds in states.items() if holds] + [key for key, left in headroom.items() if left < 0]
        return [float(key[0]) for key in held]
    if kind == "never_ends":
        return [_never_ending(metrics)]
    if kind == "out_of_sync":
        return [sum(_out_of_sync(metrics).values())]
    if kind in COUNTED:
        return [metrics.get(COUNTED[kind]) or 0.0, *(_to_start(metrics) if kind == "offline_partitions" else ())]
    uncounted = metrics.counted("uncounted_partitions", "state") if kind == "uncounted_partitions" else {}
    return list(uncounted.values()) or _brokers(text, metrics)


def _never_ending(metrics: Metrics) -> float:
    stuck = {key[:3] for key in metrics.labelled("reassignment_stuck")}
    return sum(value for key, value in metrics.labelled("reassignment_never_ends").items() if key not in stuck)


def _to_start(metrics: Metrics) -> list[float]:
    """Return the brokers that do not run and may lead partitions without a leader, each with their number."""
    found = metrics.labelled("broker_leader_candidate_partitions")
    down = {broker for (broker,) in found if metrics.get("broker_state", broker=broker, state="active") != 1}
    return [
        number for (broker,), count in found.items() if broker in down and count for number in (float(broker), count)
    ]


def _out_of_sync(metrics: Metrics) -> dict[str, float]:
    counts = metrics.counted("broker_out_of_sync_replicas", "state")
    return {state: count for state, count in counts.items() if state != "moving"}


def _brokers(text: str, metrics: Metrics) -> list[float]:
    """Return the numbers of a text that are ids of brokers, or the limit of 0 that a sentence names."""
    known = {float(key[0]) for key in metrics.labelled("broker_state")} | {0.0}
    return [each for each in tokens(text) if each in known]
