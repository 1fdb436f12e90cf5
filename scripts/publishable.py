"""Makes of the repository's files what is published: called by `scripts/make-dist`, with addresses if they are known.

`IMAGE` is the name of the image without its tag, `REPOSITORY` the address of the repository. Neither is in the sources.
"""

import json
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml
from packaging.version import Version

from scripts.helm import CHART, helm
from scripts.release import CHANGELOG, UNRELEASED

ROOT: Final = Path(__file__).parents[1]
DASHBOARDS: Final = ROOT / "grafana" / "dashboards"
CATALOG: Final = "grafana-com"
"""Folder of the dashboards for the catalog of Grafana."""
NOTES: Final = "release-notes.txt"
COPIED: Final = ("deploy/artifacthub-repo.yml", "requirements.txt", "requirements-extras.txt")
SOURCE: Final = "DS_PROMETHEUS"
PROMETHEUS: Final = {"type": "datasource", "id": "prometheus", "name": "Prometheus", "version": "1.0.0"}
LINK: Final = re.compile(r"(!?\[[^\]]*\]\()(?![a-z]+:|#)([^)\s]+)\)")
NO_REPOSITORY: Final = 'repository: ""\n'

Page = dict[str, Any]


def source(folder: Path, repository: str) -> None:
    """Set the address of the repository in a copy of the sources: PyPI shows the README without its files."""
    version = _version()
    readme, project = folder / "README.md", folder / "pyproject.toml"
    readme.write_text(absolute(readme.read_text(encoding="utf-8"), repository, version), encoding="utf-8")
    urls = f'Repository = "{repository}"\nChangelog = "{repository}/blob/v{version}/{CHANGELOG}"\n'
    project.write_text(f"{project.read_text(encoding='utf-8')}\n[project.urls]\n{urls}", encoding="utf-8")


def absolute(text: str, repository: str, version: str) -> str:
    """Return Markdown whose links lead to the files of a release, and whose pictures are loaded from there."""

    def one(found: re.Match[str]) -> str:
        kind = "raw" if found[1].startswith("!") else "blob"
        return f"{found[1]}{repository}/{kind}/v{version}/{found[2]})"

    return LINK.sub(one, text)


def files(folder: Path, image: str, repository: str) -> None:
    """Write chart, dashboards, notes and copies into a folder."""
    version = _version()
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / CHART.name
        shutil.copytree(CHART, copy)
        annotate(copy, version, image, repository)
        helm("package", copy, "--destination", folder)
    (folder / CATALOG).mkdir()
    for file in sorted(DASHBOARDS.glob("*.json")):
        page = portable(json.loads(file.read_text(encoding="utf-8")))
        (folder / CATALOG / file.name).write_text(json.dumps(page, indent=2) + "\n", encoding="utf-8")
    text = notes((ROOT / CHANGELOG).read_text(encoding="utf-8"), version)
    text = absolute(text, repository, version) if repository else text
    (folder / NOTES).write_text(text, encoding="utf-8")
    for name in COPIED:
        shutil.copy(ROOT / name, folder)


def annotate(chart: Path, version: str, image: str, repository: str) -> None:
    """Give a copy of the chart the annotations that Artifact Hub shows, and its image."""
    page = yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))
    page["annotations"] |= {"artifacthub.io/prerelease": str(Version(version).is_prerelease).lower()}
    if image:
        values = (chart / "values.yaml").read_text(encoding="utf-8")
        if values.count(NO_REPOSITORY) != 1:
            raise ValueError(f"values.yaml: expected {NO_REPOSITORY.strip()!r} once")
        filled = values.replace(NO_REPOSITORY, f'repository: "{image}"\n')
        (chart / "values.yaml").write_text(filled, encoding="utf-8")
        shown = [{"name": page["name"], "image": f"{image}:{version}"}]
        page["annotations"]["artifacthub.io/images"] = yaml.safe_dump(shown)
    if repository:
        page |= {"home": repository, "sources": [repository]}
    (chart / "Chart.yaml").write_text(yaml.safe_dump(page, sort_keys=False), encoding="utf-8")


def portable(page: Page) -> Page:
    """Return a dashboard as the catalog of Grafana takes it: it asks for `__inputs`, and for an empty `id`."""
    (chosen,) = (each for each in page["templating"]["list"] if each["type"] == "datasource")
    chosen["current"] = {"text": f"${{{SOURCE}}}", "value": f"${{{SOURCE}}}"}
    asked = {"name": SOURCE, "label": "Prometheus", "description": "", "type": "datasource"}
    panels = sorted({panel["type"] for panel in _panels(page["panels"])} - {"row"})
    return {
        "__inputs": [{**asked, "pluginId": "prometheus", "pluginName": "Prometheus"}],
        "__elements": {},
        "__requires": [
            {"type": "grafana", "id": "grafana", "name": "Grafana", "version": "10.4.0"},
            PROMETHEUS,
            *({"type": "panel", "id": kind, "name": kind, "version": ""} for kind in panels),
        ],
        "id": None,
        **page,
    }


def _panels(panels: list[Page]) -> Iterator[Page]:
    for panel in panels:
        yield panel
        yield from _panels(panel.get("panels", []))


def notes(changelog: str, version: str) -> str:
    """Return what the changelog has of a version; of one that is not released, its first section."""
    wanted = f"## [{version}]" if f"## [{version}]" in changelog else UNRELEASED.strip()
    section = re.split(r"^## ", changelog.partition(wanted)[2], maxsplit=1, flags=re.MULTILINE)[0]
    return section.partition("\n")[2].strip() + "\n"


def _version() -> str:
    version: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return version


def main(what: str, folder: Path) -> None:
    """Change a copy of the sources (`source`), or write the files (`files`)."""
    image, repository = os.environ.get("IMAGE", ""), os.environ.get("REPOSITORY", "").rstrip("/")
    if what == "files":
        files(folder, image, repository)
    elif repository:
        source(folder, repository)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
