"""Saves a run of `bench.nights` after each call, to continue it after a stop.

Objects keep their modification times: Delta deletes by them.
"""

import io
import json
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.support.s3 import BUCKET, backend

FILE: Final = "saved.tar"
_MADE_OF: Final = "run.json"


@dataclass(frozen=True, slots=True)
class Saved:
    """The state of a run."""

    clusters: int
    done: Sequence[Sequence[int]]
    """First and last day of the calls that have ended."""
    nights: Sequence[dict[str, Any]]
    """What is compared, so far."""


def by_field(instance: Any) -> dict[str, Any]:
    """Return the values of a dataclass by their names. `asdict` breaks counters."""
    return {field.name: getattr(instance, field.name) for field in fields(instance)}


def save(folder: Path, state: Saved) -> None:
    """Replace what is saved by the state of a run, and the objects of its bucket."""
    part = folder / f"{FILE}.part"
    with tarfile.open(part, "w", format=tarfile.PAX_FORMAT) as tar:
        _add(tar, _MADE_OF, json.dumps(by_field(state)).encode(), 0.0)
        for name, key in backend().get_bucket(BUCKET).keys.items():
            _add(tar, name, key.value, key.last_modified.replace(tzinfo=UTC).timestamp())
    part.replace(folder / FILE)


def restore(folder: Path) -> Saved | None:
    """Put the saved objects into the bucket, and return the state of the run; None if none was saved."""
    if not (folder / FILE).exists():
        return None
    state = None
    with tarfile.open(folder / FILE) as tar:
        for member in tar:
            content = tar.extractfile(member)
            assert content is not None, member.name
            if member.name == _MADE_OF:
                state = Saved(**json.load(content))
                continue
            made = backend().put_object(BUCKET, member.name, content.read())
            made.last_modified = datetime.fromtimestamp(member.mtime, UTC).replace(tzinfo=None)
    return state


def _add(tar: tarfile.TarFile, name: str, content: bytes, time: float) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mtime = len(content), time
    tar.addfile(member, io.BytesIO(content))
