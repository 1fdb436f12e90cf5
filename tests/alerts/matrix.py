"""What each fault brought in the last recorded run, and the table of it in `alerts/matrix.md`."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from alerts.render import HERE

PAGE: Final = HERE / "matrix.md"
RECORD: Final = Path(__file__).parent / "recorded" / "faults.json"
"""Written by a run only."""
ALERTS, NOTIFICATIONS, SECONDS = "alerts", "notifications", "seconds"
BEGIN: Final = "<!-- matrix: made by `ALERT_MATRIX=write make full-alerts` -->\n"
END: Final = "<!-- end of matrix -->\n"
FIRED, MUTED = "fired", "muted"
SIGNS: Final = {FIRED: "●", MUTED: "○"}
Record = dict[str, dict[str, Any]]
"""By fault `ALERTS`, each `FIRED` or `MUTED`, `NOTIFICATIONS`, and `SECONDS` until it fired if rules are not scaled."""


def read() -> Record:
    record: Record = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def write(record: Record) -> None:
    RECORD.write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def render(record: Record, faults: Sequence[tuple[str, str]], alerts: Iterable[str]) -> str:
    """Render the table between the markers; `faults` are names with descriptions, in their order."""
    numbers = range(1, len(faults) + 1)
    lines = ["| # | Fault | What happens | Notifications | Fires after |", "|---|---|---|---|---|"]
    for number, (name, what) in zip(numbers, faults, strict=True):
        count = record.get(name, {})
        seconds = f"{count[SECONDS]} s" if SECONDS in count else ""
        lines.append(f"| {number} | `{name}` | {what} | {count.get(NOTIFICATIONS, '')} | {seconds} |")
    lines += ["", "| Alert | " + " | ".join(map(str, numbers)) + " |", "|---|" + "---|" * len(faults)]
    for alert in alerts:
        signs = (SIGNS.get(record.get(name, {ALERTS: {}})[ALERTS].get(alert, ""), "") for name, _ in faults)
        lines.append(f"| `{alert}` |" + "".join(f" {sign} |" for sign in signs))
    return "\n".join(line.replace("  |", " |") for line in lines) + "\n"


def write_table(inside: str) -> None:
    """Replace what is between the markers."""
    before, _, after = split_page()
    PAGE.write_text(f"{before}{BEGIN}{inside}{END}{after}", encoding="utf-8")


def split_page() -> tuple[str, str, str]:
    """Return the page before the table, the table, and the page after it."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    inside, after = rest.split(END)
    return before, inside, after
