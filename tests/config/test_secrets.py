"""Secrets: they do not print, and their files are checked."""

import base64
import copy
import json
import os
import pickle
import traceback
from pathlib import Path

import pytest

from kafka_warden.errors import SecretError
from kafka_warden.settings.secrets import REDACTED, FileWatch, Secret, SecretFile, scrub

CANARY = "canary-Tr0ub4dor"


def _file(folder: Path, content: bytes = b"canary-Tr0ub4dor\n", mode: int = 0o600) -> Path:
    path = folder / "password"
    path.write_bytes(content)
    path.chmod(mode)
    return path


def test_a_secret_prints_redacted_everywhere() -> None:
    secret = Secret(CANARY)

    shown = [str(secret), repr(secret), f"{secret}", f"{secret!r:>30}", repr([secret]), repr({"a": secret})]

    assert not [text for text in shown if CANARY in text]
    assert secret.reveal() == CANARY


def test_a_secret_is_not_in_a_traceback() -> None:
    secret = Secret(CANARY)
    try:
        json.dumps(secret)
    except TypeError as failure:
        printed = "".join(traceback.TracebackException.from_exception(failure, capture_locals=True).format())

    assert CANARY not in printed.replace(f"CANARY = {CANARY!r}", "")
    assert "<redacted>" in printed


def test_a_secret_cannot_be_pickled_and_is_not_copied() -> None:
    secret = Secret(CANARY)

    with pytest.raises(TypeError):
        pickle.dumps(secret)
    assert copy.deepcopy([secret])[0] is secret
    assert copy.copy(secret) is secret


def test_equality_is_of_values_and_there_is_no_hash() -> None:
    assert Secret(CANARY) == Secret(CANARY)
    assert Secret(CANARY) != Secret("other")
    assert Secret(CANARY) != CANARY
    with pytest.raises(TypeError):
        hash(Secret(CANARY))


def test_scrub_replaces_every_secret_that_is_in_memory() -> None:
    secrets = [Secret(CANARY), Secret(f"{CANARY}-longer"), Secret("abc")]

    cleaned = scrub(f"x {CANARY}-longer y {CANARY} z abc")

    assert cleaned == "x <redacted> y <redacted> z <redacted>"
    assert len(secrets) == 3


@pytest.mark.parametrize(
    ("secret", "text", "cleaned"),
    [
        ("abc", "abc, xabc, abcx, 'abc' abc", "<redacted>, xabc, abcx, '<redacted>' <redacted>"),
        ("a", "a cat at user:a@host", "<redacted> cat at user:<redacted>@host"),
        ("$$", "pay $$ or $$, a$$", "pay <redacted> or <redacted>, a$$"),
        ('x"y', json.dumps({"password": 'x"y'}), '{"password": "<redacted>"}'),
        ("test", "tests of dGVzdA== and dGVzdA", "tests of <redacted>A== and <redacted>A"),
        ("1234", "in 12345 s: 1234", "in 12345 s: <redacted>"),
    ],
)
def test_a_short_secret_is_replaced_where_it_is_a_word(secret: str, text: str, cleaned: str) -> None:
    known = Secret(secret)
    assert scrub(text) == cleaned
    assert known.reveal() == secret


@pytest.mark.parametrize(
    "canary", ["back\\slash", "tab\tcanary", 'it\'s "quoted"', "can'ary", 'can"ary', "cänary\n1", CANARY]
)
def test_scrub_replaces_a_secret_however_it_is_written(canary: str) -> None:
    secret = Secret(canary)
    written = [f"{canary} x", repr(f"{canary} x"), repr(f"\"'{canary}"), ascii(f"x{canary}"), repr(canary.encode())]
    written += [repr(ValueError(f"bad {canary}")), json.dumps({"a": canary}), json.dumps(canary, ensure_ascii=False)]
    for before in ("", "u:", "\0u\0", "user:"):
        encoded = base64.b64encode(f"{before}{canary}, and more".encode())
        inner = base64.b64encode(canary.encode()).decode()[4:-4]
        assert REDACTED in scrub(encoded.decode())
        assert inner not in scrub(encoded.decode())
    for text in written:
        shown = scrub(text)
        assert REDACTED in shown, text
        assert not any(part in shown for part in ("slash", "tab", "quoted", "can", "nary")), text
    assert secret.reveal() == canary


def test_the_forms_of_a_secret_are_made_once_and_live_as_long_as_it(monkeypatch: pytest.MonkeyPatch) -> None:
    value = "only-in-this-test"
    secret = Secret(value)
    encoded = base64.b64encode(value.encode()).decode()
    monkeypatch.setattr(base64, "b64encode", None)

    assert scrub(encoded).startswith(REDACTED)
    del secret
    assert scrub(f"{value} {encoded}") == f"{value} {encoded}"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"pw", "pw"),
        (b"pw\n", "pw"),
        (b"pw\r\n", "pw"),
        (b"pw\n\n", "pw\n"),
        (b" pw ", " pw "),
        ("pä\n".encode(), "pä"),
    ],
)
def test_one_newline_at_the_end_does_not_belong_to_the_secret(tmp_path: Path, content: bytes, expected: str) -> None:
    assert SecretFile(_file(tmp_path, content)).read().reveal() == expected


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe", b"x" * 70_000])
def test_what_is_no_secret_is_refused(tmp_path: Path, content: bytes) -> None:
    path = _file(tmp_path, content)

    with pytest.raises(SecretError, match=str(path)) as caught:
        SecretFile(path).read()
    assert "xxx" not in str(caught.value)


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o660, 0o666, 0o620])
def test_a_file_that_others_may_read_is_refused_with_the_command_to_run(tmp_path: Path, mode: int) -> None:
    path = _file(tmp_path, mode=mode)
    if os.getuid() == 0:
        # root's own group is one that a secret may be handed out to
        os.chown(path, 12345, 12345)

    with pytest.raises(SecretError) as caught:
        SecretFile(path).read()

    assert f"chmod 600 {path}" in str(caught.value)
    assert CANARY not in str(caught.value)


def test_a_kubernetes_secret_volume_is_taken_with_its_default_mode(tmp_path: Path) -> None:
    """A volume with a `..data` link has mode 0644 by default, and only the pod has access."""
    version = tmp_path / "..2026_11_21_08_15_01.1"
    version.mkdir()
    _file(version, mode=0o644)
    (tmp_path / "..data").symlink_to(version.name)
    (tmp_path / "password").symlink_to("..data/password")

    assert SecretFile(tmp_path / "password").read() == Secret(CANARY)


def test_a_missing_file_and_a_folder_are_one_line_errors(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo", 0o600)
    for path in (tmp_path / "missing", tmp_path, tmp_path / "fifo"):
        with pytest.raises(SecretError, match=str(path)):
            SecretFile(path).read()


def test_a_rotation_is_noticed_once(tmp_path: Path) -> None:
    path = _file(tmp_path)
    watch = FileWatch((path,))
    assert not watch.changed()

    path.write_bytes(b"canary-second\n")
    assert (watch.changed(), watch.changed()) == (True, False)

    other = tmp_path / "new"
    other.write_bytes(b"canary-third!\n")
    path.unlink()
    assert not watch.changed()
    other.rename(path)
    assert (watch.changed(), watch.changed()) == (True, False)


def test_a_watch_covers_all_of_its_files(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("1")
    watch = FileWatch((first, second))
    assert not watch.changed()

    second.write_text("2")

    assert watch.changed()
    assert not watch.changed()
