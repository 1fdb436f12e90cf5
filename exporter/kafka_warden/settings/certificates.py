"""When certificates expire."""

import re
import ssl
from datetime import datetime
from pathlib import Path
from typing import Final

_PEM: Final = re.compile(f"{ssl.PEM_HEADER}.+?{ssl.PEM_FOOTER}", re.DOTALL)
_TIME: Final = rb"(?:\x17\x0d(\d{12})|\x18\x0f(\d{14}))Z"
_VALIDITY: Final = re.compile(rb"\x30." + _TIME + _TIME, re.DOTALL)
"""In a certificate in DER, a sequence of two times. Python's `ssl` decodes those of peers and authorities only."""


def expires_at(path: Path) -> float | None:
    """Return the Unix time at which the first certificate of a PEM file expires; `None` when none can be read."""
    try:
        found = _PEM.findall(path.read_text("utf-8", "replace"))
        matches = [_VALIDITY.search(ssl.PEM_cert_to_DER_cert(pem)) for pem in found]
    except (OSError, ValueError):
        return None
    return min((_unix_time(*match.group(3, 4)) for match in matches if match), default=None)


def _unix_time(short: bytes | None, long: bytes | None) -> float:
    text = long or b"20" + (short or b"")
    return datetime.strptime(text.decode() + "+0000", "%Y%m%d%H%M%S%z").timestamp()
