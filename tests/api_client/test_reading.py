"""What is read is what `/api/v1` and `/metrics` have of the same poll, and nothing else."""

import asyncio
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_warden.api_client import Answer, read
from kafka_warden.errors import NoAnswerError
from kafka_warden.exposition import Page
from tests.building import known
from tests.support import status_rows
from tests.support.asking import differences_from, getter, shown_of, views_of

PAGES = (status_rows.troubled, status_rows.blind, status_rows.quiet, status_rows.moving)


@pytest.mark.parametrize("make", PAGES, ids=lambda each: each.__name__)
def test_all_that_is_shown_is_what_the_page_has(make: Callable[[], Page]) -> None:
    """In every kind of trouble, without a fresh snapshot, in a healthy cluster, and with 3,000 moves."""
    assert differences_from(shown_of(getter(make)), views_of(make())) == []


def test_two_polls_are_never_mixed() -> None:
    pages = status_rows.troubled(), status_rows.moving(40)
    for first in range(1, 20):
        turn = itertools.chain([pages[0]] * first, itertools.repeat(pages[1]))
        shown = shown_of(getter(lambda turn=turn: next(turn)))  # type: ignore[misc]  # bound in this round
        assert min(len(differences_from(shown, views_of(page))) for page in pages) == 0


def test_data_that_becomes_too_old_meanwhile_is_not_mixed() -> None:
    turn = itertools.chain([status_rows.troubled()] * 3, itertools.repeat(status_rows.blind()))
    shown = shown_of(getter(lambda: next(turn)))

    assert differences_from(shown, views_of(status_rows.blind())) == []


def test_polls_that_are_too_fast_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_warden.api_client.PAUSE", 0.0)
    # A sidecar answers with what it made from the page before, for a second: then all may be of one poll.
    monkeypatch.setattr("kafka_warden.web.rows.FRESH_SECONDS", 0.0)
    pages: Iterator[Page] = itertools.cycle([status_rows.troubled(), status_rows.moving(40)])
    with pytest.raises(NoAnswerError, match="a new poll ended"):
        shown_of(getter(lambda: next(pages)))


@pytest.mark.parametrize(
    ("change", "about"),
    [
        (lambda _: b"<html>", "JSON"),
        (lambda _: b"[]", "the whole"),
        (lambda whole: whole.update(data=[]), "ExporterRow"),
        (lambda whole: whole.update(time="now"), "time"),
        (lambda whole: whole.update(time=10**310), "JSON"),
        (lambda whole: whole.update(fresh=1), "time"),
        (lambda whole: whole["data"].update(version=7), "version"),
        (lambda whole: whole["data"].update(poll_interval="soon"), "poll_interval"),
        (lambda whole: whole["data"].update(poll_interval=[]), "poll_interval"),
        (lambda whole: whole["data"].update(history={"kafka": "yes"}), "history"),
        (lambda whole: whole["data"].update(dropped_series=[]), "dropped_series"),
    ],
)
def test_garbage_is_no_sidecar(change: Callable[[Any], bytes | None], about: str) -> None:
    document = json.loads(asyncio.run(getter(status_rows.troubled)("exporter")).body)
    body = change(document) or json.dumps(document).encode()

    async def get(path: str) -> Answer:
        return Answer(200, body, 0.0)

    with pytest.raises(NoAnswerError, match=f"{about}: is this the address of an exporter"):
        asyncio.run(read(get, {}))


def test_fields_that_a_version_lacks_are_unknown() -> None:
    async def get(path: str) -> Answer:
        answer = await getter(status_rows.troubled)(path)
        document = json.loads(answer.body)
        for row in document["data"] if isinstance(document["data"], list) else [document["data"]]:
            row.pop("remaining_bytes", None)
            row.pop("out_of_sync", None)
            row["colour"] = "red"
        return Answer(answer.status, json.dumps(document).encode(), answer.clock)

    shown = shown_of(get)

    assert [row.remaining_bytes for row in shown.tables["moves"].rows] == [None, None]
    assert known(shown.cluster).out_of_sync == {}
    assert shown.tables["moves"].rows[0].topic == "orders"
