"""Data flows one way through the house: a module imports only what stands before it (docs/architecture.md)."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OPEN = {"exporter.model", "exporter.errors", "exporter.formulas"}
"""What every room may import. They may import each other: formulas know nothing but formulas."""

SETTINGS = {"exporter.clients.secrets", "exporter.clients.strict", "exporter.clients.ciphers"}
"""The part of the clients that talks to nobody: how secrets, addresses and ciphers are written."""

ROOMS: dict[str, set[str]] = {
    "exporter.errors": set(),
    "exporter.model": set(),
    "exporter.formulas": set(),
    "exporter.clients": OPEN,
    "exporter.sources": OPEN | {"exporter.clients"},
    "exporter.poller": OPEN | {"exporter.clients", "exporter.sources"},
    "exporter.derive": OPEN,
    "exporter.planning": OPEN,
    "exporter.catalogue": OPEN | {"exporter.derive"},
    "exporter.exposition": OPEN | {"exporter.catalogue"},
    "exporter.history": OPEN | {"exporter.derive"},
    "exporter.web": OPEN | SETTINGS,
    "exporter.log": OPEN | SETTINGS,
    "exporter.config": OPEN
    | SETTINGS
    | {f"exporter.clients.{part}" for part in ("jmx.protocol", "kafka.properties", "kafka.ssl_properties")},
    "exporter.state": OPEN,
    "exporter.timer": OPEN | {"exporter.web.page"},
    "exporter.cycle": OPEN
    | {
        f"exporter.{room}"
        for room in (
            "poller",
            "derive",
            "catalogue",
            "exposition",
            "history.poll",
            "history.recorder",
            "state",
            "web.page",
        )
    },
    "exporter.pipeline": OPEN
    | {"exporter.cli", "exporter.config.values", "exporter.derive", "exporter.plan_files", "exporter.planning"}
    | {
        f"exporter.history.{part}"
        for part in (
            "column",
            "messages",
            "poll",
            "replay",
            "restore",
            "schema",
            "shapes",
            "tables.moves",
            "parquet.arrow",
            "parquet.footers",
            "parquet.reader",
        )
    },
    "exporter.app": {"exporter"},
    "exporter.plan": {"exporter"},
    "exporter.plan_files": OPEN | {"exporter.clients.strict", "exporter.planning"},
    "exporter.plan_flags": OPEN | {"exporter.config", "exporter.plan"},
    "exporter.cli": {"exporter"},
}
"""Room to what it may import besides itself; only app, plan and cli wire, and a command within the pipeline."""

LIBRARIES: dict[str, set[str]] = {
    "apscheduler": {"exporter.timer"},
    "bcrypt": {"exporter.web"},
    "confluent_kafka": {"exporter.history.kafka"},
    "hypercorn": {"exporter.web"},
    "jpype": {"exporter.clients.jmx"},
    "kafka": {"exporter.clients.kafka"},
    "matplotlib": {"exporter.pipeline.report"},
    "numpy": {"exporter"},
    "pandas": {"exporter.pipeline"},
    "py4j": {"exporter.pipeline"},
    "pyarrow": {"exporter.history.parquet", "exporter.pipeline"},
    "pyspark": {"exporter.pipeline"},
    "structlog": {f"exporter.{room}" for room in ("app", "cycle", "history", "log", "poller", "state", "timer", "web")},
    "yaml": {"exporter.clients", "exporter.config"},
}
"""Library to the rooms that may import it."""

PURE = (
    "exporter.model",
    "exporter.formulas",
    "exporter.derive",
    "exporter.planning",
    "exporter.catalogue",
    *(
        f"exporter.history.{part}"
        for part in ("column", "messages", "plain", "poll", "replay", "restore", "schema", "shapes", "tables")
    ),
)
IMPURE = {"asyncio", "datetime", "logging", "os", "pathlib", "random", "socket", "subprocess", "threading", "time"}
"""Clocks, logs and the outside world: time comes from the snapshot."""


def inside(module: str, rooms: set[str] | tuple[str, ...]) -> bool:
    """Tell whether a module is one of these rooms or stands in one."""
    return any(module == room or module.startswith(f"{room}.") for room in rooms)


def room_of(module: str) -> str:
    """Name the room that a module stands in."""
    rooms = [room for room in ROOMS if inside(module, (room,))]
    assert rooms, f"{module} is in a new room: say in ROOMS what stands before it"
    return rooms[0]


def modules(base: Path = ROOT) -> Iterator[tuple[str, ast.Module]]:
    """Name and syntax tree of every module of the package, but the package's own `__init__`, which is empty."""
    for file in sorted((base / "exporter").rglob("*.py")):
        name = ".".join(file.relative_to(base).with_suffix("").parts).removesuffix(".__init__")
        if name != "exporter":
            yield name, ast.parse(file.read_text())


