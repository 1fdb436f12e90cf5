"""A stand-in for the package gssapi, with its KDC. Keytabs are a mark and PRINCIPAL=KEY, and tickets are text."""

import sys
import threading
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final

WITHIN: Final = 30.0
"""Real seconds for a thread that waits."""
TABLE: Final = -1765328384
PREAUTHENTICATION, SKEW, UNREACHABLE, NO_SERVICE, NO_FILE = TABLE + 24, TABLE + 37, TABLE + 156, TABLE + 7, TABLE + 195


class GssError(Exception):
    """As `gssapi.exceptions.GSSError`: codes are unsigned."""

    def __init__(self, code: int) -> None:
        super().__init__("general text")
        self.min_code = code % (1 << 32)

    def get_all_statuses(self, code: int, is_maj: bool) -> list[str]:
        """What the mechanism says."""
        assert (code, is_maj) == (self.min_code, False)
        return [f"code {code - (1 << 32) - TABLE}"]


@dataclass
class Tickets:
    """The KDC. `fault`: what it answers to all; `services`: what it knows; `asked`: by whom, for what."""

    keys: dict[str, str] = field(default_factory=dict)
    services: set[str] = field(default_factory=set)
    fault: int = 0
    asked: list[str] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    """While it is clear, the KDC is silent."""
    _caches: dict[str, str] = field(default_factory=dict)

    def install(self, monkeypatch: Any) -> None:
        """Be the package gssapi for the rest of the test."""
        self.gate.set()
        made: Any = ModuleType("gssapi")
        made.__spec__ = ModuleSpec("gssapi", None)
        made.exceptions = exceptions = ModuleType("gssapi.exceptions")
        exceptions.GSSError = GssError  # type: ignore[attr-defined]  # a stand-in
        made.NameType = SimpleNamespace(kerberos_principal="principal", hostbased_service="service")
        made.MechType = SimpleNamespace(kerberos="kerberos")
        made.RequirementFlag = SimpleNamespace(mutual_authentication=2, integrity=32)
        made.Name = lambda text, kind: (text, kind)
        made.Credentials = self._credentials
        made.SecurityContext = self._context
        monkeypatch.setitem(sys.modules, "gssapi", made)
        monkeypatch.setitem(sys.modules, "gssapi.exceptions", exceptions)

    def _ask(self, what: str) -> None:
        thread = threading.current_thread()
        name = thread.name
        if not self.gate.is_set():
            thread.name = "silent"  # time passes meanwhile: a VirtualClock waits for threads by their names
        assert self.gate.wait(WITHIN)
        thread.name = name
        self.asked.append(what)
        if self.fault:
            raise GssError(self.fault)

    def _credentials(self, name: Any, usage: str, mechs: Any, store: Any) -> Any:
        assert (usage, mechs) == ("initiate", ["kerberos"])
        wanted = name[0] if name else None
        cache = store["ccache"]
        if cache not in self._caches:
            _, _, text = Path(store["client_keytab"]).read_bytes().partition(b"\5\2")
            principal, _, key = text.decode().partition("=")
            if wanted not in (None, principal):
                raise GssError(NO_FILE)
            self._ask(principal)
            if self.keys.get(principal) != key:
                raise GssError(PREAUTHENTICATION)
            self._caches[cache] = principal
        return SimpleNamespace(name=f"{self._caches[cache]}@TEST", lifetime=600)

    def _context(self, name: Any, creds: Any, mech: str, flags: int, usage: str) -> Any:
        assert (name[1], mech, flags, usage) == ("service", "kerberos", 2 | 32, "initiate")
        if name[0] not in self.services:
            raise GssError(NO_SERVICE)
        return _Context(f"{creds.name} for {name[0]}")


class _Context:
    """A context that is complete after the broker's answer."""

    def __init__(self, first: str) -> None:
        self.complete = False
        self._first = first.encode()

    def step(self, message: bytes | None = None) -> bytes | None:
        if message is None:
            return self._first
        if message != b"accepted":
            raise GssError(TABLE + 31)
        self.complete = True
        return None

    def unwrap(self, message: bytes) -> Any:
        if not message.startswith(b"wrapped:"):
            raise GssError(TABLE + 31)
        return SimpleNamespace(message=message.removeprefix(b"wrapped:"))

    def wrap(self, message: bytes, *, encrypt: bool) -> Any:
        assert not encrypt
        return SimpleNamespace(message=b"wrapped:" + message)


def write_keytab(file: Path, principal: str, key: str) -> Path:
    made = file.with_name(f"{file.name}.new")
    made.touch(0o600)
    made.write_bytes(f"\5\2{principal}={key}".encode())
    return made.replace(file)
