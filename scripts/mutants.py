"""Mutation testing: change the code in one place, and see whether a test fails. `make mutants` runs it.

mutmut finds the places and the changes. Of each room `--sample` mutants are taken by a fixed seed. A mutant runs the
room's tests that execute its line, quickest first, in a process of its own with a changed copy of the package.

`mutants-survivors.txt` has every survivor with the reason why no test needs to find it. The exit status is 1 when a
survivor is not in it, or when less than `LEAST_KILLED` of a room's mutants are killed.
"""

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import libcst as cst
from coverage import Coverage, CoverageData
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.file_mutation import Mutation, create_mutations, deep_replace

from scripts.mutant_tests import Chosen, Recorder, file_of, fork, run_tests

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent
SURVIVORS: Final = HERE / "mutants-survivors.txt"
WORK: Final = ROOT / ".mutants"
PACKAGE: Final = ROOT / "exporter" / "kafka_warden"
UNCHANGED: Final = "unchanged"
"""The copy that the others are restored from: an edit of the code during a run has no effect."""

SEED: Final = "12"
SAMPLE: Final = 400
LEAST_KILLED: Final = 0.85
OUTCOMES: Final = {0: "survived", 1: "killed", **dict.fromkeys((2, 3, 4), "not importable"), 5: "no test"}
"""Of a mutant, by pytest's exit status. All but the first and the last count as killed."""

ROOMS: Final[Mapping[str, tuple[str, ...]]] = {
    "derive": ("tests/derive",),
    "pipeline/forecast_": ("tests/pipeline/forecast",),
    "poller": ("tests/poller", "tests/scheduling"),
    "clients": ("tests/clients", "tests/poller/test_login.py", "--ignore=tests/clients/test_jmx_memory.py"),
}
"""Rooms and pytest's arguments for their tests. The memory of the JMX child is nothing that a mutant shows."""

