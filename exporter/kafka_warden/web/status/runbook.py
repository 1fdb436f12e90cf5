"""Renders the runbooks of `alerts/runbooks`, at the path that they have in the project."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import resources

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from kafka_warden.web.responses import Response
from kafka_warden.web.status.render import HEADERS, template


@lru_cache(64)
def runbook(name: str) -> Response | None:
    """Render the file of that name; `None` if there is none."""
    files = {file.name: file for file in resources.files(__package__).joinpath("runbooks").iterdir()}
    if name not in files:
        return None
    markdown = MarkdownIt("commonmark").enable("table")
    tokens = list(_without_links_elsewhere(markdown.parse(files[name].read_text("utf-8"))))
    text = Markup(markdown.renderer.render(tokens, markdown.options, {}))  # noqa: S704  # our own file
    return Response(200, template("runbook.html").render(name=name.removesuffix(".md"), text=text).encode(), HEADERS)


def _without_links_elsewhere(tokens: Iterable[Token]) -> Iterator[Token]:
    """Leave out links to other documents of the project, which are not served."""
    outside = False
    for token in tokens:
        if token.children:
            token.children = list(_without_links_elsewhere(token.children))
        if token.type == "link_open":
            outside = "/" in str(token.attrs["href"])
        if not (outside and token.type in {"link_open", "link_close"}):
            yield token
