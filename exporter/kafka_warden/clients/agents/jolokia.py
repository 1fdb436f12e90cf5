"""Jolokia's protocol: many requests in one POST, first for the beans with known names, then for those of clients.

Each attribute is a request of its own: where one is not a number, as times are before anything was throttled, Jolokia
2.4 fails to write the answer, and with it all that is in the same request.
"""

import json
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, TypeVar

from kafka_warden.clients.agents.prometheus import LONGEST_NAME
from kafka_warden.clients.jmx.protocol import MAX_ROWS, BeanQueries, BeanRow, RawBeans, Scalar
from kafka_warden.errors import AuthorizationError, ProtocolError, TooLargeError

Asked = TypeVar("Asked")
Used = TypeVar("Used")
Post = Callable[[bytes], bytes]
Answers = Sequence[Mapping[str, Any]]

MOST_VALUES: Final = 150_000
"""Values in an answer, each of which may need some hundred bytes. With 20,000 clients there are some 60,000."""
MOST_NAMES: Final = 1 << 20
"""Bytes of the names of clients that are asked for, of each pattern."""
_OK, _FORBIDDEN = 200, 403
_ABSENT: Final = (400, 404)
"""No such attribute, or a value that cannot be written, and no such bean."""
_parsing: Final = threading.Lock()
"""An answer needs many times its size while it is parsed, and several agents are read at once."""


def read_beans(post: Post, question: BeanQueries) -> RawBeans:
    """Ask for all beans of a question, with `post`; the answer has no time.

    Raises:
        AuthorizationError: Jolokia's policy does not allow to read any of the beans.
        ProtocolError: an answer is none of Jolokia's.
        TooLargeError: an answer would need too much memory.
    """
    named = [(bean.name, attribute) for bean in question.beans for attribute in bean.attributes]
    searches = [{"type": "search", "mbean": pattern.name} for pattern in question.patterns]

    def known(answers: Answers) -> tuple[Sequence[tuple[tuple[str, str], Scalar]], Sequence[tuple[list[str], int]]]:
        if answers and all(answer["status"] == _FORBIDDEN for answer in answers):
            raise AuthorizationError("Jolokia's policy (jolokia-access.xml) does not allow to read any of the beans")
        return _numbers(named, answers[: len(named)]), [_names(answer.get("value")) for answer in answers[len(named) :]]

    values, matched = _ask(post, [*map(_read, named), *searches], known)
    asked = [
        (pattern.name, name, attribute)
        for pattern, (names, _) in zip(question.patterns, matched, strict=True)
        for name in names
        for attribute in pattern.attributes
    ]
    found: dict[str, dict[str, dict[str, Scalar]]] = {pattern.name: {} for pattern in question.patterns}
    reads = [_read((name, attribute)) for _, name, attribute in asked]
    for (pattern_name, name, attribute), number in (
        _ask(post, reads, lambda answers: _numbers(asked, answers)) if asked else ()
    ):
        found[pattern_name].setdefault(name, {})[attribute] = number
    return RawBeans(
        math.nan,
        dict(values),
        {pattern: tuple(BeanRow(name, values) for name, values in beans.items()) for pattern, beans in found.items()},
        sum(left_out for _, left_out in matched),
    )


def _read(named: tuple[str, str]) -> dict[str, str]:
    return {"type": "read", "mbean": named[0], "attribute": named[1]}


def _ask(post: Post, requests: Sequence[Mapping[str, str]], use: Callable[[Answers], Used]) -> Used:
    """Return what `use` makes of the answers, one for each request."""
    body = post(json.dumps(requests).encode())
    with _parsing:
        return use(_answers(body, len(requests)))


def _answers(body: bytes, count: int) -> Answers:
    if sum(map(body.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise TooLargeError(f"Jolokia answers with more than {MOST_VALUES} values")
    try:
        # As decimals, integers of any length are read fast, and one that is too large is infinite.
        answers = json.loads(body, parse_int=float)
    except (ValueError, RecursionError):
        answers = None
    known = isinstance(answers, list) and len(answers) == count
    if not known or not all(isinstance(answer, dict) and isinstance(answer.get("status"), float) for answer in answers):
        raise ProtocolError("the answer is none of Jolokia's; correct jmx.path")
    failed = [answer for answer in answers if answer["status"] not in (_OK, _FORBIDDEN, *_ABSENT)]
    if failed and len(failed) == len(answers):
        raise ProtocolError(
            f"Jolokia failed with status {failed[0]['status']:.0f}: {str(failed[0].get('error'))[:300]}"
        )
    return list(answers)


def _names(value: object) -> tuple[list[str], int]:
    """Return the names to ask for, and how many are left out."""
    matched = value if isinstance(value, list) else []
    names = sorted(name for name in matched if isinstance(name, str) and len(name) <= LONGEST_NAME)[:MAX_ROWS]
    sizes = accumulate(len(json.dumps(name)) for name in names)
    kept = [name for name, size in zip(names, sizes, strict=True) if size <= MOST_NAMES]
    return kept, len(matched) - len(kept)


def _numbers(asked: Sequence[Asked], answers: Sequence[Mapping[str, Any]]) -> Sequence[tuple[Asked, Scalar]]:
    """Return what was asked for and is a number, neither NaN nor infinite."""
    pairs = ((what, answer.get("value")) for what, answer in zip(asked, answers, strict=True))
    return [(what, value) for what, value in pairs if isinstance(value, float) and math.isfinite(value)]
