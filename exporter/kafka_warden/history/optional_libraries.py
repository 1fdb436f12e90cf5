"""Libraries of extras, checked at the start if the configuration needs them."""

from importlib.util import find_spec

from kafka_warden.errors import ConfigError


def check_installed(option: str, library: str, extra: str) -> None:
    """Check that a library is installed, without importing it.

    Raises:
        ConfigError: it is not installed; the message has the command that installs it.
    """
    if find_spec(library) is None:
        raise ConfigError(f"{option}: needs {library}, which is not installed: pip install 'kafka-warden[{extra}]'")