def imports(tree: ast.Module) -> set[str]:
    """Dotted names that a module imports anywhere, functions and type checking included."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "relative imports hide where a module stands"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def violations(module: str, tree: ast.Module) -> list[str]:
    """Everything that a module imports and may not."""
    room, found = room_of(module), []
    for name in sorted(imports(tree)):
        library = name.partition(".")[0]
        if library == "exporter":
            allowed = inside(name, ROOMS[room] | {room})
        elif library in LIBRARIES:
            allowed = inside(module, LIBRARIES[library])
        else:
            allowed = library in sys.stdlib_module_names and not (library in IMPURE and inside(module, PURE))
        if not allowed:
            found.append(f"{module} may not import {name}")
    return found


@pytest.mark.parametrize(("module", "tree"), [pytest.param(*pair, id=pair[0]) for pair in modules()])
def test_module_imports_only_what_stands_before_it(module: str, tree: ast.Module) -> None:
    """A module imports its own room, the rooms before it, what is open to all, and the libraries of its room."""
    assert violations(module, tree) == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("exporter.formulas.lag", "from exporter.model import Snapshot"),
        ("exporter.formulas.lag", "import time"),
        ("exporter.derive.moves", "from exporter import catalogue"),
        ("exporter.derive.moves", "import structlog"),
        ("exporter.planning.plan", "from exporter.derive import derive"),
        ("exporter.planning.plan", "from pathlib import Path"),
        ("exporter.sources.offsets", "from exporter.poller import Poller"),
        ("exporter.sources.offsets", "from kafka.protocol.admin import DescribeConfigsRequest"),
        ("exporter.clients.kafka.link", "import jpype"),
        ("exporter.config.load", "from exporter.clients.kafka.link import BrokerLink"),
        ("exporter.web.server", "import exporter.catalogue"),
        ("exporter.cycle", "from exporter.config import Config"),
        ("exporter.app", "import pyspark"),
        ("exporter.history.schema", "import pyarrow"),
        ("exporter.history.schema", "from exporter.catalogue import View"),
        ("exporter.history.recorder", "import confluent_kafka"),
        ("exporter.history.tables.moves", "import time"),
        ("exporter.pipeline.ops", "from exporter.catalogue import View"),
        ("exporter.pipeline.history", "from exporter.history.recorder import Recorder"),
        ("exporter.cycle", "from exporter.pipeline import session"),
        ("exporter.poller.poller", "def late():\n    import sandbox"),
    ],
)
def test_wrong_import_is_found(module: str, line: str) -> None:
    """An import against the direction is reported, wherever in the module it stands."""
    assert len(violations(module, ast.parse(line))) == 1


def test_heavy_libraries_are_not_loaded_unless_used() -> None:
    """Importing all of the sidecar starts no JVM bridge, no Spark, no Arrow and no librdkafka, which extras bring."""
    extras = {"confluent_kafka", "jpype", "matplotlib", "pandas", "pyarrow", "pyspark"}
    code = (
        f"import sys, exporter.app, exporter.cli, exporter.history.schema; print(*sorted({extras} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.split() == []
