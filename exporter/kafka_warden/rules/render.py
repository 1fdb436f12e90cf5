"""Makes the text of a rule file out of its template and the thresholds.

The templates are of Jinja2 with other marks, since Prometheus' own templates are full of braces: `${name}` is a
threshold or a macro of `macros.jinja`, `[% %]` a statement, `[# #]` a comment.
"""

import re
from pathlib import Path
from typing import Any, Final

import jinja2
import yaml

from kafka_warden.rules.thresholds import thresholds

TEMPLATES: Final = Path(__file__).parent / "templates"
MACROS: Final = "macros.jinja"
CALL: Final = re.compile(r"\$\{(\w+\(.*?\))\}")
"""A call of a macro: all lines of its text are indented like the line of the call."""
SEVERITY: Final = re.compile(r"^( +)severity: (\w+)$", re.MULTILINE)
"""Of every alert. Its other label separates it from alerts of the same name that other projects have."""
MACRO: Final = re.compile(r"\[% macro (\w+)\(")


class _Templates(jinja2.BaseLoader):
    """The templates, each with the macros."""

    def get_source(self, _: jinja2.Environment, template: str) -> tuple[str, str, None]:
        text = (TEMPLATES / template).read_text(encoding="utf-8")
        if template != MACROS:
            names = ", ".join(MACRO.findall((TEMPLATES / MACROS).read_text(encoding="utf-8")))
            text = f'[% from "{MACROS}" import {names} with context %]\n' + text
        return "".join(_indented(line) for line in text.splitlines(keepends=True)), template, None


def _indented(line: str) -> str:
    spaces = len(line) - len(line.lstrip(" "))
    return CALL.sub(lambda call: f"${{({call[1]}) | indent({spaces})}}", line)


ENVIRONMENT: Final = jinja2.Environment(
    loader=_Templates(),
    variable_start_string="${",
    variable_end_string="}",
    block_start_string="[%",
    block_end_string="%]",
    comment_start_string="[#",
    comment_end_string="#]",
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701  rules are no HTML, and every value is the project's or the operator's own
)


def templates() -> tuple[Path, ...]:
    """Every template, one per subject; `state.rules.yml` first, since the others read its records."""
    return tuple(sorted(TEMPLATES.glob("*.rules.yml"), key=lambda file: (file.name != "state.rules.yml", file.name)))


def rules(template: Path, scale: float = 1.0, floor: float = 0.0) -> str:
    """The text of one rule file, without links.

    Args:
        template: The file to fill in.
        scale: What durations, and thresholds in seconds, are multiplied by; above 0, at most 1.
        floor: Seconds that are added to each, since scrapes and polls take their time. None becomes longer than at
            scale 1, and their order stays.

    Raises:
        jinja2.UndefinedError: The template names a threshold or a macro that does not exist.
    """
    values = {threshold.name: threshold.at(scale, floor) for threshold in thresholds()}
    subject = template.name.removesuffix(".rules.yml")
    text = ENVIRONMENT.get_template(template.name).render(values, subject=subject)
    return SEVERITY.sub(r"\1severity: \2\n\1exporter: kafka-warden", text)


def alerts(text: str) -> list[dict[str, Any]]:
    """Every alerting rule of a rule file."""
    return [rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"] if "alert" in rule]
