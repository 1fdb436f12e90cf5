"""The matrix of faults and alerts in `alerts/README.md`: read, compared with what was seen, written."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from alerts.render import README

BEGIN: Final = "<!-- matrix: made by `ALERT_MATRIX=write make test-alerts` -->\n"
END: Final = "<!-- end of matrix -->\n"
FIRED, MUTED, SILENT = "●", "○", ""
Cells = dict[tuple[str, str], str]
"""`FIRED` or `MUTED` by fault and alert; what did not fire is left out."""


def read(file: Path = README) -> Cells:
    """What is committed."""
    rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")]
        for line in _split(file)[1].splitlines()
        if line.startswith("|")
    ]
    # The faults have three columns: number, name and words.
    names = {row[0]: row[1].strip("`") for row in rows if row[0].isdigit()}
    header, *_ = [row for row in rows if row[0] == "Alert"] or [[]]
    return {
        (names[number], row[0].strip("`")): cell
        for row in rows
        if row[0].startswith("`")
        for number, cell in zip(header[1:], row[1:], strict=True)
        if cell
    }


def render(cells: Mapping[tuple[str, str], str], faults: Sequence[tuple[str, str]], alerts: Iterable[str]) -> str:
    """The text between the markers; `faults` are names with words, in their order."""
    numbers = range(1, len(faults) + 1)
    lines = ["| # | Fault | What happens |", "|---|---|---|"]
    lines += [f"| {number} | `{name}` | {what} |" for number, (name, what) in zip(numbers, faults, strict=True)]
    lines += ["", "| Alert | " + " | ".join(map(str, numbers)) + " |", "|---|" + "---|" * len(faults)]
    for alert in alerts:
        lines.append(f"| `{alert}` |" + "".join(f" {cells.get((name, alert), SILENT)} |" for name, _ in faults))
    return "\n".join(line.replace("  |", " |") for line in lines) + "\n"


def write(inside: str, file: Path = README) -> None:
    """Replace what is between the markers."""
    before, _, after = _split(file)
    file.write_text(f"{before}{BEGIN}{inside}{END}{after}", encoding="utf-8")


def text(file: Path = README) -> str:
    """What is between the markers."""
    return _split(file)[1]


def _split(file: Path) -> tuple[str, str, str]:
    before, rest = file.read_text(encoding="utf-8").split(BEGIN)
    inside, after = rest.split(END)
    return before, inside, after
