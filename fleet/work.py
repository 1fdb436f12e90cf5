"""Parallel work, with its progress."""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

Input = TypeVar("Input")
Output = TypeVar("Output")

GLANCE: Final = 0.5
"""Seconds between two reports of progress."""

_done: Any = None


@dataclass(frozen=True, slots=True)
class Task(Generic[Input, Output]):
    """A function and its argument. The function reports every step."""

    work: Callable[[Input, Callable[[int], None]], Output]
    given: Input


def run_all(tasks: Sequence[Task[Input, Output]], workers: int, report: Callable[[int], None]) -> Iterator[Output]:
    """Do tasks in processes, or in this one if there is one worker; yield the results in the order of the tasks."""
    if min(workers, len(tasks)) <= 1:
        yield from _run_here(tasks, report)
        return
    context = multiprocessing.get_context("spawn")
    done = context.Value("q", 0)
    with ProcessPoolExecutor(min(workers, len(tasks)), context, _begin, (done,)) as pool:
        futures = [pool.submit(_run, task) for task in tasks]
        try:
            while wait(futures, GLANCE).not_done:
                report(int(done.value))
                if any(future.done() and future.exception() for future in futures):
                    break
            yield from (future.result() for future in futures)
        finally:
            pool.shutdown(cancel_futures=True)


def _run_here(tasks: Sequence[Task[Input, Output]], report: Callable[[int], None]) -> Iterator[Output]:
    steps = 0

    def add(count: int) -> None:
        nonlocal steps
        steps += count
        report(steps)

    for task in tasks:
        yield task.work(task.given, add)


def _begin(done: Any) -> None:
    global _done  # noqa: PLW0603  # a counter that processes share is given to each when it starts
    _done = done


def _run(task: Task[Any, Any]) -> Any:
    return task.work(task.given, _add)


def _add(count: int) -> None:
    with _done.get_lock():
        _done.value += count
