"""What is installed: the version of this program, and the libraries of its extras."""

from importlib import metadata
from importlib.util import find_spec

from kafka_warden.config import Config
from kafka_warden.errors import ConfigError


def version() -> str:
    """Return the version of the installed distribution."""
    try:
        return metadata.version("kafka-warden")
    except metadata.PackageNotFoundError:
        return "unknown"


def check_installed(option: str, library: str, extra: str) -> None:
    """Check that a library of an extra is installed, without importing it.

    Raises:
        ConfigError: it is not installed; the message has the command that installs it.
    """
    if find_spec(library) is None:
        raise ConfigError(f"{option}: needs {library}, which is not installed: in a checkout pip install '.[{extra}]'")


def check_history(config: Config) -> None:
    """Check that the library of Parquet files is installed. Raises as `check_installed` does."""
    if config.history.parquet.path is not None:
        check_installed("history.parquet.path", "pyarrow", "history")
