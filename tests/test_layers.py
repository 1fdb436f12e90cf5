"""Data flows one way through the house: a module imports only what stands before it (docs/architecture.md)."""

import ast
import importlib.util
import itertools
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OPEN = {f"kafka_warden.{part}" for part in ("arrays", "errors", "formatting", "model", "releases", "replies")}
"""What every room may import."""

SETTINGS = {"kafka_warden.settings"}
CLOCK = {"kafka_warden.clock"}
THREADS = {"kafka_warden.daemon_threads"}
TOP = OPEN | CLOCK | {"kafka_warden.api_client", "kafka_warden.views"}

ALL = {f"kafka_warden.{each.stem}" for each in (ROOT / "exporter" / "kafka_warden").glob("[a-z]*")} - {
    "kafka_warden.cli",
    "kafka_warden.py",
}
"""What commands connect. The command line imports them, not they it."""

ROOMS: dict[str, set[str]] = {
    "kafka_warden.clock": set(),
    "kafka_warden.daemon_threads": set(),
    "kafka_warden.errors": set(),
    "kafka_warden.formatting": set(),
    "kafka_warden.arrays": set(),
    "kafka_warden.replies": set(),
    "kafka_warden.model": {"kafka_warden.arrays", "kafka_warden.replies"},
    "kafka_warden.releases": {"kafka_warden.arrays", "kafka_warden.model"},
    "kafka_warden.settings": OPEN,
    "kafka_warden.clients": OPEN | CLOCK | SETTINGS | THREADS,
    "kafka_warden.sources": OPEN | {"kafka_warden.clients"},
    "kafka_warden.poller": OPEN | CLOCK | SETTINGS | {"kafka_warden.clients", "kafka_warden.sources"},
    "kafka_warden.derive": OPEN,
    "kafka_warden.planning.command": ALL,
    "kafka_warden.planning.files": OPEN
    | {f"kafka_warden.{room}" for room in ("settings.strict", "planning", "history.poll")},
    "kafka_warden.planning": OPEN | {"kafka_warden.derive", "kafka_warden.settings.strict"},
    "kafka_warden.catalogue": OPEN | {"kafka_warden.derive"},
    "kafka_warden.rules.command": ALL,
    "kafka_warden.rules": OPEN | SETTINGS | {"kafka_warden.config.values", "kafka_warden.derive"},
    "kafka_warden.views": OPEN | {"kafka_warden.derive", "kafka_warden.catalogue"},
    "kafka_warden.exposition": OPEN | {"kafka_warden.catalogue", "kafka_warden.views"},
    "kafka_warden.history": OPEN | CLOCK | {"kafka_warden.derive"},
    "kafka_warden.web": OPEN
    | SETTINGS
    | THREADS
    | {f"kafka_warden.{room}" for room in ("config.options", "exposition", "lifecycle", "views")},
    "kafka_warden.log": OPEN | SETTINGS,
    "kafka_warden.config": OPEN
    | SETTINGS
    | {
        f"kafka_warden.clients.{part}"
        for part in (
            "jmx.protocol",
            "kafka.jaas",
            "kafka.librdkafka",
            "kafka.properties",
            "kafka.property_names",
            "kafka.tls",
        )
    },
    "kafka_warden.state": OPEN | {"kafka_warden.settings.strict"},
    "kafka_warden.timer": OPEN | CLOCK,
    "kafka_warden.installed": OPEN | {"kafka_warden.config"},
    "kafka_warden.lifecycle": set(),
    "kafka_warden.reload": OPEN | {"kafka_warden.config", "kafka_warden.lifecycle"},
    "kafka_warden.cycle": OPEN
    | CLOCK
    | {
        f"kafka_warden.{room}"
        for room in (
            "poller",
            "derive",
            "catalogue",
            "exposition",
            "history.poll",
            "history.recorder",
            "lifecycle",
            "state",
            "timer",
            "views",
        )
    },
    "kafka_warden.pipeline.__main__": {"kafka_warden.cli"},
    "kafka_warden.pipeline": OPEN
    | {
        "kafka_warden.catalogue",
        "kafka_warden.clients.kafka.librdkafka",
        "kafka_warden.clients.kafka.properties",
        "kafka_warden.config.options",
        "kafka_warden.config.values",
        "kafka_warden.derive",
        "kafka_warden.log",
        "kafka_warden.rules.render",
        "kafka_warden.rules.thresholds",
        "kafka_warden.settings.java_properties",
        "kafka_warden.views.table_spec",
    }
    | {
        f"kafka_warden.planning.{part}"
        for part in ("document", "files", "findings", "inbound", "loads", "plan", "text")
    }
    | {
        f"kafka_warden.history.{part}"
        for part in (
            "column",
            "messages",
            "poll",
            "replay",
            "schema",
            "column_types",
            "tables.brokers",
            "tables.moves",
            "parquet.arrow",
            "parquet.reader",
        )
    },
    "kafka_warden.api_client": OPEN
    | CLOCK
    | SETTINGS
    | THREADS
    | {
        f"kafka_warden.{part}"
        for part in (
            "clients.http",
            "clients.kafka.tls",
            "config.layers",
            "config.options",
            "config.types",
            "views",
            "web.api",
        )
    },
    "kafka_warden.app": ALL,
    "kafka_warden.parts": ALL,
    "kafka_warden.check.results": OPEN | SETTINGS,
    "kafka_warden.check": ALL,
    "kafka_warden.top.output": TOP,
    "kafka_warden.top.screen": TOP | {"kafka_warden.top.output"},
    "kafka_warden.top": ALL,
    "kafka_warden.mcp_server": TOP | SETTINGS | {"kafka_warden.installed"},
    "kafka_warden.cli": ALL,
}
"""Room to what it may import besides itself; only app, cli and the commands wire."""

