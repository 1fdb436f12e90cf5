"""Reads what the operator changes of the rules from a YAML file, as strictly as the configuration.

Keys that the Helm chart has, too, have the names and the form of its values.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from kafka_warden.config.values import choice, text
from kafka_warden.errors import ConfigError
from kafka_warden.rules.delays import Intervals
from kafka_warden.rules.render import CLUSTER, LinkPrefixes, Values, labels, severities
from kafka_warden.rules.thresholds import DURATION, changed_to, numbers, seconds, thresholds
from kafka_warden.settings.strict import boolean, did_you_mean
from kafka_warden.settings.strict_yaml import read_yaml

LONGEST_INTERVAL: Final = 60.0
"""Seconds: the rules count on a scrape and an evaluation a minute."""
LONGER_THAN_A_POLL: Final = ("outage_for", "under_min_isr_for", "offline_for")
"""What alerts wait for that need two samples: where polls are rarer than scrapes, both may be of one poll."""

_DURATION: Final = re.compile(r"(?=\d)(\d+y)?(\d+w)?(\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?", re.ASCII)
_NUMBER: Final = re.compile(r"\d{1,18}(\.\d{1,9})?", re.ASCII)
_LABEL_NAME: Final = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*", re.ASCII)
_URL: Final = re.compile(r"https?://[!-~]+")


def read(file: Path) -> Values:
    """Read the file; what it does not name stays as it is.

    Raises:
        ConfigError: it cannot be used; the message has the file, the key and what to write.
    """
    content = read_yaml(file)
    try:
        found = {
            KEYS[key][0]: _within(key, KEYS[key][1], value)
            for key, value in _known(content, KEYS, "key")
            if value is not None
        }
        values = Values(**found)
        _check_related(values.thresholds)
        _check_polls(values)
        _check_labels(values)
    except ValueError as failure:
        raise ConfigError(f"{file}: {failure}") from None
    return values


def _known(content: Any, known: Iterable[str], kind: str) -> list[tuple[str, Any]]:
    """Return the items of a mapping, all of whose keys are known."""
    if not isinstance(content, Mapping):
        raise _unexpected("keys and values", content)
    for key in content:
        if key not in set(known):
            raise ValueError(f"{key}: unknown {kind}{did_you_mean(str(key), known)}")
    return list(content.items())


def _within(key: str, read: Callable[[Any], Any], value: Any) -> Any:
    """Read a value; a failure has its key."""
    try:
        return read(value)
    except ValueError as failure:
        found = str(failure)
    # A key inside of this one, or what was expected.
    raise ValueError(f"{key}{'.' if re.match(r'[^ ]+: ', found) else ': '}{found}")


def _each(known: Callable[[], Mapping[str, Any]], kind: str, read: Callable[[str, Any], str]) -> Callable[[Any], Any]:
    """Make a reader of a mapping with known keys."""

    def mapping(value: Any) -> dict[str, str]:
        return {name: _within(name, partial(read, name), item) for name, item in _known(value, known(), kind)}

    return mapping


def _duration(value: Any, such_as: str = "30s") -> str:
    """Read a duration above 0 as Prometheus writes it."""
    read = value.strip() if isinstance(value, str) else ""
    if not _DURATION.fullmatch(read) or not seconds(read):
        raise _unexpected(f"a duration in whole numbers with units, such as {such_as}", value)
    return read


def _interval(value: Any) -> str:
    read = _duration(value, "15s")
    if seconds(read) > LONGEST_INTERVAL:
        raise ValueError(f"expected 1m or less, got {value!r}: the rules count on a scrape and an evaluation a minute")
    return read


def _threshold(name: str, value: Any) -> str:
    threshold = thresholds()[name]
    if threshold.sum_of:
        raise ValueError(f"it is computed; set {' or '.join(threshold.sum_of)}")
    if threshold.unit == DURATION:
        return _duration(value, threshold.value)
    read = value.strip() if isinstance(value, str) else ""
    share = threshold.unit == "ratio" and threshold.number < 1
    if not _NUMBER.fullmatch(read) or not float(read) or (share and float(read) > 1):
        kind = "a share above 0 and up to 1" if share else f"a number above 0, {threshold.unit}, without a unit"
        raise _unexpected(f"{kind}, such as {threshold.value}", value)
    return read


def _severity(alert: str, value: Any) -> str:
    if len(own := severities()[alert]) > 1:
        raise ValueError(f"it has the severities {' and '.join(own)}; disabled takes {alert}/{own[-1]}")
    return choice("info", "warning", "critical")(value)


def _disabled(value: Any) -> frozenset[str]:
    if not isinstance(value, list):
        raise _unexpected("a list of alerts, such as [KafkaWardenHistoryLost]", value)
    known = {*severities(), *(f"{alert}/{each}" for alert, own in severities().items() for each in own)}
    for alert in value:
        if not isinstance(alert, str) or alert not in known:
            raise ValueError(f"unknown alert {alert}{did_you_mean(str(alert), known)}")
    return frozenset(value)


def _alert_labels(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise _unexpected("names and values, such as {team: kafka}", value)
    return {_within(name, partial(_label, labels()), name): _within(name, text, item) for name, item in value.items()}


def _label(taken: frozenset[str], name: Any) -> str:
    if not isinstance(name, str) or not _LABEL_NAME.fullmatch(name):
        raise _unexpected("the name of a label, such as team", name)
    if name in taken:
        raise ValueError("the rules or Prometheus use this label; take another name")
    return name


def _links(value: Any) -> LinkPrefixes:
    found = {name: _within(name, _url, url) for name, url in _known(value, ("runbooks", "grafana"), "key")}
    return LinkPrefixes(f"{found['runbooks']}/" if "runbooks" in found else "", found.get("grafana", ""))


def _url(value: Any) -> str:
    if not isinstance(value, str) or not _URL.fullmatch(value):
        raise _unexpected("an address, such as https://wiki.example/kafka-warden/", value)
    return value.rstrip("/")


def _unexpected(expected: str, value: Any) -> ValueError:
    return ValueError(f"expected {expected}, got {'nothing' if value is None else repr(value)}")


KEYS: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "interval": ("interval", _interval),
    "scrapeInterval": ("scrape_interval", _interval),
    "pollInterval": ("poll_interval", _duration),
    "thresholds": ("thresholds", _each(thresholds, "threshold", _threshold)),
    "severity": ("severity", _each(severities, "alert", _severity)),
    "disabled": ("disabled", _disabled),
    "alertLabels": ("alert_labels", _alert_labels),
    "clusterLabel": ("cluster_label", lambda value: _label(labels() - {CLUSTER}, value)),
    "links": ("links", _links),
    "watchdog": ("watchdog", boolean),
}
"""Key of the file to the field of `Values` and the reader of its value."""


def _check_labels(values: Values) -> None:
    if values.cluster_label in values.alert_labels:
        raise ValueError(f"alertLabels.{values.cluster_label}: clusterLabel has this name; take another one")


def _check_related(changed: Mapping[str, str]) -> None:
    """Check the thresholds that depend on each other."""
    known = changed_to(changed)
    for name, threshold in known.items():
        if threshold.below and threshold.number >= known[threshold.below].number:
            raise ValueError(f"thresholds.{name}: expected less than {threshold.below}")


def _check_polls(values: Values) -> None:
    """Check that one failed poll, which is shown until the next one, pages no one."""
    known, every = numbers(values.thresholds), intervals(values)
    for name in LONGER_THAN_A_POLL:
        if known[name] < every.poll - every.scrape:
            raise ValueError(
                f"thresholds.{name}: expected {every.poll:g}s or more: one failed poll is shown for so long"
            )


def intervals(values: Values) -> Intervals:
    """Return the intervals of these values, or the usual ones."""
    known = {"scrape": values.scrape_interval, "evaluation": values.interval, "poll": values.poll_interval}
    return Intervals(**{name: seconds(text) for name, text in known.items() if text})
