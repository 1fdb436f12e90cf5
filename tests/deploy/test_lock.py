"""The locks that README, install page and image install from."""

import re
from typing import Final

from tests.deploy.dockerfile import ROOT
from tests.deploy.test_image import PROJECT

PLAIN: Final = (ROOT / "requirements.txt").read_text()
LOCK: Final = PLAIN + (ROOT / "requirements-extras.txt").read_text()
PIN: Final = re.compile(r"^([\w.-]+)==([^\s;]+)", re.MULTILINE)
EXTRAS: Final = ("history", "mcp", "msk", "top")


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(text: str) -> dict[str, str]:
    return {normal(name): version for name, version in PIN.findall(text)}


def test_versions_are_those_of_the_constraints() -> None:
    constrained = pins((ROOT / "constraints.txt").read_text())
    assert pins(LOCK).items() <= constrained.items()


def test_every_package_is_locked() -> None:
    wanted = [*PROJECT["dependencies"], *(each for extra in EXTRAS for each in PROJECT["optional-dependencies"][extra])]
    assert {normal(re.split(r"[<>=]", each)[0]) for each in wanted} | {"setuptools"} <= pins(LOCK).keys()


def test_the_extras_are_not_in_a_plain_install() -> None:
    assert not {"pyarrow", "botocore", "mcp", "textual"} & pins(PLAIN).keys()


def test_every_file_is_known_by_its_hash() -> None:
    entries = re.split(r"^(?=[\w.-]+==)", re.sub(r"^ *#.*\n", "", LOCK, flags=re.MULTILINE), flags=re.MULTILINE)[1:]
    assert len(entries) == len(pins(LOCK))
    for entry in entries:
        assert re.fullmatch(r"\S+(?: ; [^\\\n]+)?(?: \\\n +--hash=sha256:[0-9a-f]{64})+\n", entry), entry
