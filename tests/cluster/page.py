"""A page of the sidecar, parsed with Prometheus' own client library."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from prometheus_client.parser import text_string_to_metric_families

PREFIX = "kafka_warden_"

Labels = frozenset[tuple[str, str]]
Missed = set[tuple[str, str]]
"""Sources and brokers that did not answer in a poll."""
OWN = ("offsets", "log_dirs", "configs", "jmx")
"""Sources that ask every broker about itself."""


def in_time(missed: Sequence[Missed]) -> int:
    """How many polls had every source that the last one had, by what each missed: a busy machine is late with some."""
    return sum(sources <= missed[-1] for sources in missed)


@dataclass(frozen=True)
class Page:
    """One answer to `GET /metrics`. Names are without `kafka_warden_`."""

    text: str

    @cached_property
    def samples(self) -> dict[tuple[str, Labels], float]:
        """Every sample by name and labels; a sample that stands there twice fails."""
        found: dict[tuple[str, Labels], float] = {}
        for family in text_string_to_metric_families(self.text):
            for sample in family.samples:
                key = sample.name.removeprefix(PREFIX), frozenset(sample.labels.items())
                assert key not in found, f"{sample} is in /metrics twice"
                found[key] = sample.value
        return found

    @property
    def time(self) -> float:
        """When the poll began whose numbers these are, 0 before the first one."""
        return self.get("snapshot_timestamp_seconds") or 0.0

    def get(self, name: str, **labels: object) -> float | None:
        """The value of the sample with exactly these labels, or None."""
        return self.samples.get((name, frozenset((key, str(value)) for key, value in labels.items())))

    def __getitem__(self, name: str) -> float:
        """The value of a sample without labels."""
        return self.samples[name, frozenset()]

    def one(self, name: str, **labels: object) -> float:
        """The value of the sample with exactly these labels, which must be there."""
        value = self.get(name, **labels)
        assert value is not None, f"{name} of {labels} is missing; there are {dict(self.all(name))}"
        return value

    def all(self, name: str, **labels: object) -> dict[tuple[str, ...], float]:
        """Values of the samples with at least these labels, by the values of the others in the order of their names."""
        wanted = {key: str(value) for key, value in labels.items()}
        return {
            tuple(given[key] for key in sorted(given.keys() - wanted.keys())): value
            for given, value in self._of(name)
            if wanted.items() <= given.items()
        }

    def rows(self, name: str) -> list[tuple[Mapping[str, str], float]]:
        return list(self._of(name))

    def by(self, label: str, name: str, **labels: object) -> dict[str, float]:
        """Values of the samples with these labels, by the one label that is left."""
        found = self.all(name, **labels)
        assert all(len(key) == 1 for key in found), f"{name} has more labels than {label} and {labels}"
        return {key: value for (key,), value in found.items()}

    def brokers(self, name: str, **labels: object) -> dict[int, float]:
        return {int(broker): value for broker, value in self.by("broker", name, **labels).items()}

    def fenced(self, broker: int) -> bool:
        """Return whether a broker is fenced, or gone: Kafka 3.9 does not list fenced brokers."""
        return any(self.get("broker_state", broker=broker, state=state) == 1 for state in ("fenced", "gone"))

    def lost(self, before: "Page", brokers: Iterable[int], lazy: tuple[str, ...]) -> set[object]:
        """Series that these brokers had and do not have now, except metrics that begin like one of `lazy`."""
        nodes = {str(broker) for broker in brokers}
        gone = before.samples.keys() - self.samples.keys()
        return {key for key in gone if dict(key[1]).get("broker") in nodes and not key[0].startswith(lazy)}

    def names(self) -> set[str]:
        return {name for name, _ in self.samples}

    def up(self) -> dict[tuple[str, str], bool]:
        """Source and broker to whether it answered."""
        return {(labels["source"], labels["broker"]): value == 1 for labels, value in self._of("up")}

    def down(self) -> Missed:
        return {key for key, answered in self.up().items() if not answered}

    def not_available(self) -> dict[tuple[str, str], str]:
        """Sources that are not available, with their brokers, and why."""
        rows = self.rows("source_not_available")
        return {(labels["source"], labels["broker"]): labels["reason"] for labels, value in rows if value == 1}

    def silent(self, source: str) -> set[int]:
        return {int(broker) for failed, broker in self.down() if failed == source}

    def errors(self, source: str, broker: object = "", since: "Page | None" = None) -> dict[str, float]:
        """Failures of one source at one broker by reason, those after an earlier page where one is given."""
        before = since.errors(source, broker) if since is not None else {}
        counts = self.by("reason", "source_errors_total", source=source, broker=broker)
        return {
            reason: count - before.get(reason, 0) for reason, count in counts.items() if count > before.get(reason, 0)
        }

    def _of(self, name: str) -> Iterator[tuple[dict[str, str], float]]:
        return ((dict(labels), value) for (found, labels), value in self.samples.items() if found == name)
