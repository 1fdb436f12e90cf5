"""What `make dist` writes beside wheel and sdist, and docs/publishing.md, which publishes it."""

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml

from scripts.helm import CHART
from scripts.images import IMAGES
from scripts.publishable import (
    CATALOG,
    COPIED,
    DASHBOARDS,
    NO_REPOSITORY,
    NOTES,
    absolute,
    annotate,
    notes,
    portable,
    source,
)
from tests.deploy.dockerfile import ROOT

GUIDE = (ROOT / "docs" / "publishing.md").read_text()
REPOSITORY = "https://code.example/you/kafka-warden"
CHANGES = (
    "# Changelog\n\n## [Unreleased]\n\n- Later.\n\n## [1.1.0] - 2026-01-02\n\n### Added\n- All.\n\n## [1.0.0]\n- A.\n"
)


@pytest.mark.parametrize("file", sorted(DASHBOARDS.glob("*.json")), ids=lambda file: file.stem)
def test_a_dashboard_asks_for_its_data_source(file: Path) -> None:
    page = json.loads(file.read_text())
    made = portable(json.loads(file.read_text()))

    assert list(made)[:4] == ["__inputs", "__elements", "__requires", "id"]
    assert made["id"] is None
    (asked,) = made["__inputs"]
    (variable,) = (each for each in made["templating"]["list"] if each["type"] == "datasource")
    assert variable["current"]["value"] == f"${{{asked['name']}}}"
    assert {each["id"] for each in made["__requires"]} >= {"grafana", "prometheus", page["panels"][0]["type"]} - {"row"}
    assert {key: made[key] for key in page if key != "templating"} == {
        key: page[key] for key in page if key != "templating"
    }


def test_links_lead_to_the_release() -> None:
    text = "![P](docs/p.png) [a](docs/a.md#b) [c](https://other.example/) [d](#here)"
    assert absolute(text, "R", "1.0.0") == (
        "![P](R/raw/v1.0.0/docs/p.png) [a](R/blob/v1.0.0/docs/a.md#b) [c](https://other.example/) [d](#here)"
    )


def test_the_wheel_has_every_file_that_is_no_code() -> None:
    """A file that is only in the checkout fails for those who install."""
    package = ROOT / "exporter" / "kafka_warden"
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    given = {pattern: set(package.glob(pattern)) for pattern in settings["package-data"]["kafka_warden"]}
    assert all(given.values()), given
    found = {file for file in package.rglob("*") if file.is_file() and file.suffix not in {".py", ".pyc"}}
    assert found <= {file for files in given.values() for file in files}


def test_a_copy_of_the_sources_gets_the_address(tmp_path: Path) -> None:
    for name in ("README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    source(tmp_path, REPOSITORY)
    assert f'\n[project.urls]\nRepository = "{REPOSITORY}"\n' in (tmp_path / "pyproject.toml").read_text()
    links = re.findall(r"\]\(([^)]+)\)", (tmp_path / "README.md").read_text())
    assert links
    assert [link for link in links if not re.match(r"https?://|#", link)] == []


def test_the_notes_are_those_of_the_version() -> None:
    assert notes(CHANGES, "1.1.0") == "### Added\n- All.\n"
    assert notes(CHANGES, "1.2.0.dev0") == "- Later.\n"


def test_the_chart_names_its_image(tmp_path: Path) -> None:
    for name in ("plain", "full"):
        shutil.copytree(CHART, tmp_path / name)
    annotate(tmp_path / "plain", "1.0.0rc1", "", "")
    annotate(tmp_path / "full", "1.0.0", "registry.example/you/kafka-warden", REPOSITORY)

    plain, full = (yaml.safe_load((tmp_path / name / "Chart.yaml").read_text()) for name in ("plain", "full"))
    assert plain["annotations"]["artifacthub.io/prerelease"] == "true"
    assert "artifacthub.io/images" not in plain["annotations"]
    assert NO_REPOSITORY in (tmp_path / "plain" / "values.yaml").read_text()
    assert full["annotations"]["artifacthub.io/license"] == "Apache-2.0"
    assert full["annotations"]["artifacthub.io/prerelease"] == "false"
    (image,) = yaml.safe_load(full["annotations"]["artifacthub.io/images"])
    assert image == {"image": "registry.example/you/kafka-warden:1.0.0", "name": "kafka-warden"}
    values = yaml.safe_load((tmp_path / "full" / "values.yaml").read_text())
    assert values["image"]["repository"] == "registry.example/you/kafka-warden"
    assert full["home"] == REPOSITORY


def test_the_guide_names_what_is_made() -> None:
    script = (ROOT / "scripts" / "make-dist").read_text()
    assert {"source", "files"} == set(re.findall(r"scripts\.publishable (\w+)", script))
    named = set(re.findall(r"`([\w./*-]+\.\w+|SHA256SUMS)`", GUIDE.partition("| File |")[2].partition("\n\n")[0]))
    made = {"SHA256SUMS", "kafka-warden.cdx.json", f"{CATALOG}/*.json", NOTES, *(Path(name).name for name in COPIED)}
    packages = {"kafka_warden-0.1.0-py3-none-any.whl", "kafka_warden-0.1.0.tar.gz", "kafka-warden-0.1.0.tgz"}
    assert named == made | packages
    (tags,) = re.findall(r"for tag in (.*?);", GUIDE)
    suffixes = {image.partition(":")[2].partition("dev0")[2] for image in IMAGES.values()}
    assert {tag.removeprefix("0.1.0") for tag in tags.split()} == suffixes


@pytest.mark.parametrize(
    "form", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda file: file.stem
)
def test_a_form_of_an_issue_has_what_the_host_asks_for(form: Path) -> None:
    page = yaml.safe_load(form.read_text())
    assert page.keys() <= {"name", "description", "labels", "body"}
    assert page["name"]
    assert page["description"]
    names = [field["id"] for field in page["body"]]
    assert len(set(names)) == len(names)
    for field in page["body"]:
        assert field["type"] in {"input", "textarea"}
        assert field["attributes"]["label"]
        assert field.get("validations", {"required": True}) == {"required": True}


def test_actions_are_pinned_and_targets_exist() -> None:
    flows = [file.read_text() for file in (ROOT / ".github" / "workflows").glob("*.yml")]
    assert len(flows) == 2
    used = re.findall(r"uses: (\S+)", "".join(flows))
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", each)] == []
    makefile = (ROOT / "Makefile").read_text()
    shards = re.findall(r"options: \[none, (.*)\]", "".join(flows))[0].split(", ")
    targets = {*shards, *re.findall(r"make ([a-z]+)", "".join(flows))} - {"help", "test", "lint"}
    assert [target for target in targets if not re.search(rf"^{target}:.*##", makefile, re.MULTILINE)] == []
