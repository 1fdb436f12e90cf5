"""Libraries that only an extra brings: asked for when the configuration needs them, not in the middle of a poll."""

from importlib.util import find_spec

from kafka_warden.errors import ConfigError


def check_installed(option: str, library: str, extra: str) -> None:
    """See that a library is there, without loading it.

    Raises:
        ConfigError: it is not, with the command that installs it.
    """
    if find_spec(library) is None:
        raise ConfigError(f"{option}: needs {library}, which is not installed: pip install 'kafka-warden[{extra}]'")
