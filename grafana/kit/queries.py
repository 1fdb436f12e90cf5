"""PromQL from the names of the catalogue. Every expression aggregates by an explicit list of labels.

Two sidecars of one cluster serve the same series twice. `most` and `least` make one of the two; only what is one
already may be added up or counted.
"""

from dataclasses import dataclass
from typing import Final

from kafka_warden.catalogue import CATALOGUE, PREFIX

LABELS: Final = {metric.name: metric.labels for metric in CATALOGUE}
NARROWED_BY: Final = ("topic", "broker")
"""Labels with a template variable of the same name."""

REPLICA: Final = "topic, partition, broker"
"""Labels of a follower."""
DIRECTORY: Final = "broker, log_dir"

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


@dataclass(frozen=True, slots=True)
class Scope:
    """Which series a query reads, and which one of each metric it makes of those of two sidecars.

    Attributes:
        narrowed_by: Template variables to narrow it by.
        cluster: Matcher of the label `cluster`.
        by: A label that every result has, or nothing.
    """

    narrowed_by: tuple[str, ...] = NARROWED_BY
    cluster: str = ONE_CLUSTER
    by: str = ""

    def most(self, name: str, by: str = "", matchers: str = "") -> str:
        """The maximum over the sidecars: for rates, amounts and limits that differ for a moment."""
        return self._one("max", name, by, matchers)

    def least(self, name: str, by: str = "", matchers: str = "") -> str:
        """The minimum over the sidecars: for ages, which are too high on a sidecar that missed the end of something."""
        return self._one("min", name, by, matchers)

    def limit_used(self, of: str, by: str = "") -> str:
        """Share of the partition limit, of `broker` or `cluster`."""
        return f"{self.most(f'{of}_partitions', by)} / ({self.least(f'{of}_partition_limit', by)} {FINITE})"

    def volume_used(self) -> str:
        """Used share of the volume of each log directory."""
        left = self.least("log_dir_usable_bytes", DIRECTORY)
        return f"1 - {left} / {self.most('log_dir_total_bytes', DIRECTORY)}"

    def stuck(self) -> str:
        """How many replicas are stuck; absent if none is."""
        named = self.most("reassignment_stuck", REPLICA, NAMED)
        return total(f"{named} or {self.most('reassignment_stuck', f'{REPLICA}, cause', NOT_NAMED)}", self.by)

    def _one(self, how: str, name: str, by: str, matchers: str) -> str:
        found = series(name, matchers, narrowed_by=self.narrowed_by, cluster=self.cluster)
        return _aggregate(how, ", ".join(filter(None, (self.by, by))), found)


CHOSEN: Final = Scope()
"""What is chosen at the top of a dashboard."""
WHOLE: Final = Scope(narrowed_by=())
"""All brokers and topics of the chosen cluster."""
EACH: Final = Scope(narrowed_by=(), cluster=EACH_CLUSTER, by="cluster")
"""Each cluster, by its name."""

most = CHOSEN.most
least = CHOSEN.least


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
    return f"{expression} or 0 * {WHOLE.most(known_by)}"


def _aggregate(how: str, by: str, expression: str) -> str:
    return f"{how} by ({by}) ({expression})" if by else f"{how} ({expression})"
