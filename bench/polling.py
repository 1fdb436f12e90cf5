"""One poll of everything over the protocol: wall time and CPU, compared with the bare requests."""

from collections.abc import Iterator

from bench.cluster import Target
from bench.report import Row, median
from bench.worker import Worker

POLLS = 30
WARM_UP = 5
WALL_TARGET = 0.35
CPU_TARGET = 0.2

STEADY = "steady: metadata, end of every replica"
EVERYTHING = "everything due: with log dirs, configurations, quotas"

Samples = list[dict[str, float]]


def measure(target: Target) -> Iterator[Row]:
    """Alternate polls of the sidecar and bare requests."""
    for what, everything in ((STEADY, False), (EVERYTHING, True)):
        yield from _measure(target, what, everything=everything)


def _measure(target: Target, what: str, *, everything: bool) -> Iterator[Row]:
    argument = {"bootstrap": target.bootstrap, "everything": everything}
    with Worker("bench.poll_worker", argument) as sidecar, Worker("bench.floor_worker", argument) as floor:
        samples: dict[str, Samples] = {"sidecar": [], "bytes": [], "kafka-python": []}
        for number in range(WARM_UP + POLLS):
            taken = {"sidecar": sidecar.step(), **{name: floor.step(name) for name in ("bytes", "kafka-python")}}
            if number >= WARM_UP:
                for name, sample in taken.items():
                    samples[name].append(sample)
    for measure_name, unit, limit in (("wall", "s", WALL_TARGET), ("cpu", "s", CPU_TARGET)):
        yield _row(f"poll, {what}: {measure_name}", samples, measure_name, unit, limit)
    for name, label in (("bytes", "bare requests, replies not decoded"), ("kafka-python", "by kafka-python as it is")):
        yield from (_floor_row(what, label, samples[name], measure_name) for measure_name in ("wall", "cpu"))


def _row(what: str, samples: dict[str, Samples], name: str, unit: str, limit: float) -> Row:
    ours = [sample[name] for sample in samples["sidecar"]]
    ratios = [
        f"x {median(ours) / median(sample[name] for sample in samples[floor]):.2f} of {label}"
        for floor, label in (("bytes", "the bare requests"), ("kafka-python", "kafka-python's"))
    ]
    note = f"median of {len(ours)}; greatest {max(ours):.3f} {unit}; {', '.join(ratios)}"
    return Row(what, median(ours), unit, limit, note)


def _floor_row(what: str, label: str, samples: Samples, name: str) -> Row:
    values = [sample[name] for sample in samples]
    when = what.partition(":")[0]
    return Row(f"- {label}, {when}: {name}", median(values), "s", None, f"greatest {max(values):.3f} s")
