"""Alert rules with shorter durations, for the demo and for tests that want a real Prometheus to fire.

The files in `alerts/` are the originals. What is shortened: `for`, `keep_firing_for`, ranges in expressions, and the
thresholds in seconds, which carry the comment `# seconds`. Nothing else changes.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31536000.0}
DURATION_PART = re.compile(r"(\d+)(ms|[smhdwy])")
RANGE = re.compile(r"\[((?:\d+(?:ms|[smhdwy]))+)\]")
THRESHOLD = re.compile(r"(?P<seconds>\d+(?:\.\d+)?)(?=[ \t]*# seconds\b)")


def seconds(duration: str) -> float:
    """Seconds of a duration as Prometheus writes it, such as 1h30m."""
    return sum(int(number) * UNITS[unit] for number, unit in DURATION_PART.findall(duration))


def shorten(rules: Mapping[str, Any], scale: float, floor: float) -> dict[str, Any]:
    """A rule file whose durations are `scale` times as long.

    Args:
        rules: The file, decoded.
        scale: Above 0, at most 1.
        floor: Seconds that no duration becomes shorter than, unless the original is: scrapes and polls take their time.
    """

    def shorter(original: float) -> float:
        return min(original, max(floor, original * scale))

    def expression(text: str) -> str:
        text = RANGE.sub(lambda match: f"[{_duration(shorter(seconds(match[1])))}]", text)
        return THRESHOLD.sub(lambda match: f"{shorter(float(match[1])):g}", text)

    def rule(original: Mapping[str, Any]) -> dict[str, Any]:
        changed = dict(original)
        changed["expr"] = expression(original["expr"])
        for key in ("for", "keep_firing_for"):
            if key in original:
                changed[key] = _duration(shorter(seconds(original[key])))
        return changed

    return {"groups": [{**group, "rules": [rule(one) for one in group["rules"]]} for group in rules["groups"]]}


def shorten_files(files: Sequence[Path], directory: Path, scale: float, floor: float) -> list[Path]:
    """Write a shortened rendering of every file into `directory` and return the new files."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for file in files:
        rendered = shorten(yaml.safe_load(file.read_text(encoding="utf-8")), scale, floor)
        target = directory / file.name
        target.write_text(yaml.safe_dump(rendered, sort_keys=False), encoding="utf-8")
        written.append(target)
    return written


def _duration(value: float) -> str:
    return f"{round(value * 1000)}ms"
