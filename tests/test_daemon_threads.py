"""Blocking calls on daemon threads: how many run, and which one is next."""

import asyncio
import threading
import weakref

from kafka_warden.daemon_threads import DaemonThreads

RANKS = (3, 1, 2, 1)
IN_ORDER = ["1: 1", "3: 1", "2: 2", "0: 3"]


async def order(cancelled: int | None) -> list[str]:
    threads, held, ran = DaemonThreads(1, "test"), threading.Event(), list[str]()
    first = asyncio.create_task(threads.run(held.wait))
    await asyncio.sleep(0)
    calls = [
        asyncio.create_task(threads.run(lambda text=f"{number}: {rank}": ran.append(text), rank))  # type: ignore[misc]
        for number, rank in enumerate(RANKS)
    ]
    await asyncio.sleep(0)
    if cancelled is not None:
        calls[cancelled].cancel()
        await asyncio.sleep(0)
    held.set()
    await asyncio.gather(first, *calls, return_exceptions=True)
    await threads.run(lambda: ran.append("last"))
    return ran


def test_the_lowest_rank_is_next_and_the_first_of_these() -> None:
    assert asyncio.run(order(None)) == [*IN_ORDER, "last"]


def test_a_caller_that_gives_up_takes_no_thread() -> None:
    assert asyncio.run(order(1)) == [*IN_ORDER[1:], "last"]


async def is_forgotten() -> bool:
    threads, held = DaemonThreads(1, "test"), threading.Event()
    running = asyncio.create_task(threads.run(held.wait))
    await asyncio.sleep(0)
    event = threading.Event()
    given_up = asyncio.create_task(threads.run(event.is_set))
    await asyncio.sleep(0)
    kept = weakref.ref(event)
    del event
    given_up.cancel()
    await asyncio.gather(given_up, return_exceptions=True)
    del given_up
    waiting = asyncio.create_task(threads.run(bool))
    await asyncio.sleep(0)
    forgotten = kept() is None
    held.set()
    await asyncio.gather(running, waiting)
    return forgotten


def test_a_call_that_was_given_up_is_forgotten_while_all_threads_hang() -> None:
    assert asyncio.run(is_forgotten())
