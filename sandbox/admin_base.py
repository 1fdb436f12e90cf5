"""What the parts of Admin have in common."""

from abc import ABC, abstractmethod
from typing import Any

from sandbox.errors import AdminError
from sandbox.link import error_name

REQUEST_TIMEOUT_MS = 30000


class Asker(ABC):
    """The one thing that every part of Admin needs: a way to ask."""

    @abstractmethod
    def ask(self, request: Any, node: int | None = None) -> Any:
        """Send any request of kafka.protocol and return the reply; `node` where one broker must answer."""

    @abstractmethod
    def running(self) -> tuple[int, ...]:
        """Ids of the brokers that should answer: neither paused nor killed."""


def check(what: str, code: int, message: str | None = None) -> None:
    """Raise unless Kafka's error `code` is 0.

    Raises:
        AdminError: With the code and its name.
    """
    if code:
        raise AdminError(what, code, error_name(code), message)
