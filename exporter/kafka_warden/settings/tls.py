"""TLS: since when and until when certificates are valid, and the names of cipher suites."""

import re
import ssl
from collections.abc import Iterable
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
    # Years of two digits are 1950 to 2049: RFC 5280, 4.1.2.5.1.
    century = b"19" if short is not None and short >= b"50" else b"20"
    text = long or century + (short or b"")
    return datetime.strptime(text.decode() + "+0000", "%Y%m%d%H%M%S%z").timestamp()


EXAMPLES: Final = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 or ECDHE-RSA-AES256-GCM-SHA384"
_SAFE: Final = "HIGH:!aNULL:!eNULL:!PSK:!SRP"
_NAME: Final = re.compile(r"TLS_((?:EC)?DHE_)?(RSA|ECDSA|DSS)_WITH_([A-Z0-9]+)_(.+)")


def openssl_ciphers(names: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """Return OpenSSL's list of the TLS 1.2 suites in `names`, and the names that are unknown or not safe.

    The list is empty when all are suites of TLS 1.3: these are always on in OpenSSL.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers(_SAFE)
    known = {str(each["name"]): each["protocol"] for each in context.get_ciphers()}
    wanted = {name: _openssl_name(name) for name in names}
    suites = [suite for suite in wanted.values() if suite in known and known[suite] != "TLSv1.3"]
    return ":".join(dict.fromkeys(suites)), tuple(name for name, suite in wanted.items() if suite not in known)


def _openssl_name(name: str) -> str:
    found = _NAME.fullmatch(name)
    if found is None:
        return name
    exchange, signature, cipher, mode = found.groups()
    key = f"{exchange or ''}{signature}_" if exchange else ""
    # AES_128_GCM_SHA256 is AES128-GCM-SHA256, AES_128_CBC_SHA is AES128-SHA, AES_128_CCM_8 is AES128-CCM8.
    mode = mode.replace("CBC_", "").replace("CCM_8", "CCM8")
    joint = "" if mode[0].isdigit() else "_"
    return f"{key}{cipher}{joint}{mode}".replace("_", "-").replace("POLY1305-SHA256", "POLY1305")
