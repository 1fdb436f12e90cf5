"""The routing and inhibition of `alertmanager.yml` as an AlertmanagerConfig for the Prometheus operator."""

import re
from pathlib import Path
from typing import Any, Final

import yaml

HERE: Final = Path(__file__).parent
EXAMPLE: Final = HERE / "alertmanager.yml"
MANIFEST_HEADER: Final = """\
# Made from alerts/alertmanager.yml by `make rules`: do not edit. docs/how-to/prometheus.md says how to add receivers.
# Alerts have no label `namespace`: the Alertmanager needs alertmanagerConfigMatcherStrategy: {type: None}.
"""
_MATCHER: Final = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"\\]*)"')


def manifest() -> dict[str, Any]:
    """The manifest, of version v1alpha1, which needs no conversion webhook. It concerns no alerts of others.

    Raises:
        ValueError: A matcher has no quoted value.
    """
    example = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    (route,) = example["route"]["routes"]
    receivers = dict.fromkeys(one["receiver"] for one in (route, *route["routes"]) if "receiver" in one)
    spec = {
        "route": route,
        "receivers": [{"name": name} for name in receivers],
        "inhibit_rules": example["inhibit_rules"],
        "mute_time_intervals": example["time_intervals"],
    }
    return {
        "apiVersion": "monitoring.coreos.com/v1alpha1",
        "kind": "AlertmanagerConfig",
        "metadata": {"name": "kafka-warden", "labels": {"app.kubernetes.io/name": "kafka-warden"}},
        "spec": _for_operator(spec),
    }


def _for_operator(value: Any) -> Any:
    """Names in camel case, and matchers as objects."""
    if isinstance(value, dict):
        return {
            _camel(key): [_matcher(text) for text in item] if key.endswith("matchers") else _for_operator(item)
            for key, item in value.items()
        }
    return [_for_operator(item) for item in value] if isinstance(value, list) else value


def _camel(name: str) -> str:
    # The operator says sourceMatch and targetMatch.
    return re.sub(r"_(\w)", lambda letter: letter[1].upper(), name.replace("_matchers", "_match"))


def _matcher(text: str) -> dict[str, str]:
    found = _MATCHER.fullmatch(text)
    if found is None:
        raise ValueError(f"not a matcher with a quoted value: {text}")
    return dict(zip(("name", "matchType", "value"), found.groups(), strict=True))
