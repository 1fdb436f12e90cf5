"""Writes what helm makes of the chart: `make manifests`.

`deploy/*.yaml` are the manifests of one example of values, and `tests/deploy/rendered/` has those of the others, for
the tests that run without helm. `deploy/chart.sha256` has the SHA-256 of these files and of those of the chart: by it
a test finds what is not current.
"""

import hashlib
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import yaml

from scripts.helm import CHART, HelmError, template

ROOT: Final = Path(__file__).parents[1]
DEPLOY: Final = ROOT / "deploy"
EXAMPLES: Final = CHART / "examples"
RENDERED: Final = ROOT / "tests" / "deploy" / "rendered"
SUMS: Final = DEPLOY / "chart.sha256"
OTHERS: Final = {"kustomization.yaml", "prometheusrule.yaml", "alertmanagerconfig.yaml"}
"""Files of `deploy/` that are not made here; the chart takes the last two from there."""
PLAIN: Final = "sasl"
"""The example that `deploy/` is made from."""
IMAGE: Final = 'image.repository="kafka-warden"'
"""No registry: `deploy/kustomization.yaml` says how to name one."""
SHARED: Final = "once"
"""The example that has nothing but copies of rules and dashboards."""
OF_HELM: Final = re.compile(r"^ +(helm\.sh/chart|app\.kubernetes\.io/managed-by): .*\n", re.MULTILINE)
"""Labels that are true only of what Helm installs."""
HEADER: Final = """\
# Made from deploy/chart by `make manifests`, with examples/{name}.yaml: do not edit. Change it in an overlay.
"""


def release(example: str) -> str:
    """The name that the release of an example gets."""
    return "kafka-warden" if example == PLAIN else f"kafka-warden-{example}"


def split(text: str) -> dict[str, str]:
    """The manifests that helm printed, by their kind in lower case."""
    documents = [part for part in re.split(r"^---\n# Source: .*\n", text, flags=re.MULTILINE) if part.strip()]
    return {yaml.safe_load(document)["kind"].lower(): document.strip() + "\n" for document in documents}


def outputs() -> dict[Path, str]:
    """What every made file has to hold, except the sums.

    Raises:
        HelmError: Helm refuses.
    """
    plain = split(template(release(PLAIN), EXAMPLES / f"{PLAIN}.yaml", IMAGE))
    header = HEADER.format(name=PLAIN)
    made = {DEPLOY / f"{kind}.yaml": header + OF_HELM.sub("", text) for kind, text in plain.items()}
    for example in sorted(EXAMPLES.glob("*.yaml")):
        if example.stem not in {PLAIN, SHARED}:
            text = "---\n".join(split(template(release(example.stem), example, IMAGE)).values())
            made[RENDERED / example.name] = HEADER.format(name=example.stem) + text
    return made


def made() -> set[Path]:
    """The files that are there."""
    return {file for file in DEPLOY.glob("*.yaml") if file.name not in OTHERS} | set(RENDERED.glob("*.yaml"))


def sums() -> str:
    """The SHA-256 of every file of the chart and of every made one, as sha256sum writes them."""
    chart = {file for file in CHART.rglob("*") if file.is_file() and not file.is_symlink()}
    return "".join(map(_sum, sorted(chart | made())))


def _sum(file: Path) -> str:
    return f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(ROOT).as_posix()}\n"


def write(files: dict[Path, str], old: Iterable[Path]) -> None:
    """Write the files and remove the others of the old ones."""
    for file in set(old) - files.keys():
        file.unlink()
    for file, text in files.items():
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")


def main() -> int:
    """Write all; 1 if helm cannot."""
    try:
        files = outputs()
    except HelmError as error:
        print(f"manifests: {error}", file=sys.stderr)
        return 1
    write(files, made())
    SUMS.write_text(sums(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
