"""The pages: an index of clusters, and for each cluster one section per question."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from kafka_warden.pipeline.report.colours import ALL
from kafka_warden.pipeline.report.html import Html, tag
from kafka_warden.pipeline.report.numbers import UNKNOWN, count, day, duration, instant
from kafka_warden.pipeline.report.parts import Column, Section, Table, numbers
from kafka_warden.pipeline.report.replication import Cluster

INDEX: Final = "report.html"
_LONGEST_NAME: Final = 150
"""Bytes of a cluster id in the name of its page."""

_CSS: Final = Path(__file__).with_name("page.css")
_SCRIPT: Final = Path(__file__).with_name("page.js").read_text()
_HASH: Final = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()

_POLICY: Final = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_HASH}'"
"""The browser enforces that the page runs no other script and sends no request."""

_UNITS: Final = (
    "Bytes are in powers of ten; times are UTC. “unknown” values are missing in the history; they are never taken"
    " for 0. This page needs no network. Its only script filters tables."
)
_FOOT: Final = tag("footer", tag("p", _UNITS))


@dataclass(frozen=True, slots=True)
class Head:
    """The source of the report.

    `history`: its folder, as the user wrote it. `version`: of this program. `made`: time of creation to print; empty
    for none.
    """

    title: str
    history: str
    version: str
    made: str = ""


@dataclass(frozen=True, slots=True)
class ClusterPage:
    """The content of one cluster's page. `cluster`: None if no mart has its polls."""

    cluster_id: str
    cluster: Cluster | None
    sections: Sequence[Section]


def file_of(cluster_id: str) -> str:
    """Return the name of a cluster's page. File systems allow 255 bytes: a long id is cut, and its hash added."""
    name = quote(cluster_id, safe="")
    if len(name) > _LONGEST_NAME:
        # `quote` never writes a plus: no other id has this name.
        name = f"{name[:_LONGEST_NAME]}+{hashlib.sha256(cluster_id.encode()).hexdigest()[:32]}"
    return f"report-{name}.html"


def index(head: Head, pages: Sequence[ClusterPage], missing: Sequence[Section]) -> str:
    """Write the index. `missing`: sections to show if there is no cluster."""
    body = [tag("h1", head.title), _facts([("Clusters", count(len(pages))), *_source(head)])]
    if pages:
        columns = (*map(Column, ("Cluster", "Time (UTC)")), *numbers("Brokers", "Partitions"))
        columns += tuple(Column(section.title) for section in pages[0].sections)
        body.append(Table("Clusters", columns, [_row(page) for page in pages], whole=True).html())
    return _document(head, head.title, tag("header", *body), tag("main", *(one.html() for one in missing)))


def cluster_page(head: Head, page: ClusterPage) -> str:
    """Write the page of a cluster."""
    cluster, title = page.cluster, f"{head.title}: {page.cluster_id}"
    facts = _source(head)
    if cluster is not None:
        time = f"{instant(cluster.begins)} to {instant(cluster.ends)} UTC, {duration(cluster.ends - cluster.begins)}"
        amounts = (("Polls", cluster.polls), ("Brokers", cluster.brokers), ("Partitions", cluster.partitions))
        facts = [("Time", time), *((name, count(amount)) for name, amount in amounts), *facts]
    back = tag("p", tag("a", "All clusters", href=INDEX))
    top = tag("header", tag("h1", title), back, _facts(facts))
    sections = tag("main", *(section.html() for section in page.sections))
    return _document(head, title, top, _summary(page.sections), sections)


def _row(page: ClusterPage) -> tuple[str, ...]:
    link = tag("a", page.cluster_id, href=quote(file_of(page.cluster_id)))
    time, brokers, partitions = UNKNOWN, UNKNOWN, UNKNOWN
    if page.cluster is not None:
        time = f"{day(page.cluster.begins)} to {day(page.cluster.ends)}"
        brokers, partitions = count(page.cluster.brokers), count(page.cluster.partitions)
    return link, time, brokers, partitions, *(section.finding for section in page.sections)


def _source(head: Head) -> list[tuple[str, str]]:
    facts = [("History", head.history), ("Made by", f"kafka-warden {head.version}")]
    return [*facts, ("Made at", head.made)] if head.made else facts


def _facts(facts: Sequence[tuple[str, str]]) -> Html:
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in facts))


def _document(head: Head, title: str, *body: str) -> str:
    return "<!DOCTYPE html>\n" + tag(
        "html",
        tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("meta", name="generator", content=f"kafka-warden {head.version}"),
            tag("title", title),
            tag("style", Html(_colours() + _CSS.read_text())),
        ),
        tag("body", *body, _FOOT, tag("script", Html(_SCRIPT))),
        lang="en",
    )


def _colours() -> str:
    """Return the CSS variables for light mode, dark mode and paper, which is always light."""
    day = "".join(f"--{colour.name}: {colour.light}; " for colour in ALL)
    night = "".join(f"--{colour.name}: {colour.dark}; " for colour in ALL)
    return f":root {{ {day}}}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {night}}} }}\n"


def _summary(sections: Sequence[Section]) -> Html:
    items = [tag("li", tag("a", section.title, href=f"#{section.name}"), ": ", section.finding) for section in sections]
    return tag("nav", tag("h2", "In short", id="short"), tag("ul", *items), aria_labelledby="short")
