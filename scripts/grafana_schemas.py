"""Compares the dashboards with the schemas that Grafana publishes: `python -m scripts.grafana_schemas FOLDER`.

FOLDER is `jsonschema/` of a branch of https://github.com/grafana/grafana-foundation-sdk: there is one for each version
of Grafana. The schemas are strict: a field that they do not have is an error.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft7Validator

DASHBOARDS: Final = Path(__file__).parents[1] / "grafana" / "dashboards"
ANY: Final = (("DynamicConfigValue", "value"), ("MatcherConfig", "options"))
"""Definition and field that may hold anything: the published files say object, the types of Grafana say any."""


def _schema(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{name}.jsonschema.json").read_text(encoding="utf-8"))
    for definition, field in ANY:
        if definition in found["definitions"]:
            found["definitions"][definition]["properties"][field] = {}
    if "AnnotationQuery" in found["definitions"]:
        # Fields of the Prometheus data source: 12.3 leaves room for those of any source, 11.6 does not.
        found["definitions"]["AnnotationQuery"]["properties"] |= {"step": {}, "titleFormat": {}}
    if "Threshold" in found["definitions"]:
        # Null is -Infinity, as Grafana's own comment says; the schema of 11.6 has the number only.
        found["definitions"]["Threshold"]["properties"]["value"] = {"type": ["number", "null"]}
    return found


def _errors(schema: dict[str, Any], definition: str, value: object, where: str) -> Iterator[str]:
    for error in Draft7Validator(schema | {"$ref": f"#/definitions/{definition}"}).iter_errors(value):
        yield f"{where}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"


def problems(page: dict[str, Any], folder: Path) -> Iterator[str]:
    """What of a dashboard the schemas of this folder do not allow: the page, panels, their options, and queries."""
    dashboard, query = _schema(folder, "dashboard"), _schema(folder, "prometheus")
    of_query = next(name for name in query["definitions"] if name.lower() == "dataquery")
    yield from _errors(dashboard, "Dashboard", page | {"panels": []}, page["uid"])
    for panel in (each for row in page["panels"] for each in (row, *row.get("panels", ()))):
        where = f"{page['uid']}: {panel['title']}"
        if panel["type"] == "row":
            yield from _errors(dashboard, "RowPanel", panel | {"panels": []} if "panels" in panel else panel, where)
            continue
        yield from _errors(dashboard, "Panel", panel, where)
        kind = _schema(folder, panel["type"].replace("-", ""))
        custom = panel["fieldConfig"]["defaults"].get("custom", {})
        for definition, value in (("Options", panel["options"]), ("FieldConfig", custom)):
            if definition in kind["definitions"]:
                yield from _errors(kind, definition, value, f"{where}: {definition}")
        for target in panel["targets"]:
            yield from _errors(query, of_query, target, f"{where}: {target['refId']}")


def main() -> int:
    """Print every problem; 1 if there is one."""
    folder = Path(sys.argv[1])
    pages = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(DASHBOARDS.glob("*.json"))]
    found = [problem for page in pages for problem in problems(page, folder)]
    print(*found, f"{len(pages)} dashboards, {len(found)} problems", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