CHILD: Final = tuple(f"tests/clients/test_jmx_{name}.py" for name in ("child", "session", "security"))
TESTS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("child.py", "worker.py"), CHILD),
    "bounds.py": ("tests/clients/test_bounds.py",),
}
"""File to the tests of all its lines, which are not recorded in the JMX child, or run once in a process."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change.

    Attributes:
        name: File below the package, function, old and new code; a number where that stands twice. No line numbers.
        path: The file.
        line: Where the change starts, from 1.
        function: First and last line of the function around it.
        module: The module that holds it.
        mutation: What mutmut changes.
    """

    name: str
    path: Path
    line: int
    function: range
    module: cst.Module
    mutation: Mutation

    def place(self, copy: Path) -> Path:
        """The file in a copy of the package."""
        return copy / PACKAGE.name / self.path.relative_to(PACKAGE)

    def source(self) -> str:
        """The changed file."""
        changed = deep_replace(self.module, self.mutation.original_node, self.mutation.mutated_node)
        assert isinstance(changed, cst.Module)  # noqa: S101  # a mutation is inside of a module
        return changed.code


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All mutants of a file, except those outside of functions."""
    module, mutations, _, _ = create_mutations(str(path), path.read_text(encoding="utf-8"))
    positions = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    names, seen = dict(_functions(module)), dict[str, int]()
    for mutation in mutations:
        function = mutation.contained_by_top_level_function
        if function not in names:
            continue
        place = positions[function]
        lines = range(place.start.line, place.end.line + 1)
        old, new = (
            " ".join(module.code_for_node(node).split()) for node in (mutation.original_node, mutation.mutated_node)
        )
        name = f"{path.relative_to(PACKAGE)} {names[function]}: {old} -> {new}"
        seen[name] = number = seen.get(name, 0) + 1
        name += f" #{number}" if number > 1 else ""
        start = positions.get(mutation.original_node)
        yield Mutant(name, path, start.start.line if start else 0, lines, module, mutation)


def _functions(module: cst.Module) -> Iterator[tuple[cst.CSTNode, str]]:
    for node in module.body:
        if isinstance(node, cst.FunctionDef):
            yield node, node.name.value
        elif isinstance(node, cst.ClassDef):
            for child in node.body.body:
                if isinstance(child, cst.FunctionDef):
                    yield child, f"{node.name.value}.{child.name.value}"


def files(package: Path, room: str) -> list[Path]:
    """The files of a room: those of the folder, or those whose path begins so."""
    return sorted([*(package / room).rglob("*.py"), *package.glob(f"{room}*.py")])


def sample(room: str, size: int) -> list[Mutant]:
    """Mutants of a room by the hash of their names, so that a change of the code changes little of the sample."""
    every = [mutant for path in files(PACKAGE, room) for mutant in mutants_of(path)]
    return sorted(every, key=lambda mutant: hashlib.sha256(f"{SEED}{mutant.name}".encode()).digest())[:size]


@dataclass(frozen=True, slots=True)
class Record:
    """What the tests of a room did without a change: seconds by test, lines, and the copies of the package."""

    seconds: Mapping[str, float]
    data: CoverageData
    copies: tuple[Path, ...]

    def tests_of(self, mutant: Mutant) -> list[dict[str, float]]:
        """Seconds by test: of those that execute the line, then of the others of its function; or of those of its file.

        Python 3.11 does not trace every line of a coroutine after an exception, so others may execute the line, too.
        """
        if files := TESTS.get(mutant.path.name):
            return [{test: seconds for test, seconds in self.seconds.items() if test.startswith(files)}]
        contexts = self.data.contexts_by_lineno(str(mutant.place(self.copies[0])))

        def executing(lines: Iterable[int]) -> dict[str, float]:
            found = {context for line in lines for context in contexts.get(line, ())}
            return {test: time for test, time in self.seconds.items() if {test, file_of(test)} & found}

        of_line = executing((mutant.line,))
        others = {test: time for test, time in executing(mutant.function).items() if test not in of_line}
        return [tests for tests in (of_line, others) if tests] or [tests for tests in (executing(contexts),) if tests]


def record(room: str, jobs: int) -> Record:
    """Copy the package for every job, and run the tests of a room on the first copy.

    Raises:
        SystemExit: a test fails.
    """
    shutil.rmtree(WORK / room, ignore_errors=True)
    copies = tuple(WORK / room / str(job) for job in range(jobs))
    for copy in (*copies, WORK / room / UNCHANGED):
        shutil.copytree(PACKAGE, copy / PACKAGE.name)
    log, lines, seconds = (WORK / room / name for name in ("log", "lines", "seconds"))
    process = fork(log)
    if not process:
        coverage = Coverage(
            data_file=str(lines), config_file=False, include=[*map(str, files(copies[0] / PACKAGE.name, room))]
        )
        recorder = Recorder(coverage)
        coverage.start()
        code = run_tests(ROOMS[room], copies[0], recorder)
        coverage.stop()
        coverage.save()
        seconds.write_text(json.dumps(recorder.seconds), encoding="utf-8")
        os._exit(code)
    if os.waitpid(process, 0)[1]:
        raise SystemExit(f"the tests of {room} fail without a change: {log}")
    data = CoverageData(str(lines))
    data.read()
    return Record(json.loads(seconds.read_text(encoding="utf-8")), data, copies)


def start(mutant: Mutant, tests: Mapping[str, float], copy: Path) -> int:
    """Run the tests of a mutant in a process; return its id."""
    changed = mutant.place(copy)
    for compiled in changed.parent.glob(f"__pycache__/{changed.stem}.*"):
        compiled.unlink()
    changed.write_text(mutant.source(), encoding="utf-8")
    process = fork(copy.with_suffix(".log"))
    if not process:
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        os._exit(run_tests(sorted(set(map(file_of, tests))), copy, Chosen(tests)))
    return process


def outcomes(mutants: Collection[Mutant], recorded: Record) -> Iterator[tuple[Mutant, str]]:
    """Run mutants in parallel; yield each with "killed", "timeout", "survived" or "no test"."""
    free, running = list(recorded.copies), dict[int, tuple[Mutant, list[dict[str, float]], Path, float]]()
    waiting = [(mutant, recorded.tests_of(mutant)) for mutant in mutants]
    while waiting or running:
        while waiting and free:
            mutant, tests = waiting.pop()
            if tests:
                copy, (now, *later) = free.pop(), tests
                running[start(mutant, now, copy)] = mutant, later, copy, time.monotonic() + 30 + 5 * sum(now.values())
            else:
                yield mutant, "no test"
        time.sleep(0.01)
        for process, (mutant, later, copy, deadline) in list(running.items()):
            ended, status = os.waitpid(process, os.WNOHANG)
            late = not ended and time.monotonic() > deadline
            if not (ended or late):
                continue
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)  # its children, too
            if late:
                os.waitpid(process, 0)
            unchanged = mutant.place(copy.with_name(UNCHANGED))
            shutil.copytree(unchanged.parent, mutant.place(copy).parent, dirs_exist_ok=True)
            del running[process]
            free.append(copy)
            outcome = "timeout" if late else OUTCOMES.get(os.waitstatus_to_exitcode(status), "crashed")
            if outcome == "survived" and later:
                waiting.append((mutant, later))
            else:
                yield mutant, outcome


def reasons() -> dict[str, str]:
    """Reasons by name of survivor: an indented line below the name."""
    lines = [line for line in SURVIVORS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return dict(zip(lines[::2], map(str.strip, lines[1::2]), strict=True))


def run_room(room: str, size: int, jobs: int) -> bool:
    """Run the mutants of a room and print those that survive; return whether enough are killed, the others known.

    Of a full sample print the reasons that no survivor needs, too. Look before you delete one: on a busy machine a time
    limit can kill a mutant that no test finds.
    """
    began, known = time.monotonic(), reasons()
    mutants, survived, counts = sample(room, size), set[str](), dict[str, int]()
    for mutant, outcome in outcomes(mutants, record(room, jobs)):
        counts[outcome] = counts.get(outcome, 0) + 1
        if outcome in {"survived", "no test"}:
            survived.add(mutant.name)
            print(f"{outcome}: {mutant.name}\n    {known.get(mutant.name, 'NO REASON')}", flush=True)
    unneeded = [name for name in known if name.startswith(f"{room}/") and name not in survived and size >= SAMPLE]
    for name in unneeded:
        print(f"killed or not in the sample: {name}")
    share = 1 - len(survived) / len(mutants)
    took = f"{time.monotonic() - began:.0f} s"
    print(f"{room}: {len(mutants)} mutants, {share:.1%} killed, {counts}, {took}", flush=True)
    return share >= LEAST_KILLED and survived <= known.keys()


def main() -> int:
    """Run rooms; return the exit status."""
    parser = argparse.ArgumentParser(description="mutation testing")
    parser.add_argument("rooms", nargs="*", choices=[*ROOMS, []], metavar="ROOM", help=", ".join(ROOMS))
    parser.add_argument("--sample", type=int, default=SAMPLE, metavar="N", help="mutants of each room")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="mutants at a time")
    options = parser.parse_args()
    good = [run_room(room, options.sample, options.jobs) for room in options.rooms or ROOMS]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
