"""The checks, their codes, and what one run of them found."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class Status(StrEnum):
    """The result of one check. Skipped is not passed: something before it failed."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Check:
    """One check. docs/check.md has a section for each code."""

    code: str
    category: str
    title: str


CHECKS: Final = (
    Check("KW-CONFIG", "configuration", "the configuration and its files can be read"),
    Check("KW-CERTIFICATE", "configuration", "the own certificates have not expired"),
    Check("KW-STATE", "files", "the state file can be written"),
    Check("KW-HISTORY-FOLDER", "files", "the history folder can be written"),
    Check("KW-WEB-FILE", "web", "the web configuration file can be used"),
    Check("KW-WEB-LISTEN", "web", "the address of the web server is free"),
    Check("KW-DNS", "kafka", "the names of the bootstrap servers resolve"),
    Check("KW-TCP", "kafka", "the bootstrap servers accept connections"),
    Check("KW-TLS", "kafka", "the bootstrap servers have a trusted certificate"),
    Check("KW-API", "kafka", "the bootstrap servers speak the Kafka protocol"),
    Check("KW-TOKEN", "kafka", "there is a token or ticket for the login"),
    Check("KW-LOGIN", "kafka", "the login is accepted"),
    Check("KW-LOGIN-LIBRDKAFKA", "kafka", "librdkafka connects with the same properties"),
    Check("KW-CLUSTER", "kafka", "the cluster describes itself"),
    Check("KW-BROKER", "kafka", "each broker answers at its advertised listener"),
    Check("KW-CONTROLLER", "kafka", "the active controller answers"),
    Check("KW-VERSION", "kafka", "the brokers know all requests"),
    Check("KW-CLOCK", "kafka", "this clock agrees with that of the active controller"),
    Check("KW-ACL-CLUSTER-DESCRIBE", "rights", "Describe on the cluster"),
    Check("KW-ACL-CLUSTER-CONFIGS", "rights", "DescribeConfigs on the cluster"),
    Check("KW-ACL-TOPIC-DESCRIBE", "rights", "Describe on the topics"),
    Check("KW-ACL-TOPIC-CONFIGS", "rights", "DescribeConfigs on the topics"),
    Check("KW-HISTORY-TOPIC", "rights", "the history topic exists and can be written"),
    Check("KW-JMX-JVM", "jmx", "the JVM for JMX starts"),
    Check("KW-JMX", "jmx", "each process answers JMX"),
    Check("KW-JMX-JMXQUERY", "jmx", "jmxquery reads the same beans"),
)
"""In the order of the output."""

ORDER: Final = {check.code: place for place, check in enumerate(CHECKS)}
BY_CODE: Final = {check.code: check for check in CHECKS}


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
        return sorted((each for each in self.results if each.code in codes), key=lambda each: ORDER[each.code])


def counts(results: Iterable[Result]) -> dict[Status, int]:
    """Count the results of each status."""
    found = Counter(result.status for result in results)
    return {status: found[status] for status in Status}
