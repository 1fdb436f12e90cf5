"""Rules of the suite itself: shards, time limits, retries, `.ci/run`."""

import itertools
import os
import re
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from _pytest.mark.expression import Expression

from tests.support.suite import LONGEST, MOST_FLAKY, QUICK, SHARDS

ROOT: Final = Path(__file__).parents[1]
PROCESSES: Final = re.findall(
    r"^PYTEST := .* (-n) (\d) (--dist) (\w+)$", (ROOT / "Makefile").read_text(), re.MULTILINE
)[0]
FLAKY: Final = """
    import pytest
    runs = []

    @pytest.mark.realtime
    @pytest.mark.parametrize("number", range({tests}))
    def test_fails_once(number):
        runs.append(number)
        assert runs.count(number) > 1
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A pytest with the rules of this suite; `pytester` is its directory."""
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'exporter'}")
    monkeypatch.setenv("FLAKY", str(pytester.path / "flaky"))
    markers = "".join(f"  {name}: \n" for name in ("realtime", "process", "cluster", "spark", *SHARDS))
    pytester.makeini(f"[pytest]\naddopts = -p tests.support.suite -p no:randomly\ntimeout = 60\nmarkers =\n{markers}")
    return pytester


def targets(name: str) -> list[str]:
    """Marker expressions of the pytest commands of a target of the Makefile and of the targets that it calls."""
    # Without the options and variables of the make that may run these tests.
    inherited = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(["make", "-n", name], cwd=ROOT, env=inherited, capture_output=True, text=True, check=True)
    called = re.findall(r"^scripts/step make (\w+)", done.stdout, re.MULTILINE)
    found = re.findall(r"-m pytest .*-m '?([^'\n]+?)'?\s*$", done.stdout, re.MULTILINE)
    return [*found, *(expression for target in called for expression in targets(target))]


def test_every_test_is_in_one_place() -> None:
    places = {name: targets(name) for name in ("test", *(shard.replace("_", "-") for shard in SHARDS))}
    again = [e for e in itertools.chain(*places.values()) if "hypothesis" in e]
    assert len(again) == 1, "property tests run once more in a shard"
    for shard in ((), *((name,) for name in SHARDS)):
        for kinds in itertools.product((False, True), repeat=2):
            marks = {*shard, *itertools.compress(("cluster", "spark"), kinds)}
            chosen = [
                place
                for place, expressions in places.items()
                for expression in expressions
                if expression not in again and Expression.compile(expression).evaluate(_among(marks))
            ]
            assert chosen == [shard[0].replace("_", "-") if shard else "test"], marks


def _among(marks: set[str]) -> Callable[..., bool]:
    return lambda name, **_: name in marks


def test_no_test_is_in_two_shards(run: pytest.Pytester) -> None:
    run.makepyfile("""
        import pytest

        @pytest.mark.full_kafka
        @pytest.mark.full_alerts
        def test_in_two():
            pass
    """)
    result = run.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*test_in_two is in more than one shard: full_alerts, full_kafka"])


@pytest.mark.parametrize("processes", [(), PROCESSES], ids=["one process", "two processes"])
@pytest.mark.parametrize("tests", [MOST_FLAKY, MOST_FLAKY + 1])
def test_flaky_tests_are_printed_and_few(run: pytest.Pytester, tests: int, processes: tuple[str, ...]) -> None:
    """A test that passes when retried is printed; a third one fails the run, which may be that of a later process."""
    run.makepyfile(FLAKY.format(tests=tests))
    result = run.runpytest_subprocess(*processes)
    assert result.parseoutcomes() == {"passed": tests, "rerun": tests}
    result.stdout.fnmatch_lines(["FLAKY *test_fails_once?0?*", "FLAKY *test_fails_once?1?*"])
    assert result.ret == (pytest.ExitCode.OK if tests <= MOST_FLAKY else pytest.ExitCode.TESTS_FAILED)
    again = run.runpytest_subprocess(*processes)
    assert again.ret == pytest.ExitCode.TESTS_FAILED
    again.stdout.fnmatch_lines([f"{2 * tests} retries; at most *"])


def test_the_longest_files_start_first(run: pytest.Pytester) -> None:
    assert [file for file in LONGEST if not (ROOT / "tests" / file).is_file()] == []
    for file in ("a/test_other.py", *LONGEST[-1:]):
        run.mkpydir(file.partition("/")[0]).joinpath(Path(file).name).write_text("def test_passes(): pass")
    result = run.runpytest_subprocess("-v")
    result.stdout.fnmatch_lines([f"{LONGEST[-1]}::test_passes*", "a/test_other.py::test_passes*"])


def test_the_quick_tier_starts_no_process(run: pytest.Pytester) -> None:
    """A test of its folders that starts one, or connects to one, fails; those with a marker and other folders wait."""
    assert [folder for folder in QUICK if not (ROOT / "tests" / folder).is_dir()] == []
    text = """
        import socket
        import subprocess

        import pytest

        def test_starts():
            subprocess.run(["true"])

        def test_connects():
            with socket.socket() as own:
                own.connect_ex(("127.0.0.1", 1))

        def test_computes():
            assert 1 + 1 == 2

        @pytest.mark.process
        def test_says_so():
            subprocess.run(["true"])
    """
    for folder in (QUICK[0], "other"):
        (run.path / "tests" / folder).mkdir(parents=True)
        (run.path / "tests" / folder / f"test_{folder}.py").write_text(textwrap.dedent(text))
    result = run.runpytest_subprocess("--quick")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*subprocess.Popen in a test of `make quick`*", "*socket.connect in a test of*"])


def test_property_tests_repeat_in_make_test_only(run: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    run.makeconftest(re.sub("^pytest_plugins = .*", "", (ROOT / "conftest.py").read_text(), flags=re.MULTILINE))
    run.makepyfile("""
        from hypothesis import given, strategies

        @given(strategies.integers(0, 10**30))
        def test_any(number):
            with open("drawn", "a") as file:
                print(number, file=file)
    """)

    def drawn() -> str:
        file = run.path / "drawn"
        file.unlink(missing_ok=True)
        assert run.runpytest_subprocess().ret == pytest.ExitCode.OK
        return file.read_text()

    assert drawn() == drawn()
    monkeypatch.setenv("HYPOTHESIS_PROFILE", "fresh")
    assert drawn() != drawn()
