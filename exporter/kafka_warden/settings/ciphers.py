"""TLS cipher suites: from the names of IANA, which Go and Java use, to those of OpenSSL."""

from collections.abc import Iterable
from typing import Final

TLS12: Final = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
}
TLS13: Final = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
"""Always on with TLS 1.3, in Go, in Java's default and in OpenSSL. Naming them has no effect."""


def openssl_ciphers(names: Iterable[str]) -> str:
    """Return OpenSSL's list of the TLS 1.2 suites in `names`; empty when all are suites of TLS 1.3.

    Raises:
        ValueError: a name is unknown or the suite is not safe.
    """
    suites = []
    for name in names:
        if name in TLS12.values():
            suites.append(name)
        elif name in TLS12:
            suites.append(TLS12[name])
        elif name not in TLS13:
            raise ValueError(f"unknown or unsafe cipher suite {name!r}; known are {', '.join((*TLS12, *TLS13))}")
    return ":".join(suites)
