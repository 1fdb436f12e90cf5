"""PromQL from the names of the catalogue. Every expression aggregates by an explicit list of labels.

Two sidecars of one cluster serve the same series twice. `most` and `least` make one of the two; only what is one
already may be added up or counted.
"""

from typing import Final

from kafka_warden.catalogue import CATALOGUE, PREFIX

LABELS: Final = {metric.name: metric.labels for metric in CATALOGUE}
NARROWED_BY: Final = ("topic", "broker")
"""Labels with a template variable of the same name."""

REPLICA: Final = "topic, partition, broker"
"""Labels of a follower."""

NAMED: Final = 'topic!=""'
NOT_NAMED: Final = 'topic=""'
"""Numbers of topics without series."""

ONE_CLUSTER: Final = 'cluster="$cluster"'
EACH_CLUSTER: Final = 'cluster=~"$cluster"'
"""Where several clusters can be chosen."""

LINES: Final = 20
"""Lines of a panel at most."""

FINITE: Final = "< Inf"
"""Leaves out infinite values: a line at infinity would use the whole axis."""


def series(
    name: str, matchers: str = "", *, narrowed_by: tuple[str, ...] = NARROWED_BY, cluster: str = ONE_CLUSTER
) -> str:
    """A metric of the chosen cluster, and of the chosen topics and brokers where it has these labels.

    Args:
        name: Name without the prefix.
        matchers: More PromQL matchers.
        narrowed_by: Template variables to narrow it by; `instance` is a label that all series have from Prometheus.
        cluster: Matcher of the label `cluster`.

    Raises:
        KeyError: The catalogue has no such metric.
    """
    has = (*LABELS[name], "instance")
    chosen = [f'{label}=~"${label}"' for label in narrowed_by if label in has]
    inside = ", ".join([cluster, *chosen, *([matchers] if matchers else [])])
    return f"{PREFIX}{name}{{{inside}}}"


def most(name: str, by: str = "", matchers: str = "") -> str:
    """The maximum over the sidecars: for rates, amounts and limits that differ for a moment."""
    return _aggregate("max", by, series(name, matchers))


def least(name: str, by: str = "", matchers: str = "") -> str:
    """The minimum over the sidecars: for ages, which are too high on a sidecar that missed the end of something."""
    return _aggregate("min", by, series(name, matchers))


def increase(name: str, by: str = "", over: str = "$__rate_interval") -> str:
    """Increase of a counter; a second sidecar does not double it."""
    return _aggregate("max", by, f"increase({series(name)}[{over}])")


def rate(name: str, by: str = "") -> str:
    """Increase of a counter per second; a second sidecar does not double it."""
    return _aggregate("max", by, f"rate({series(name)}[$__rate_interval])")


def total(expression: str, by: str = "") -> str:
    """A sum over series that exist once each: the results of `most`, `least`, `rate` or `increase`."""
    return _aggregate("sum", by, expression)


def number(expression: str, by: str = "") -> str:
    """The number of series that exist once each."""
    return _aggregate("count", by, expression)


def in_range(name: str, by: str, how: str = "max", over: str = "max_over_time") -> str:
    """One value for the whole time range, by default the highest; `how` makes one of two sidecars."""
    return _aggregate(how, by, f"{over}({series(name)}[$__range] @ end())")


def chosen(expression: str, by: str, ranked: str, choose: str = "topk") -> str:
    """The lines that rank highest: a panel cannot show thousands.

    They are chosen once for the whole range. A `topk` that is evaluated at each step chooses others at each of them.

    Args:
        expression: What is shown.
        by: Labels of a line.
        ranked: A number for each line, the same at all steps.
        choose: `bottomk` for the lowest.
    """
    return f"{expression} and on ({by}) {choose}({LINES}, {ranked})"


def busiest(name: str, by: str, how: str = "max") -> str:
    """The lines of a gauge with the highest peaks."""
    return chosen(_aggregate(how, by, series(name)), by, in_range(name, by, how))


def or_zero(expression: str, known_by: str) -> str:
    """Show 0 if the expression has no result but `known_by` has one: unknown stays absent.

    Args:
        expression: One series without labels, or none.
        known_by: A metric that exists if the numbers are known.
    """
    return f"{expression} or 0 * {_aggregate('max', '', series(known_by, narrowed_by=()))}"


def _aggregate(how: str, by: str, expression: str) -> str:
    return f"{how} by ({by}) ({expression})" if by else f"{how} ({expression})"
