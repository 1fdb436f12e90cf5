"""Prepares the documents for MkDocs and looks at what it made: `make site`.

The pages and the files that they link to are copied in the layout of the repository, so a relative link is right there
and on the site. `mkdocs.yml` has the navigation, without the runbooks, which are added here. The site is for users: a
link to a page of the project leads to `REPOSITORY`, the address of the repository, or is only text without it.
"""

import os
import re
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[1]
CONFIG: Final = ROOT / "mkdocs.yml"
BUILD: Final = ROOT / "build" / "site"
ASSETS: Final = "docs/site.*"
PAGES: Final = (
    "*.md",
    "docs/*.md",
    "docs/tutorials/*.md",
    "docs/how-to/*.md",
    "docs/reference/*.md",
    "docs/spec/*.md",
    "alerts/README.md",
    "alerts/runbooks/*.md",
)
OUTSIDE: Final = (
    "CONTRIBUTING.md",
    "docs/architecture.md",
    "docs/dependencies.md",
    "docs/fleet.md",
    "docs/pipeline-store.md",
    "docs/publishing.md",
    "docs/reliability.md",
)
"""Pages of the project, beside those in other folders."""
RUNBOOKS: Final = "Runbooks"
"""The entry of the navigation that gets all runbooks."""

TO_PAGE: Final = re.compile(r"\[([^\]]*)\]\(([^)#\s:]+\.md)(#[^)]*)?\)")
LINK: Final = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)|\b(?:src|srcset|href)=\"([^\"#]+)(?:#[^\"]*)?\"")
LOADED: Final = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*\b(?:src|srcset|data)=[\"']?((?:https?:)?//[^\s\"'>]+)"
    r"|<link\b(?![^>]*rel=[\"']?(?:canonical|prev|next|alternate))[^>]*\bhref=[\"']?((?:https?:)?//[^\s\"'>]+)"
    r"|@import\s+(?:url\()?[\"']?((?:https?:)?//[^\s\"')]+)|url\([\"']?((?:https?:)?//[^\s\"')]+)"
)
"""What a browser loads by itself from another host."""

HEADING: Final = re.compile(r"(?<=^# ).+$", re.MULTILINE)
PARAGRAPH: Final = re.compile(r"^[A-Z`*\[].*(?:\n\S.*)*", re.MULTILINE)
"""One that begins with a word: no picture, list, table or comment."""
ANCHOR: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
SENTENCE: Final = re.compile(r"(?<=[.!?])\s")
FENCED: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)

PREFORMATTED: Final = re.compile(r"<(pre|script|style)\b.*?</\1>", re.DOTALL)
RAW: Final = re.compile(r"(?:^|<p>)((?:[-*]|\d+\.) .{,50}|\|.*\||```.*)", re.MULTILINE)
"""A list, a table or a block that stayed text. MkDocs needs an empty line before it and four spaces inside an item."""


class SiteError(Exception):
    """A page cannot be built as it is."""


def pages(root: Path = ROOT) -> list[Path]:
    """All pages of the site, relative to the repository."""
    found = (page.relative_to(root) for pattern in PAGES for page in root.glob(pattern))
    return sorted(page for page in found if page.as_posix() not in OUTSIDE)


def linked(root: Path, page: Path) -> Iterator[Path]:
    """The files of the repository that a page links to or shows, relative to the repository.

    Raises:
        SiteError: There is no such file.
    """
    for found in LINK.finditer((root / page).read_text(encoding="utf-8")):
        link = found[1] or found[2]
        if ":" in link:
            continue
        file = (root / page.parent / link).resolve()
        if not file.is_file() or not file.is_relative_to(root.resolve()):
            raise SiteError(f"{page} links to {link}, which is not a file of the repository")
        yield file.relative_to(root.resolve())


def for_users(root: Path, page: Path, inside: Collection[Path], repository: str) -> str:
    """The text of a page, without relative links to Markdown outside the site."""

    def one(found: re.Match[str]) -> str:
        text, link, anchor = found[1], found[2], found[3] or ""
        file = (root / page.parent / link).resolve().relative_to(root.resolve())
        if file in inside:
            return found[0]
        if repository:
            return f"[{text}]({repository}/blob/HEAD/{file.as_posix()}{anchor})"
        return text if text.endswith(file.name) else f"{text} (`{file.as_posix()}`)"

    return TO_PAGE.sub(one, (root / page).read_text(encoding="utf-8"))


def stage(root: Path, folder: Path, repository: str = "") -> None:
    """Copy every page and every file that one links to into a folder, in the layout of the repository."""
    shutil.rmtree(folder, ignore_errors=True)
    chosen = pages(root)
    files = {file.relative_to(root) for file in root.glob(ASSETS)}
    files |= {file for page in chosen for file in linked(root, page) if file.suffix != ".md"}
    for file in (*chosen, *files):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
    for page in chosen:
        (folder / page).write_text(for_users(root, page, chosen, repository), encoding="utf-8")
    for file in files:
        shutil.copyfile(root / file, folder / file)


