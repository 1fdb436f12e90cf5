"""`kafka-warden rules`: prints or writes the rule files, and the longest time from each fault to its alert."""

from pathlib import Path
from typing import Final

from kafka_warden.errors import ConfigError
from kafka_warden.formatting import in_time
from kafka_warden.installed import version
from kafka_warden.log import complain, write
from kafka_warden.rules.delays import delays
from kafka_warden.rules.render import DEFAULTS, WATCHDOG, Values, rules, templates
from kafka_warden.rules.values import intervals, read
from kafka_warden.settings.strict import reason

HEADER: Final = "# Made by `kafka-warden rules` {}: change its values, and make it again.\n"


def run(values_file: Path | None, out: Path | None, *, only_delays: bool) -> int:
    """Print or write what the flags ask for, and return the exit code.

    Args:
        values_file: What is changed.
        out: The folder for the rule files; None prints one.
        only_delays: Print the times only.

    Raises:
        ConfigError: the values cannot be used, or the files cannot be written.
    """
    values = DEFAULTS if values_file is None else read(values_file)
    if only_delays:
        write(table(values))
        return 0
    if out is None:
        write(one_file(values))
    else:
        _write_files(out, values)
    complain(table(values).rstrip("\n"))
    return 0


def files(values: Values) -> dict[str, str]:
    """Return the text of every rule file by its name."""
    made = {template.name: rules(template, values) for template in templates()}
    if values.watchdog:
        made[f"{WATCHDOG.stem}.rules.yml"] = rules(WATCHDOG, values)
    return made


def one_file(values: Values) -> str:
    """Return all groups as one rule file."""
    parts = (text.replace("groups:\n", "", 1) for text in files(values).values())
    return HEADER.format(version()) + "groups:\n" + "".join(parts)


def table(values: Values) -> str:
    """Return the longest time of each case, for people."""
    of = intervals(values)
    every = f"scrapes every {of.scrape:g} s, evaluations every {of.evaluation:g} s, polls every {of.poll:g} s"
    rows = [
        (in_time(longest), case.alert, case.fault)
        for case, longest in delays(values.thresholds, of).items()
        if not {case.alert, f"{case.alert}/{case.severity}"} & values.disabled
    ]
    lines = [f"{longest:>12}  {alert:<32}  {fault}".rstrip() for longest, alert, fault in rows]
    return "\n".join([f"Longest time from a fault to its alert, with {every}:", *lines, ""])


def _write_files(folder: Path, values: Values) -> None:
    made = files(values)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in made.items():
            (folder / name).write_text(HEADER.format(version()) + text, encoding="utf-8")
        others = sorted(file.name for file in folder.glob("*.rules.yml") if file.name not in made)
    except OSError as failure:
        raise ConfigError(f"--out: {folder}: cannot write the rule files: {reason(failure)}") from None
    if others:
        complain(f"kafka-warden: {folder} has other rule files, too: {', '.join(others)}")
