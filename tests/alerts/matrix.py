"""Which alerts each fault brought in the last recorded run, and the table of it in `alerts/matrix.md`."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from alerts.render import HERE

PAGE: Final = HERE / "matrix.md"
RECORD: Final = Path(__file__).parent / "recorded" / "fired.json"
"""`FIRED` or `MUTED` by fault and alert: written by a run only."""
COUNTS: Final = RECORD.with_name("notified.json")
"""By fault `NOTIFICATIONS` and, under rules that are not scaled, `SECONDS` until it fired: written by a run only."""
NOTIFICATIONS, SECONDS = "notifications", "seconds"
BEGIN: Final = "<!-- matrix: made by `ALERT_MATRIX=write make full-alerts` -->\n"
END: Final = "<!-- end of matrix -->\n"
FIRED, MUTED = "fired", "muted"
SIGNS: Final = {FIRED: "●", MUTED: "○"}
Record = dict[str, dict[str, str]]
Counts = dict[str, dict[str, int]]


def read(file: Path = RECORD) -> Record:
    record: Record = json.loads(file.read_text(encoding="utf-8"))
    return record


def read_counts(file: Path = COUNTS) -> Counts:
    counts: Counts = json.loads(file.read_text(encoding="utf-8"))
    return counts


def write(record: Mapping[str, Mapping[str, object]], file: Path = RECORD) -> None:
    file.write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def render(record: Record, counts: Counts, faults: Sequence[tuple[str, str]], alerts: Iterable[str]) -> str:
    """Render the table between the markers; `faults` are names with descriptions, in their order."""
    numbers = range(1, len(faults) + 1)
    lines = ["| # | Fault | What happens | Notifications | Fires after |", "|---|---|---|---|---|"]
    for number, (name, what) in zip(numbers, faults, strict=True):
        count = counts.get(name, {})
        seconds = f"{count[SECONDS]} s" if SECONDS in count else ""
        lines.append(f"| {number} | `{name}` | {what} | {count.get(NOTIFICATIONS, '')} | {seconds} |")
    lines += ["", "| Alert | " + " | ".join(map(str, numbers)) + " |", "|---|" + "---|" * len(faults)]
    for alert in alerts:
        signs = (SIGNS.get(record.get(name, {}).get(alert, ""), "") for name, _ in faults)
        lines.append(f"| `{alert}` |" + "".join(f" {sign} |" for sign in signs))
    return "\n".join(line.replace("  |", " |") for line in lines) + "\n"


def write_table(inside: str, file: Path = PAGE) -> None:
    """Replace what is between the markers."""
    before, _, after = _split(file)
    file.write_text(f"{before}{BEGIN}{inside}{END}{after}", encoding="utf-8")


def table(file: Path = PAGE) -> str:
    return _split(file)[1]


def _split(file: Path) -> tuple[str, str, str]:
    before, rest = file.read_text(encoding="utf-8").split(BEGIN)
    inside, after = rest.split(END)
    return before, inside, after
