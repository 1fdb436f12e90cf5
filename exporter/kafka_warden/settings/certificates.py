"""Since when and until when certificates are valid."""

import re
import ssl
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from kafka_warden.settings.strict import read_file

_PEM: Final = re.compile(f"{ssl.PEM_HEADER}.+?{ssl.PEM_FOOTER}", re.DOTALL)
_TIME: Final = rb"(?:\x17\x0d(\d{12})|\x18\x0f(\d{14}))Z"
_VALIDITY: Final = re.compile(rb"\x30." + _TIME + _TIME, re.DOTALL)
"""In a certificate in DER, a sequence of two times. Python's `ssl` decodes those of peers and authorities only."""


class Validity(NamedTuple):
    """Both ends of the validity of a certificate, as Unix time."""

    begin: float
    end: float

    @property
    def lifetime(self) -> float:
        """Return for how many seconds it is valid."""
        return self.end - self.begin


def validity(source: Path | str | None) -> Validity | None:
    """Return the validity of that certificate of a PEM file or text that expires first; `None` if none can be read."""
    try:
        text = read_file(source).decode("utf-8", "replace") if isinstance(source, Path) else source or ""
        found = _PEM.findall(text)
        matches = [_VALIDITY.search(ssl.PEM_cert_to_DER_cert(pem)) for pem in found]
        ends = (Validity(_unix_time(*match.group(1, 2)), _unix_time(*match.group(3, 4))) for match in matches if match)
        return min(ends, key=lambda each: each.end, default=None)
    except (OSError, ValueError):
        return None


def _unix_time(short: bytes | None, long: bytes | None) -> float:
    text = long or b"20" + (short or b"")
    return datetime.strptime(text.decode() + "+0000", "%Y%m%d%H%M%S%z").timestamp()