def filled(entry: Any, runbooks: list[str]) -> Any:
    """A part of the navigation, with the runbooks in their place."""
    if isinstance(entry, list):
        return [filled(each, runbooks) for each in entry]
    if isinstance(entry, dict):
        return {name: runbooks if name == RUNBOOKS else filled(part, runbooks) for name, part in entry.items()}
    return entry


def _settings(root: Path) -> dict[str, Any]:
    # The base loader, since a tag names a function of MkDocs' own environment.
    loaded: dict[str, Any] = yaml.load((root / CONFIG.name).read_text(encoding="utf-8"), yaml.BaseLoader)  # noqa: S506  # only text
    return loaded


def configuration(root: Path, build: Path) -> str:
    """What `mkdocs.yml` lacks for the copied pages."""
    settings = _settings(root)
    runbooks = [page.as_posix() for page in pages(root) if page.parent.name == RUNBOOKS.lower()]
    added = {
        "INHERIT": str(root / CONFIG.name),
        "docs_dir": str(build / "pages"),
        "site_dir": str(build / "html"),
        "nav": filled(settings["nav"], runbooks),
    }
    return yaml.safe_dump(added, sort_keys=False)


def listed(entry: Any) -> Iterator[str]:
    """The pages of a part of the navigation."""
    if isinstance(entry, str):
        yield entry
    else:
        for part in entry.values() if isinstance(entry, dict) else entry:
            yield from listed(part)


def summary(text: str) -> tuple[str, str]:
    """The title of a page, and its first sentence without markup."""
    prose = FENCED.sub("", text)
    title, paragraph = (
        re.sub("[*`]", "", ANCHOR.sub(r"\1", " ".join(found[0].split()))) if (found := pattern.search(prose)) else ""
        for pattern in (HEADING, PARAGRAPH)
    )
    return title, SENTENCE.split(paragraph, maxsplit=1)[0]


def llms(settings: dict[str, Any], folder: Path) -> str:
    """The site for assistants, in the form of llmstxt.org: each page of the navigation with its first sentence.

    Args:
        settings: What `mkdocs.yml` has, with the runbooks in the navigation.
        folder: The copied pages.
    """
    lines = [f"# {settings['site_name']}", "", f"> {settings['site_description']}"]
    for section in settings["nav"]:
        ((name, entry),) = section.items()
        lines += ["", f"## {name}", ""]
        for page in listed(entry):
            title, sentence = summary((folder / page).read_text(encoding="utf-8"))
            lines.append(f"- [{title}]({page}): {sentence}")
    return "\n".join(lines) + "\n"


def add_llms(build: Path) -> None:
    """Add `llms.txt` to the site, and the Markdown of the pages that it names."""
    settings = {**_settings(ROOT), **yaml.safe_load((build / CONFIG.name).read_text(encoding="utf-8"))}
    (build / "html" / "llms.txt").write_text(llms(settings, build / "pages"), encoding="utf-8")
    for page in listed(settings["nav"]):
        shutil.copyfile(build / "pages" / page, build / "html" / page)


def add_index(html: Path) -> None:
    """Write the index of the search as a script, too: a page that is opened as a file cannot read another file."""
    index = (html / "search" / "search_index.json").read_text(encoding="utf-8")
    (html / "search" / "search_index.js").write_text(f"var __index = {index}", encoding="utf-8")


def foreign(files: Iterable[Path]) -> list[str]:
    """Where a page or a style sheet loads something from another host, one line each."""
    found = ((file.name, each) for file in files for each in LOADED.finditer(file.read_text(encoding="utf-8")))
    return [f"{name} loads {next(filter(None, each.groups()))}" for name, each in found]


def raw(html: Path) -> list[str]:
    """Where a page shows Markdown as text, one line each."""
    text = PREFORMATTED.sub("", html.read_text(encoding="utf-8"))
    return [f"{html.name} shows {found[1]}" for found in RAW.finditer(text)]


def main(arguments: list[str]) -> int:
    """`prepare` copies the pages, `check` completes the built site and looks at it; 1 if there is a problem."""
    html = BUILD / "html"
    try:
        if arguments == ["prepare"]:
            stage(ROOT, BUILD / "pages", os.environ.get("REPOSITORY", "").rstrip("/"))
            (BUILD / "mkdocs.yml").write_text(configuration(ROOT, BUILD), encoding="utf-8")
            return 0
        add_index(html)
        add_llms(BUILD)
        made = sorted(html.rglob("*.html"))
        problems = foreign([*made, *html.rglob("*.css")]) + [problem for page in made for problem in raw(page)]
    except SiteError as error:
        problems = [str(error)]
    for problem in problems:
        print(f"site: {problem}", file=sys.stderr)
    if not problems:
        print(f"site: {html.relative_to(ROOT)}/index.html, {len(made)} pages")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
