"""Alert rules with shorter durations, for the demo and for tests that want a real Prometheus to fire.

The templates of `kafka_warden.rules` are rendered with shorter durations: `for`, `keep_firing_for`, ranges in
expressions, and the thresholds in seconds. Nothing else changes, except the addresses of links where they are given.
"""

from collections.abc import Sequence
from pathlib import Path

from alerts.render import rules
from kafka_warden.rules.render import DEFAULTS, TEMPLATES, LinkPrefixes


def shorten_files(
    files: Sequence[Path], directory: Path, scale: float, floor: float, links: LinkPrefixes = DEFAULTS.links
) -> list[Path]:
    """Write a rendering of every rule file into `directory`, with shorter durations, and return them.

    Args:
        files: Rule files of `alerts/`; each is rendered from the template of its name.
        directory: Made when it does not exist.
        scale: What durations are multiplied by; above 0, at most 1.
        floor: Seconds that are added to each; see `alerts.render.rules`.
        links: What links begin with.
    """
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for file in files:
        target = directory / file.name
        target.write_text(rules(TEMPLATES / file.name, scale, floor, links), encoding="utf-8")
        written.append(target)
    return written
