"""The checks, their codes, what one run of them found, and how that is printed."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from kafka_warden.formatting import visible
from kafka_warden.settings.secrets import scrub

VERSION: Final = 1
"""Of the JSON document. Keys may be added in the same version."""


class Status(StrEnum):
    """The result of one check. Skipped is not passed: something before it failed."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    SKIPPED = "skipped"


CHECKS: Final = {
    "KW-CONFIG": ("configuration", "the configuration and its files can be read"),
    "KW-CERTIFICATE": ("configuration", "the own certificates have not expired"),
    "KW-STATE": ("files", "the state file can be written"),
    "KW-HISTORY-FOLDER": ("files", "the history folder can be written"),
    "KW-WEB-FILE": ("web", "the web configuration file can be used"),
    "KW-WEB-LISTEN": ("web", "the address of the web server is free"),
    "KW-DNS": ("kafka", "the names of the bootstrap servers resolve"),
    "KW-TCP": ("kafka", "the bootstrap servers accept connections"),
    "KW-TLS": ("kafka", "the bootstrap servers have a trusted certificate"),
    "KW-API": ("kafka", "the bootstrap servers speak the Kafka protocol"),
    "KW-TOKEN": ("kafka", "there is a token or ticket for the login"),
    "KW-LOGIN": ("kafka", "the login is accepted"),
    "KW-LOGIN-LIBRDKAFKA": ("kafka", "librdkafka connects with the same properties"),
    "KW-CLUSTER": ("kafka", "the cluster describes itself"),
    "KW-BROKER": ("kafka", "each broker answers at its advertised listener"),
    "KW-CONTROLLER": ("kafka", "the active controller answers"),
    "KW-VERSION": ("kafka", "the brokers know all requests"),
    "KW-CLOCK": ("kafka", "this clock agrees with that of the active controller"),
    "KW-ACL-CLUSTER-DESCRIBE": ("rights", "Describe on the cluster"),
    "KW-ACL-CLUSTER-CONFIGS": ("rights", "DescribeConfigs on the cluster"),
    "KW-ACL-TOPIC-DESCRIBE": ("rights", "Describe on the topics"),
    "KW-ACL-TOPIC-CONFIGS": ("rights", "DescribeConfigs on the topics"),
    "KW-HISTORY-TOPIC": ("rights", "the history topic exists and can be written"),
    "KW-JMX-JVM": ("jmx", "the JVM for JMX starts"),
    "KW-JMX": ("jmx", "each process answers JMX"),
    "KW-JMX-JMXQUERY": ("jmx", "jmxquery reads the same beans"),
}
"""Code to category and title, in the order of the output. docs/reference/check.md has a section for each."""


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the output. `fix` is what to do, where there is something to do."""

    code: str
    status: Status
    subject: str
    text: str
    fix: str = ""


@dataclass(slots=True)
class Report:
    """Collects results. Its methods may be called from one thread at a time."""

    results: list[Result] = field(default_factory=list)
    absent: set[str] = field(default_factory=set)
    """Codes of what this cluster does not have; they get no line."""

    def ok(self, code: str, subject: str, text: str) -> None:
        """Note what is as it should be."""
        self.results.append(Result(code, Status.OK, subject, text))

    def warning(self, code: str, subject: str, text: str, fix: str) -> None:
        """Note what costs something and keeps nothing else from working."""
        self.results.append(Result(code, Status.WARNING, subject, text, fix))

    def error(self, code: str, subject: str, text: str, fix: str) -> None:
        """Note what must be fixed."""
        self.results.append(Result(code, Status.ERROR, subject, text, fix))

    def skip(self, code: str, subject: str, why: str) -> None:
        """Note what could not be checked."""
        self.results.append(Result(code, Status.SKIPPED, subject, why))

    def failed(self, code: str) -> bool:
        """Return whether a check has an error."""
        return any(result.code == code and result.status is Status.ERROR for result in self.results)

    def skip_rest(self, wanted: Iterable[str]) -> None:
        """Skip the checks that have no result, since an earlier one failed."""
        known = {result.code for result in self.results}
        causes = list(dict.fromkeys(result.code for result in self.results if result.status is Status.ERROR))
        why = f"not checked: {', '.join(causes) or 'what it needs'} failed"
        for code in wanted:
            if code not in known | self.absent:
                self.skip(code, "", why)

    def chosen(self, codes: frozenset[str]) -> list[Result]:
        """Return the results of some checks, in the order of `CHECKS`."""
        order = list(CHECKS)
        return sorted((each for each in self.results if each.code in codes), key=lambda each: order.index(each.code))


def counts(results: Iterable[Result]) -> dict[Status, int]:
    """Count the results of each status."""
    found = Counter(result.status for result in results)
    return {status: found[status] for status in Status}


def text(results: Sequence[Result]) -> str:
    """Return one line for each result, and a last one with the counts."""
    width = max((len(result.code) for result in results), default=0)
    lines = []
    for result in results:
        where, fix = f"{result.subject}: " if result.subject else "", f" -> {result.fix}" if result.fix else ""
        lines.append(f"{result.status:<7}  {result.code:<{width}}  {clean(where + result.text + fix)}")
    numbers = ", ".join(f"{number} {status}" for status, number in counts(results).items())
    return "".join(f"{line}\n" for line in (*lines, numbers))


def document(results: Sequence[Result], code: int) -> str:
    """Return the JSON document; `code` is the exit code."""
    found = {
        "version": VERSION,
        "success": code == 0,
        "exit_code": code,
        "counts": {str(status): number for status, number in counts(results).items()},
        "checks": [
            {
                "code": result.code,
                "category": CHECKS[result.code][0],
                "title": CHECKS[result.code][1],
                "result": str(result.status),
                "subject": clean(result.subject),
                "message": clean(result.text),
                "fix": clean(result.fix),
                "documentation": f"docs/reference/check.md#{result.code.lower()}",
            }
            for result in results
        ],
    }
    return json.dumps(found, indent=2) + "\n"


def clean(sentence: str) -> str:
    """Put a text on one line, without secrets and without control characters: parts of it come from other machines."""
    return visible(scrub(" ".join(sentence.split())))
