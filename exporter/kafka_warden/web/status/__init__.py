"""The status page: templates, and its style, script and icon, which browsers may keep: names have their hash."""

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final

from kafka_warden.web.responses import Response

_KINDS: Final = {"css": "text/css; charset=utf-8", "mjs": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_YEAR: Final = "private, max-age=31536000, immutable"


@cache
def assets() -> Mapping[str, Response]:
    """Read the files; return the response for each path."""
    found = {}
    for file in resources.files(__package__).joinpath("assets").iterdir():
        stem, _, kind = file.name.rpartition(".")
        content = file.read_bytes()
        name = f"{stem}.{hashlib.sha256(content).hexdigest()[:12]}.{kind}"
        found[f"/assets/{name}"] = Response(200, content, {"Content-Type": _KINDS[kind], "Cache-Control": _YEAR})
    return found


def address(file: str) -> str:
    """Return the relative address of an asset, such as `status.css`."""
    stem, _, kind = file.rpartition(".")
    return next(path[1:] for path in assets() if path.startswith(f"/assets/{stem}.") and path.endswith(f".{kind}"))
