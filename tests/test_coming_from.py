"""docs/how-to/coming-from.md: what it names of kafka-warden exists."""

import re
from pathlib import Path

from kafka_warden.catalogue import CATALOGUE
from kafka_warden.config import OPTIONS

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "how-to" / "coming-from.md").read_text()
WORDS = 600


def ours(heading: str) -> list[str]:
    rows = re.findall(r"^\| (.*) \|$", TEXT.partition(f"## {heading}\n")[2].partition("\n## ")[0], re.MULTILINE)
    assert len(rows) > 8
    return [row.split(" | ")[-1] for row in rows[1:]]


def test_its_length() -> None:
    assert len(TEXT.split()) <= WORDS


def test_metrics_exist() -> None:
    named = {name for cell in ours("Metrics") for name in re.findall(r"`([a-z_]+)`", cell)}
    assert len(named) > 10
    assert named <= {metric.name for metric in CATALOGUE}


def test_options_exist() -> None:
    named = {name for cell in ours("Options") for name in re.findall(r"`([a-z_]+\.[a-z_]+)[`:]", cell)}
    assert len(named) > 5
    assert named - {"kafka.properties_file"} <= {option.key for option in OPTIONS}
