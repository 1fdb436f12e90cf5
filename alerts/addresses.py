"""The addresses that alerts and dashboards link to (`addresses.yml`)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

FILE: Final = Path(__file__).parent / "addresses.yml"


@dataclass(frozen=True, slots=True)
class Addresses:
    """What links begin with; empty: links are paths.

    Attributes:
        runbooks: Before `alerts/runbooks/`.
        grafana: Before `/d/`.
    """

    runbooks: str
    grafana: str


def addresses() -> Addresses:
    """The addresses of the file.

    Raises:
        TypeError: The file lacks an address, or has another key.
    """
    return Addresses(**yaml.safe_load(FILE.read_text(encoding="utf-8")))
