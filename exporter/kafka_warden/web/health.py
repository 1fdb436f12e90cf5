"""The state of the program, for `/-/healthy` and `/-/ready`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Health:
    """`healthy` is false when a restart is needed. `reasons` are lines of text for people."""

    healthy: bool = True
    reasons: tuple[str, ...] = ()
