"""`make release`: versions, the changelog, and what is refused. scripts/make-dist builds and tries the files."""

import datetime as dt
import re
import sys

import pytest
from packaging.version import Version

from docs.versions import COLUMNS as VERSIONS
from scripts import manifests
from scripts.release import (
    CHANGELOG,
    NAMED,
    UNRELEASED,
    ReleaseError,
    chart_version,
    check,
    close,
    next_version,
    rename,
)
from tests.deploy.dockerfile import ROOT
from tests.deploy.test_image import PROJECT
from tests.support.processes import run

WORDS = 400
"""Of a release in the changelog."""

TEXT = "# Changelog\n\n## [Unreleased]\n\n### Added\n- A page.\n\n## [1.0.0] - 2026-01-02\n- All.\n"
EMPTY = "## [Unreleased]\n\n## [1.0.0] - 2026-01-02\n- All.\n"


@pytest.mark.parametrize("version", ["1.1.0", "1.1.0rc1", "2.0.0"])
def test_a_later_version_can_be_released(version: str) -> None:
    check(version, "1.1.0.dev0", TEXT)


@pytest.mark.parametrize(
    ("version", "changelog", "why"),
    [
        ("one", TEXT, "is no version"),
        ("1.2", TEXT, "three numbers"),
        ("1.2.0.dev1", TEXT, "three numbers"),
        ("1.2.0.post1", TEXT, "three numbers"),
        ("v1.2.0", TEXT, "three numbers"),
        ("1.2.0a1", TEXT, "three numbers"),
        ("1.2.0b2", TEXT, "three numbers"),
        ("1.2.0+local", TEXT, "three numbers"),
        ("1!1.2.0", TEXT, "three numbers"),
        ("1.0.9", TEXT, "does not come after 1.1.0.dev0"),
        ("1.1.0", EMPTY, "nothing under"),
        ("1.1.0", "- A page.", "no section"),
    ],
)
def test_what_is_refused(version: str, changelog: str, why: str) -> None:
    with pytest.raises(ReleaseError, match=why):
        check(version, "1.1.0.dev0", changelog)


def test_the_changelog_gets_a_section() -> None:
    closed = close(TEXT, "1.1.0", dt.date(2026, 3, 4))
    assert "## [Unreleased]\n\n## [1.1.0] - 2026-03-04\n\n### Added\n- A page.\n" in closed
    with pytest.raises(ReleaseError, match="nothing under"):
        check("1.2.0", "1.1.0", closed)
    # Not `check`: right after a release there is nothing to release.
    assert (ROOT / CHANGELOG).read_text().count(UNRELEASED) == 1


def test_a_release_has_at_most_400_words_in_the_changelog() -> None:
    sections = re.split(r"^(?=## )", (ROOT / CHANGELOG).read_text(), flags=re.MULTILINE)
    assert len(sections) > 1
    assert [section[:30] for section in sections if len(section.split()) > WORDS] == []


def test_the_changelog_names_commands_and_versions_as_they_are() -> None:
    text = (ROOT / CHANGELOG).read_text()
    commands = re.findall(r"^    (\w+) ", run(sys.executable, "-m", "kafka_warden.cli", "--help").stdout, re.MULTILINE)
    assert {"run", "plan"} <= set(commands)
    assert set(re.findall(r"`kafka-warden (\w+)`", text)) == set(commands)
    kafka = sorted((version for version, _ in VERSIONS), key=Version)
    assert f"Kafka {kafka[0]} to {kafka[-1]} " in text
    pythons = re.findall(r"for version in (.*);", (ROOT / "scripts" / "make-dist").read_text())[0].split()
    assert f"Python {pythons[0]} to {pythons[-1]}." in text


def test_versions_that_follow() -> None:
    assert next_version("1.1.3") == "1.2.0.dev0"
    assert next_version("1.1.0rc1") == "1.1.0rc1.dev0"


@pytest.mark.parametrize("name", NAMED)
def test_each_file_with_the_version_gets_the_new_one(name: str) -> None:
    old, text = PROJECT["version"], (ROOT / name).read_text()
    new = rename(rename(text, old, "77.8.9"), "77.8.9", "77.9.0.dev0")
    assert old not in new
    assert new.replace("77.9.0.dev0", old).replace("77.9.0-dev0", chart_version(old)) == text


def test_no_other_file_has_the_version() -> None:
    """Except what `make manifests` writes. That of a release is in texts, too."""
    found = run("git", "grep", "--name-only", "--fixed-strings", PROJECT["version"], cwd=ROOT).stdout.split()
    written = {str(file.relative_to(ROOT)) for file in manifests.made()}
    assert set(NAMED) <= set(found)
    assert ".dev" not in PROJECT["version"] or set(found) - written == set(NAMED)


def test_versions_of_others_stay() -> None:
    others = "a==1.2.0 b>=1.2.0 11.2.0 1.2.0.1"
    assert rename(others, "1.2.0", "1.3.0") == others
    wheel = "kafka_warden-{}-py3-none-any.whl"
    assert rename(wheel.format("1.2.0.dev0"), "1.2.0.dev0", "1.2.0") == wheel.format("1.2.0")
    assert rename("kafka-warden:1.2.0-slim .", "1.2.0", "1.3.0") == "kafka-warden:1.3.0-slim ."
