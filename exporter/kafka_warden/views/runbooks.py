"""Where runbooks are: the address that links of alerts begin with, which `make rules` writes into this package."""

from importlib import resources
from typing import Final

ADDRESS: Final = resources.files("kafka_warden.views").joinpath("runbooks.txt").read_text("utf-8").strip()
"""What links begin with, from `alerts/addresses.yml`; empty: paths in the project."""


def runbook(alert: str | None) -> str | None:
    """Return the address of an alert's runbook, or its path in the project."""
    return None if alert is None else f"{ADDRESS}alerts/runbooks/{alert}.md"
