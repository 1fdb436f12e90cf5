"""The web configuration as it is now: read again when a file changes. A bad new one is not used, and says so."""

import ssl
from dataclasses import dataclass
from pathlib import Path

import structlog

from kafka_warden.errors import ConfigError
from kafka_warden.settings.secrets import FileWatch
from kafka_warden.web.file import WebFile, read_web_file
from kafka_warden.web.tls import SwitchingContext, server_context


@dataclass(frozen=True, slots=True)
class _Loaded:
    file: WebFile
    context: ssl.SSLContext | None


def _load(path: Path, file: WebFile) -> _Loaded:
    try:
        return _Loaded(file, server_context(file.tls) if file.tls else None)
    except ConfigError as failure:
        raise ConfigError(f"{path}: {failure}") from None


def _named(file: WebFile) -> tuple[Path, ...]:
    return file.tls.paths() if file.tls else ()


def check_web_file(path: Path) -> None:
    """Read the file and everything that it names.

    Raises:
        ConfigError: one line that says what is wrong.
    """
    _load(path, read_web_file(path))


class CurrentWebFile:
    """The file's content and TLS context of the moment. Without a file: no TLS, no authentication."""

    def __init__(self, path: Path | None) -> None:
        """Read the file, or raise ConfigError."""
        self._path = path
        self._loaded = _Loaded(WebFile(), None)
        # Every watch looks before the file is read: what changes meanwhile is read again.
        self._watch = FileWatch(() if path is None else (path,))
        if path is not None:
            file = read_web_file(path)
            self._watch = self._watch.also(_named(file))
            self._loaded = _load(path, file)
        self.problem: str | None = None
        """Why the files as they are now are not in use; `None` when they are."""

    @property
    def uses_tls(self) -> bool:
        """Tell whether TLS is on. That cannot change while the server runs."""
        return self._loaded.context is not None

    def file(self) -> WebFile:
        """Return what the file says now."""
        self._refresh()
        return self._loaded.file

    def switching_context(self) -> ssl.SSLContext:
        """Return a context that wraps every new connection with the context of the moment."""
        context = SwitchingContext(ssl.PROTOCOL_TLS_SERVER)
        context.current = self._context
        return context

    def _context(self) -> ssl.SSLContext:
        self._refresh()
        if self._loaded.context is None:
            raise ssl.SSLError("TLS is off")
        return self._loaded.context

    def _refresh(self) -> None:
        if self._path is None or not self._watch.changed():
            return
        log = structlog.get_logger(__name__)
        try:
            self._loaded = self._read_again(self._path)
        except ConfigError as failure:
            self.problem = str(failure)
            log.warning("web configuration changed and is not used; the one before it stays", problem=self.problem)
        else:
            self.problem = None
            log.info("web configuration read again", file=str(self._path))

    def _read_again(self, path: Path) -> _Loaded:
        watch = FileWatch((path,))
        file = read_web_file(path)
        # Before the files that it names are opened: one that is missing now may come.
        self._watch = watch.also(_named(file))
        loaded = _load(path, file)
        self._refuse_switch(loaded)
        return loaded

    def _refuse_switch(self, loaded: _Loaded) -> None:
        if (loaded.context is None) != (self._loaded.context is None):
            raise ConfigError(f"{self._path}: tls_server_config: TLS is switched on or off by a restart only")