LIBRARIES: dict[str, set[str]] = {
    "apscheduler": {"kafka_warden.timer"},
    "aws_msk_iam_sasl_signer": {"kafka_warden.clients.kafka.msk"},
    "bcrypt": {"kafka_warden.web"},
    "botocore": {"kafka_warden.clients.kafka.msk"},
    "confluent_kafka": {
        "kafka_warden.check.connection",
        "kafka_warden.history.kafka",
        "kafka_warden.pipeline.topic_brokers",
    },
    "cryptography": {"kafka_warden.clients.kafka.key_stores"},
    "gssapi": {"kafka_warden.clients.kafka.kerberos"},
    "h11": {"kafka_warden.web.connections"},
    "jinja2": {"kafka_warden.rules", "kafka_warden.web.status", "kafka_warden.pipeline.report"},
    "markdown_it": {"kafka_warden.web.status"},
    "jmxquery": {"kafka_warden.check.jmx"},
    "jpype": {"kafka_warden.clients.jmx"},
    "kafka": {"kafka_warden.clients.kafka"},
    "mcp": {"kafka_warden.mcp_server"},
    "markupsafe": {"kafka_warden.web.status", "kafka_warden.pipeline.report"},
    "numpy": {"kafka_warden"},
    "pandas": {"kafka_warden.pipeline"},
    "prometheus_client": {"kafka_warden.exposition", "kafka_warden.clients.agents", "kafka_warden.pipeline.runs"},
    "promql_parser": {"kafka_warden.pipeline.promql"},
    "py4j": {"kafka_warden.pipeline"},
    "pyarrow": {"kafka_warden.history.parquet", "kafka_warden.pipeline"},
    "pyspark": {"kafka_warden.pipeline"},
    "rich": {"kafka_warden.top.screen"},
    "structlog": {
        f"kafka_warden.{room}"
        for room in ("app", "cycle", "history", "log", "poller", "reload", "state", "timer", "web")
    },
    "textual": {"kafka_warden.top.screen"},
    "uvicorn": {"kafka_warden.web.connections"},
    "yaml": {"kafka_warden.config", "kafka_warden.rules", "kafka_warden.settings"},
}
"""Library to the rooms that may import it."""

PARTS: dict[str, tuple[str, ...]] = {"kafka": ("kafka.errors", "kafka.protocol")}
"""Library to the parts of it that may be imported, where that is not all of it. Of kafka-python only the codecs."""

PURE = (
    "kafka_warden.formatting",
    "kafka_warden.model",
    "kafka_warden.arrays",
    "kafka_warden.releases",
    "kafka_warden.replies",
    "kafka_warden.derive",
    "kafka_warden.planning",
    "kafka_warden.catalogue",
    "kafka_warden.views",
    *(
        f"kafka_warden.history.{part}"
        for part in ("column", "column_types", "messages", "poll", "replay", "schema", "tables")
    ),
)
IMPURE = {"asyncio", "datetime", "logging", "os", "pathlib", "random", "socket", "subprocess", "threading", "time"}
"""Clocks, logs and the outside world: time comes from the snapshot."""
CONNECTING = ("kafka_warden.planning.command", "kafka_warden.planning.files")
"""Parts of pure rooms that connect them with the outside world; the others do not import them."""


def inside(module: str, rooms: set[str] | tuple[str, ...]) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in rooms)


def room_of(module: str) -> str:
    rooms = [room for room in ROOMS if inside(module, (room,))]
    assert rooms, f"{module} is in a new room: say in ROOMS what stands before it"
    return rooms[0]


def modules(base: Path = ROOT / "exporter") -> Iterator[tuple[str, Path]]:
    """Name and file of every module of the package, but the package's own `__init__`, which is empty."""
    for file in sorted((base / "kafka_warden").rglob("*.py")):
        name = ".".join(file.relative_to(base).with_suffix("").parts).removesuffix(".__init__")
        if name != "kafka_warden":
            yield name, file


