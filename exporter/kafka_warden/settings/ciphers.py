"""TLS cipher suites: from the names of IANA, which Go and Java use, to those of OpenSSL."""

import re
import ssl
from collections.abc import Iterable
from typing import Final

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
