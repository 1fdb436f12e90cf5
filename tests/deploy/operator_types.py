"""The custom resources of the Prometheus operator, as a cluster would check them: `make full-deploy`."""

import json
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsonschema

from sandbox.jars import cache_directory
from scripts.helm import HelmError, run
from tests.deploy.releases import documents

MODULE: Final = "github.com/prometheus-operator/prometheus-operator"
VERSION: Final = "v0.85.0"
SUM: Final = "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s="
"""Of the module, as Go's checksum database has it."""
CUSTOM_RESOURCES: Final = "example/prometheus-operator-crd"


def _definitions() -> Path:
    """The folder with the definitions, fetched once by Go, which compiles nothing for it."""
    folder = cache_directory() / f"prometheus-operator-{VERSION}"
    if not folder.exists():
        if shutil.which("go") is None:
            raise HelmError("go is not on the PATH; it fetches the types of the Prometheus operator")
        with tempfile.TemporaryDirectory(dir=cache_directory(), prefix="go-") as scratch:
            # Without -modcacherw its directories cannot be removed.
            found = json.loads(
                run(
                    ["go", "mod", "download", "-json", f"{MODULE}@{VERSION}"],
                    GOPATH=scratch,
                    GOMODCACHE=f"{scratch}/pkg/mod",
                    GOFLAGS="-modcacherw",
                )
            )
            assert found["Sum"] == SUM
            shutil.copytree(Path(found["Dir"]) / CUSTOM_RESOURCES, folder)
    return folder


@cache
def _schemas() -> dict[tuple[str, str], dict[str, Any]]:
    """Strict schemas by API version and kind."""
    found = {}
    for file in _definitions().glob("*.yaml"):
        (definition,) = documents(file.read_text().replace("- =\n", "- '='\n"))  # bare, it is no text for YAML 1.1
        spec = definition["spec"]
        for version in spec["versions"]:
            key = (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
            found[key] = strict(version["schema"]["openAPIV3Schema"])
            found[key]["properties"]["metadata"] = {"type": "object"}
    return found


def strict(schema: Any) -> Any:
    """A schema in which a field that it does not name is an error: a cluster would drop it without a word."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(part) for key, part in schema.items()}
    if isinstance(made.get("pattern"), str) and "(?i)" in made["pattern"]:
        # Go allows this flag within a group, Python only at the start.
        made["pattern"] = "(?i)" + made["pattern"].replace("(?i)", "")
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        made.setdefault("additionalProperties", bool(schema.get("x-kubernetes-preserve-unknown-fields")))
    return made


def validate(document: dict[str, Any]) -> None:
    """Refuse what the operator's definitions do not allow.

    Raises:
        jsonschema.ValidationError: A field is unknown, is missing, or has a value that is not allowed.
        KeyError: It is not of the operator.
    """
    jsonschema.validate(document, _schemas()[document["apiVersion"], document["kind"]])
