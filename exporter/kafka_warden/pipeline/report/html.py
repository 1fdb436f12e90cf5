"""Writes HTML; text that is not `Html` is escaped, so no topic or user name becomes markup."""

import html
from typing import Final

_VOID: Final = frozenset({"meta", "br"})


class Html(str):
    """Text that is already markup."""

    __slots__ = ()


def tag(name: str, /, *children: str, **attributes: str) -> Html:
    """Write an element. Attributes: `class_` is `class`, and `_` within a name is `-`."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(value)}"' for key, value in attributes.items()
    )
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{joined(*children)}</{name}>")


def joined(*children: str) -> Html:
    """Concatenate pieces; text is escaped."""
    return Html("".join(child if isinstance(child, Html) else html.escape(child) for child in children))