def imports(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "relative imports hide where a module stands"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def violations(module: str, tree: ast.Module) -> list[str]:
    room, found = room_of(module), []
    pure = inside(module, PURE) and not inside(module, CONNECTING)
    for name in sorted(imports(tree)):
        library = name.partition(".")[0]
        if library == "kafka_warden":
            allowed = inside(name, ROOMS[room] | {room}) and not (pure and inside(name, CONNECTING))
        elif library in LIBRARIES:
            allowed = inside(module, LIBRARIES[library]) and inside(name, PARTS.get(library, (library,)))
        else:
            allowed = library in sys.stdlib_module_names and not (library in IMPURE and pure)
        if not allowed:
            found.append(f"{module} may not import {name}")
    return found


@pytest.mark.parametrize(("module", "file"), [pytest.param(*pair, id=pair[0]) for pair in modules()])
def test_module_imports_only_what_stands_before_it(module: str, file: Path) -> None:
    assert violations(module, ast.parse(file.read_text())) == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("kafka_warden.arrays", "from kafka_warden.model import Snapshot"),
        ("kafka_warden.derive.lag", "import time"),
        ("kafka_warden.derive.moves", "from kafka_warden import catalogue"),
        ("kafka_warden.derive.moves", "import structlog"),
        ("kafka_warden.planning.plan", "from kafka_warden.catalogue import View"),
        ("kafka_warden.planning.plan", "from pathlib import Path"),
        ("kafka_warden.planning.plan", "from kafka_warden.planning.files import read_targets"),
        ("kafka_warden.rules.render", "from kafka_warden.catalogue import CATALOGUE"),
        ("kafka_warden.sources.offsets", "from kafka_warden.poller import Poller"),
        ("kafka_warden.sources.offsets", "from kafka.protocol.admin import DescribeConfigsRequest"),
        ("kafka_warden.clients.kafka.link", "import jpype"),
        ("kafka_warden.clients.kafka.link", "from kafka.net.connection import KafkaConnection"),
        ("kafka_warden.config.load", "from kafka_warden.clients.kafka.link import BrokerLink"),
        ("kafka_warden.web.server", "import kafka_warden.catalogue"),
        ("kafka_warden.cycle", "from kafka_warden.config import Config"),
        ("kafka_warden.app", "import pyspark"),
        ("kafka_warden.check.command", "import confluent_kafka"),
        ("kafka_warden.top.command", "import textual"),
        ("kafka_warden.top.command", "import mcp"),
        ("kafka_warden.mcp_server", "from kafka_warden.top.command import run"),
        ("kafka_warden.top.output", "from kafka_warden.top.screen import Top"),
        ("kafka_warden.check.results", "from kafka_warden.check.poll import poll"),
        ("kafka_warden.history.schema", "import pyarrow"),
        ("kafka_warden.history.schema", "from kafka_warden.catalogue import View"),
        ("kafka_warden.history.recorder", "import confluent_kafka"),
        ("kafka_warden.history.tables.moves", "import time"),
        ("kafka_warden.pipeline.timeline", "from kafka_warden.exposition import Page"),
        ("kafka_warden.pipeline.timeline", "from kafka_warden.planning.command import run"),
        ("kafka_warden.pipeline.timeline", "from kafka_warden.history.recorder import Recorder"),
        ("kafka_warden.cycle", "from kafka_warden.pipeline import session"),
        ("kafka_warden.top.command", "from kafka_warden.cli import main"),
        ("kafka_warden.poller.poller", "def late():\n    import sandbox"),
    ],
)
def test_wrong_import_is_found(module: str, line: str) -> None:
    assert len(violations(module, ast.parse(line))) == 1


def test_nothing_is_importable_twice() -> None:
    packages = [entry.relative_to(ROOT / "exporter") for entry in (ROOT / "exporter").rglob("__init__.py")]
    assert {package.parts[0] for package in packages} == {"kafka_warden"}


def test_rules_name_what_exists() -> None:
    names = [*ROOMS, *PURE, *itertools.chain(*ROOMS.values(), *LIBRARIES.values())]
    assert [name for name in names if importlib.util.find_spec(name) is None] == []


def test_heavy_libraries_are_not_loaded_unless_used() -> None:
    extras = {"confluent_kafka", "cryptography", "jinja2", "jmxquery", "jpype", "kafka.consumer", "pandas"}
    extras |= {"mcp", "pyarrow", "pyspark", "textual"}
    rooms = ", ".join(
        f"kafka_warden.{room}" for room in ("app", "check.command", "cli", "history.schema", "top.command")
    )
    code = f"import sys, {rooms}; print(*sorted({extras} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.split() == []


def test_few_names_stand_for_two_classes() -> None:
    """The pipeline is a house of its own."""
    homes = [(file, ast.parse(file.read_text())) for module, file in modules() if ".pipeline" not in module]
    names = Counter(each.name for _, tree in homes for each in tree.body if isinstance(each, ast.ClassDef))
    twice = sorted(name for name, count in names.items() if count > 1)
    assert len(twice) <= 9, twice
