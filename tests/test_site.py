"""The documents as a site: what `make site` prepares for MkDocs, and what it refuses in the result."""

from pathlib import Path

import pytest
import yaml

from docs.build_site import OUTSIDE, ROOT, SiteError, configuration, foreign, llms, pages, raw, stage, summary


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def copied(folder: Path) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


def test_pages_and_what_they_link_to_keep_their_places(tmp_path: Path) -> None:
    root, folder = tmp_path / "repository", tmp_path / "pages"
    page = "[rules](../alerts/moves.yml#a) [here](#b) [there](https://kafka.apache.org/) ![plot](pictures/a.svg)"
    files = {
        "docs/site.css": "",
        "docs/site.js": "",
        "README.md": '<img src="docs/pictures/b.svg" alt="b">',
        "docs/a.md": page,
    }
    write(root, files | dict.fromkeys(("alerts/moves.yml", "docs/pictures/a.svg", "docs/pictures/b.svg", "secret"), ""))
    stage(root, folder)
    assert copied(folder) == copied(root) - {"secret"}


PROJECT = {
    "README.md": "[contributing](CONTRIBUTING.md), [bench/README.md](bench/README.md#a), [here](docs/a.md)",
    "docs/a.md": "[Back](../README.md#b)",
    "CONTRIBUTING.md": "# C",
    "bench/README.md": "# B",
}


def test_pages_of_the_project_are_outside_the_site(tmp_path: Path) -> None:
    """Its links lead to the repository, or are text where no address of it is known."""
    root, folder = tmp_path / "repository", tmp_path / "pages"
    write(root, PROJECT)

    stage(root, folder)
    assert copied(folder) == {"README.md", "docs/a.md"}
    text = "contributing (`CONTRIBUTING.md`), bench/README.md, [here](docs/a.md)"
    assert (folder / "README.md").read_text() == text
    assert (folder / "docs" / "a.md").read_text() == PROJECT["docs/a.md"]

    stage(root, folder, "https://code.example/you/kw")
    blob = "https://code.example/you/kw/blob/HEAD"
    text = f"[contributing]({blob}/CONTRIBUTING.md), [bench/README.md]({blob}/bench/README.md#a), [here](docs/a.md)"
    assert (folder / "README.md").read_text() == text


def test_each_page_outside_exists() -> None:
    assert [page for page in OUTSIDE if not (ROOT / page).is_file()] == []


@pytest.mark.parametrize("link", ["gone.yml", "../../outside.txt", "../alerts"])
def test_link_to_no_file_of_the_repository_is_refused(tmp_path: Path, link: str) -> None:
    write(tmp_path, {"outside.txt": "", "repository/docs/a.md": f"[a]({link})", "repository/alerts/b.yml": ""})
    with pytest.raises(SiteError, match=r"docs/a\.md links to"):
        stage(tmp_path / "repository", tmp_path / "pages")


def test_every_page_is_in_the_navigation_once(tmp_path: Path) -> None:
    places: list[str] = []
    left = [yaml.safe_load(configuration(ROOT, tmp_path))["nav"]]
    while left:
        entry = left.pop()
        if isinstance(entry, str):
            places.append(entry)
        else:
            left += entry.values() if isinstance(entry, dict) else entry
    assert sorted(places) == [page.as_posix() for page in pages()]


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://unpkg.com/a.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/a.css">',
        "<img alt='' src='http://a.example/b.png'>",
        "@import url(https://a.example/b.css);",
        "p { background: url('https://a.example/b.png') }",
    ],
)
def test_what_another_host_serves_is_found(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"a.html": text})
    assert len(foreign([tmp_path / "a.html"])) == 1


def test_links_to_other_hosts_are_allowed(tmp_path: Path) -> None:
    write(tmp_path, {"a.html": '<a href="https://a.example/">a</a><link rel="canonical" href="https://b.example/">'})
    assert foreign([tmp_path / "a.html"]) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<p>First:\n- one that is longer than what a report shows, by a whole clause\n- two</p>", 2),
        ("<p>First:\n1. one</p>", 1),
        ("<p>First:\n| a | b |\n|---|---|</p>", 2),
        ("<p>```sh\nls</p>", 1),
        ("<pre><code>- one\n1. two\n| a |</code></pre><p>a - b</p><li>one</li>", 0),
    ],
)
def test_markdown_that_stays_text_is_found(tmp_path: Path, text: str, shown: int) -> None:
    write(tmp_path, {"a.html": text})
    assert len(raw(tmp_path / "a.html")) == shown


def test_llms_names_each_page_with_its_first_sentence(tmp_path: Path) -> None:
    picture = "![Picture](a.png)\n\n```sh\nls. All\n```\n"
    (tmp_path / "a.md").write_text(f"# `top` and more\n\n{picture}\nYou see *all* of\n[it](b.md). Then more.\n")
    (tmp_path / "b.md").write_text("# Second\n")
    nav = [{"Start": "a.md"}, {"Use": [{"x": ["b.md"]}]}]

    made = llms({"site_name": "kw", "site_description": "What it is", "nav": nav}, tmp_path)

    assert made.startswith("# kw\n\n> What it is\n\n## Start\n\n- [top and more](a.md): You see all of it.\n")
    assert made.endswith("\n\n## Use\n\n- [Second](b.md): \n")


def test_each_page_of_the_site_has_a_title() -> None:
    assert [page for page in pages() if not summary((ROOT / page).read_text(encoding="utf-8"))[0]] == []
