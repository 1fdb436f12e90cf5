"""The requests that scripted brokers answer, and replies that are encoded once and sent often."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from kafka.protocol import admin, consumer, metadata, sasl

from tests.support.scripted.description import Longs

MODULES: Final[Mapping[Any, tuple[str, ...]]] = {
    admin: (
        *("DescribeClientQuotas", "DescribeCluster", "DescribeConfigs", "DescribeLogDirs", "DescribeQuorum"),
        *("DescribeTopicPartitions", "ListPartitionReassignments"),
    ),
    consumer: ("ListOffsets",),
    metadata: ("ApiVersions", "Metadata"),
    sasl: ("SaslAuthenticate", "SaslHandshake"),
}
KINDS: Final[Mapping[int, tuple[str, Any, Any]]] = {
    request.API_KEY: (name, request, getattr(module, f"{name}Response"))
    for module, names in MODULES.items()
    for name in names
    for request in (getattr(module, f"{name}Request"),)
}
"""API key to name, request class and response class."""

MARK: Final = 0x7D_4B_1E_93_5A_C6_2F_71
"""Placeholder in an encoded reply for a number that is written at each sending."""

Numbers = Callable[[float], Longs]
"""Gives, for the seconds of the server's clock, the numbers of a reply."""


class Patched:
    """An encoded reply whose int64 fields that are `MARK` get new numbers at each sending."""

    def __init__(self, body: bytes, numbers: Numbers) -> None:
        places = [found.start() for found in re.finditer(re.escape(MARK.to_bytes(8, "big")), body)]
        self._body = np.frombuffer(body, np.uint8)
        self._places = np.add.outer(np.array(places, np.int64), np.arange(8))
        self._numbers = numbers

    def at(self, now: float) -> bytes:
        filled = self._body.copy()
        filled[self._places] = self._numbers(now).astype(">i8").view(np.uint8).reshape(-1, 8)
        return filled.tobytes()
