"""The style, script and icon of the status page. A name has the hash of its content, so browsers may keep it."""

import hashlib
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Final

from kafka_warden.web.reply import Response

FOLDER: Final = "/assets/"
_KINDS: Final = {"css": "text/css; charset=utf-8", "mjs": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_YEAR: Final = "private, max-age=31536000, immutable"


@cache
def _assets() -> dict[str, tuple[str, bytes]]:
    """Name in an address to kind and content."""
    found = {}
    for file in resources.files(__package__).joinpath("assets").iterdir():
        stem, _, kind = file.name.rpartition(".")
        content = file.read_bytes()
        found[f"{stem}.{hashlib.sha256(content).hexdigest()[:12]}.{kind}"] = kind, content
    return found


def address(file: str) -> str:
    """Return the relative address of an asset, such as `status.css`."""
    stem, _, kind = file.rpartition(".")
    return next(f"assets/{name}" for name in _assets() if name.startswith(f"{stem}.") and name.endswith(f".{kind}"))


def asset(path: str) -> Callable[[], Response] | None:
    """Return what answers for the path of an asset; `None` if it is none."""
    if not path.startswith(FOLDER) or path.removeprefix(FOLDER) not in _assets():
        return None
    kind, content = _assets()[path.removeprefix(FOLDER)]
    return lambda: Response(200, content, {"Content-Type": _KINDS[kind], "Cache-Control": _YEAR})
