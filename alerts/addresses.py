"""The addresses that the alerts and dashboards of this repository link to (`addresses.yml`)."""

from pathlib import Path
from typing import Final

import yaml

from kafka_warden.rules.render import LinkPrefixes

FILE: Final = Path(__file__).parent / "addresses.yml"


def addresses() -> LinkPrefixes:
    """The addresses of the file.

    Raises:
        TypeError: The file lacks an address, or has another key.
    """
    return LinkPrefixes(**yaml.safe_load(FILE.read_text(encoding="utf-8")))
