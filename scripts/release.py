"""Makes a release: `make release VERSION=1.2.0`.

Sets the version, gives the changelog its section, commits, builds what is published into `dist/`, tags, and begins the
next version. Nothing is pushed. Where a step fails, the repository is as before.
"""

import datetime as dt
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

from packaging.version import InvalidVersion, Version

from scripts import manifests

ROOT: Final = Path(__file__).parents[1]
CHANGELOG: Final = "CHANGELOG.md"
NAMED: Final = (
    "pyproject.toml",
    "README.md",
    "compose.yaml",
    "deploy/chart/Chart.yaml",
    "deploy/pipeline/cronjob.yaml",
    "docs/how-to/install.md",
)
"""Files with the version, besides those that `make manifests` writes."""
UNRELEASED: Final = "## [Unreleased]\n"


class ReleaseError(Exception):
    """The release cannot be made; the message says what to do."""


def main(version: str) -> None:
    """Make the release."""
    old = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    changelog = (ROOT / CHANGELOG).read_text()
    check(version, old, changelog)
    if _git("status", "--porcelain"):
        raise ReleaseError("there are changes that are not committed: commit them, or put them away (git stash)")
    if _git("tag", "--list", f"v{version}"):
        raise ReleaseError(f"the tag v{version} exists: choose a later version")
    start = _git("rev-parse", "HEAD")
    try:
        (ROOT / CHANGELOG).write_text(close(changelog, version, dt.datetime.now(dt.UTC).date()))
        released = _commit(old, version, f"Release {version}")
        subprocess.run([ROOT / "scripts" / "make-dist"], cwd=ROOT, check=True)  # noqa: S603  # a script of this project
        following = next_version(version)
        _commit(version, following, f"Begin {following}")
        _git("tag", "--annotate", f"v{version}", "--message", f"kafka-warden {version}", released)
    except BaseException:
        _git("reset", "--hard", start)
        raise
    sys.stdout.write(f"v{version} is tagged, and dist/ has its files. Push main and v{version}, then publish dist/.\n")


def check(version: str, old: str, changelog: str) -> None:
    """Check the number of a release against the version so far, and that there is something to release.

    Raises:
        ReleaseError: it cannot be released.
    """
    try:
        parsed = Version(version)
    except InvalidVersion:
        raise ReleaseError(f"{version!r} is no version: it has three numbers, like 1.2.0") from None
    # The chart's version must be semantic.
    if str(parsed) != version or not re.fullmatch(r"\d+\.\d+\.\d+(rc\d+)?", version):
        raise ReleaseError(f"{version} is no version of a release: it has three numbers, like 1.2.0 or 1.2.0rc1")
    if parsed <= Version(old):
        raise ReleaseError(f"{version} does not come after {old}: choose a later version")
    if not re.search(r"^- ", _unreleased(changelog), re.MULTILINE):
        raise ReleaseError(f"{CHANGELOG} has nothing under [Unreleased]: write down what users notice")


def close(changelog: str, version: str, day: dt.date) -> str:
    """Return the changelog with what was not released under a version, and an empty section above it."""
    return changelog.replace(UNRELEASED, f"{UNRELEASED}\n## [{version}] - {day.isoformat()}\n", 1)


def next_version(version: str) -> str:
    """Return the version that is worked on after a release."""
    parsed = Version(version)
    return f"{version}.dev0" if parsed.is_prerelease else f"{parsed.major}.{parsed.minor + 1}.0.dev0"


def rename(text: str, old: str, new: str) -> str:
    """Return a text of `NAMED` with the new version in place of the old one, which the chart has in two forms."""
    text = re.sub(rf"(?:(?<=kafka_warden-)|(?<![\w.=<>~!-])){re.escape(old)}(?![\w.])", new, text)
    return re.sub(r"^version: .*", f"version: {chart_version(new)}", text, flags=re.MULTILINE)


def chart_version(version: str) -> str:
    """Return a version in the form that Helm demands (semantic versioning)."""
    return re.sub(r"\.?(dev|rc)(\d+)", r"-\1\2", version)


def _unreleased(changelog: str) -> str:
    _, found, rest = changelog.partition(UNRELEASED)
    if not found:
        raise ReleaseError(f"{CHANGELOG} has no section [Unreleased]: add one")
    return re.split(r"^## ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def _commit(old: str, new: str, message: str) -> str:
    for name in NAMED:
        path = ROOT / name
        path.write_text(rename(path.read_text(), old, new))
    if manifests.main():
        raise ReleaseError("make manifests failed")
    _git("add", "--all")
    _git("commit", "--quiet", "--message", message)
    return _git("rev-parse", "HEAD")


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except ReleaseError as error:
        sys.exit(f"release: {error}")
