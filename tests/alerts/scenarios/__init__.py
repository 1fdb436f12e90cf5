"""What an engineer on call expects of the alerts, also while scrapes fail, exporters restart, or labels are wrong."""

from importlib import import_module
from pathlib import Path
from typing import TypeVar

Kind = TypeVar("Kind")


def every(kind: type[Kind]) -> list[Kind]:
    """Return all scenarios, faults or readings of the files here."""
    files = sorted(Path(__file__).parent.glob("[!_]*.py"))
    modules = [import_module(f"{__name__}.{file.stem}") for file in files]
    return [value for module in modules for value in vars(module).values() if isinstance(value, kind)]
