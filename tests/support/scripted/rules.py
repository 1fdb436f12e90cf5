"""What a scripted broker does with a request instead of answering it as a broker would."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Rule:
    """The first rule that fits a request is applied. Without a limit in `times` it is applied until it is removed."""

    broker: int | None = None
    """Node id; any when not given. The same of `request` and `side`."""
    request: str | None = None
    """Such as `ListOffsets`."""
    side: str | None = None
    """Of ListOffsets: `leaders` or `followers`; of DescribeConfigs: `topics` or `brokers`."""
    times: int | None = None
    delay: float = 0.0
    """Seconds before the reply, on the server's clock."""
    hang: bool = False
    """No reply; the connection stays open."""
    half: bool = False
    """The first half of the reply, then as `hang`."""
    close: bool = False
    """The connection is closed together with the reply."""
    drop: bool = False
    """The connection is closed without a reply."""
    error: int = 0
    """The value of every `error_code` of the reply."""
    throttle_ms: int = 0
    """`throttle_time_ms` of the reply. The broker reads nothing for that long."""
    changes: dict[str, Any] = field(default_factory=dict)
    """Fields of the reply that get another value before it is encoded."""
    body: str | None = None
    """Sent in a frame with the right header instead of the reply's body, as hex digits."""
    raw: str | None = None
    """Sent instead of the frame, as hex digits."""
    repeat: int = 1
    """How often `body` or `raw` is repeated."""
    mutate: int | None = None
    """The seed of faults in the reply's body, others in each reply."""
    chance: random.Random = field(init=False)
    recorded: str | None = None
    """A file with a recorded frame that is sent instead, with the request's correlation id."""

    def __post_init__(self) -> None:
        self.chance = random.Random(self.mutate)

    def fits(self, broker: int, request: str, side: str) -> bool:
        wanted = (self.broker in (None, broker), self.request in (None, request), self.side in (None, side))
        return self.times != 0 and all(wanted)

    def take(self) -> "Rule":
        if self.times is not None:
            self.times -= 1
        return self


def fitting(rules: Iterable[Rule], broker: int, request: str, side: str) -> Rule:
    """Return the first rule that fits, used once; one that changes nothing when none does."""
    found = next((rule for rule in rules if rule.fits(broker, request, side)), None)
    return found.take() if found else Rule()


def set_errors(reply: Any, code: int) -> None:
    """Set every `error_code` of a reply of kafka-python, at any depth."""
    for name in reply._struct.fields:
        value = getattr(reply, name)
        if name == "error_code":
            reply.error_code = code
        for part in value if isinstance(value, list) else ():
            if hasattr(part, "_struct"):
                set_errors(part, code)
