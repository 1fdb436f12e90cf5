"""What a PromQL expression names: metrics with their matchers, and the labels that it aggregates or joins by."""

import re
from typing import Final

from kafka_warden.catalogue import PREFIX

METRIC: Final = re.compile(rf"(?<![:\w]){PREFIX}(\w+)(?:\{{([^}}]*)\}})?")
MATCHER: Final = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
LABEL_LIST: Final = re.compile(r"\b(by|on|without|ignoring|group_left|group_right)\s*\(([^)]*)\)")

AGGREGATION: Final = re.compile(r"\b(?:max|min|sum|count)(?: by \(([^)]*)\))? \(")


def metrics(expr: str) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Name without the prefix, and its matchers (label, operator, value), of every selector."""
    return [(name, MATCHER.findall(matchers)) for name, matchers in METRIC.findall(expr)]


def label_lists(expr: str) -> list[tuple[str, list[str]]]:
    """Keyword and labels of every list of labels, from the left."""
    return [(word, re.findall(r"\w+", labels)) for word, labels in LABEL_LIST.findall(expr)]


def outermost(expr: str) -> list[str]:
    """Labels of the result of an expression that begins with an aggregation, except topk, which keeps them."""
    first = AGGREGATION.search(expr)
    return re.findall(r"\w+", first[1] or "") if first else []
