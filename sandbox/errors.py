"""What can go wrong in the sandbox. Imports nothing."""


class SandboxError(Exception):
    """The sandbox cannot do what it was asked; the message says what to change."""


class SettingsError(SandboxError):
    """A setting is not valid; the message names it in one line."""


class WaitTimeoutError(SandboxError):
    """A condition did not become true in time."""


class NoBrokerAnswersError(SandboxError):
    """No running broker answered an admin request before its deadline."""


class AdminError(SandboxError):
    """The cluster refused an admin request. `code` is Kafka's error code, `name` its class in kafka.errors."""

    def __init__(self, what: str, code: int, name: str, message: str | None) -> None:
        super().__init__(f"{what}: {name} ({code}){': ' + message if message else ''}")
        self.code = code
        self.name = name
