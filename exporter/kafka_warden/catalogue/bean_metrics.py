"""Metrics that show one attribute of a bean unchanged."""

from collections.abc import Iterator
from functools import partial

from kafka_warden.catalogue.metric import Kind, Metric, Sample, View


def broker_bean(short: str, view: View) -> Iterator[Sample]:
    """Read one attribute of every broker by its short name (sources/bean_list.py)."""
    for broker, beans in view.snapshot.broker_beans.items():
        if short in beans.values:
            yield (str(broker),), beans.values[short]


def broker_counter(name: str, help_text: str) -> Metric:
    """Make a counter out of a bean's Count, whose short name is the metric's without `broker_`."""
    read = partial(broker_bean, name.removeprefix("broker_"))
    return Metric(name, help_text, ("broker",), read, Kind.COUNTER)


def broker_gauge(name: str, help_text: str, short: str = "") -> Metric:
    """Make a gauge out of a bean's value; its short name is by default the metric's."""
    return Metric(name, help_text, ("broker",), partial(broker_bean, short or name))
