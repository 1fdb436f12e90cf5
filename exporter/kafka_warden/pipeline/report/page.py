"""The whole page: its source at the top, then one section per question."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kafka_warden.pipeline.report.colours import ALL
from kafka_warden.pipeline.report.html import Html, tag
from kafka_warden.pipeline.report.numbers import count, duration, instant
from kafka_warden.pipeline.report.parts import Column, Section, Table, numbers
from kafka_warden.pipeline.report.replication import Cluster

_CSS: Final = Path(__file__).with_name("page.css")

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
"""The browser enforces that the page runs no script and sends no request."""

_UNITS: Final = (
    "Bytes are in powers of ten; times are UTC. “unknown” values are missing in the history; they are never taken"
    " for 0. This page needs no network and runs no script."
)
_FOOT: Final = tag("footer", tag("p", _UNITS))


@dataclass(frozen=True, slots=True)
class Head:
    """The source of the page; see `build.build`."""

    title: str
    history: str
    clusters: Sequence[Cluster]
    version: str
    made: str


def page(head: Head, sections: Sequence[Section]) -> str:
    """Write the page as a document of HTML."""
    return "<!DOCTYPE html>\n" + tag(
        "html",
        tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("meta", name="generator", content=f"kafka-warden {head.version}"),
            tag("title", head.title),
            tag("style", Html(_colours() + _CSS.read_text())),
        ),
        tag("body", _top(head), _summary(sections), tag("main", *(section.html() for section in sections)), _FOOT),
        lang="en",
    )


def _colours() -> str:
    """Return the CSS variables for light mode, dark mode and paper, which is always light."""
    day = "".join(f"--{colour.name}: {colour.light}; " for colour in ALL)
    night = "".join(f"--{colour.name}: {colour.dark}; " for colour in ALL)
    return f":root {{ {day}}}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {night}}} }}\n"


def _top(head: Head) -> Html:
    facts = [("History", head.history), ("Clusters", f"{len(head.clusters):,}" if head.clusters else "unknown")]
    if head.clusters:
        begins, ends = min(one.begins for one in head.clusters), max(one.ends for one in head.clusters)
        facts.append(("Time", f"{instant(begins)} to {instant(ends)} UTC, {duration(ends - begins)}"))
    facts.append(("Made by", f"kafka-warden {head.version}"))
    if head.made:
        facts.append(("Made at", head.made))
    listed = tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in facts))
    return tag("header", tag("h1", head.title), listed, _clusters(head.clusters))


def _clusters(clusters: Sequence[Cluster]) -> Html:
    if not clusters:
        return tag("p", "Clusters and times are unknown: the marts of the job rollup are missing.", class_="missing")
    times = map(Column, ("Cluster", "From (UTC)", "To (UTC)"))
    columns = (*times, *numbers("Polls", "Brokers", "Partitions"))
    rows = [
        (one.cluster_id, instant(one.begins), instant(one.ends), *map(count, (one.polls, one.brokers, one.partitions)))
        for one in clusters
    ]
    return Table("Clusters, with the most brokers and partitions that each had", columns, rows).html()


def _summary(sections: Sequence[Section]) -> Html:
    items = [tag("li", tag("a", section.title, href=f"#{section.name}"), ": ", section.finding) for section in sections]
    return tag("nav", tag("h2", "In short", id="short"), tag("ul", *items), aria_labelledby="short")
