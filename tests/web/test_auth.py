"""Basic authentication: access, cost and cache."""

import base64
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bcrypt
import pytest

from kafka_warden.web.login import Logins
from tests.web.conftest import PAGE, Serve

PASSWORD = "canary-Tr0ub4dor"


def _hash(password: str = PASSWORD, prefix: bytes = b"2b", cost: int = 4) -> str:
    return bcrypt.hashpw(password.encode()[:72], bcrypt.gensalt(cost)).replace(b"$2b$", b"$" + prefix + b"$").decode()


def header(user: str, password: str = PASSWORD) -> str:
    return "Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _web_file(folder: Path, users: dict[str, str]) -> Path:
    path = folder / "web.yml"
    path.write_text("basic_auth_users:\n" + "".join(f"  {user}: {hashed}\n" for user, hashed in users.items()))
    return path


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    asked: list[bytes] = []
    original = bcrypt.checkpw

    def checkpw(password: bytes, hashed: bytes) -> bool:
        asked.append(hashed)
        return original(password, hashed)

    monkeypatch.setattr(bcrypt, "checkpw", checkpw)
    return asked


def test_every_path_needs_the_right_password(serve: Serve, tmp_path: Path) -> None:
    """Also `/-/healthy` and unknown paths, as in exporter-toolkit."""
    served = serve(_web_file(tmp_path, {"prometheus": _hash()}))

    for path in ("/metrics", "/-/healthy", "/-/ready", "/", "/nowhere"):
        refused = served.get(path)
        assert refused.status == 401
        assert refused.headers["www-authenticate"].startswith('Basic realm="kafka-warden"')
    assert served.get("/metrics", header("prometheus")).body == PAGE.text
    assert served.get("/-/healthy", header("prometheus")).status == 200


@pytest.mark.parametrize(
    "header",
    [
        header("prometheus", "wrong"),
        header("prometheus", ""),
        header("unknown"),
        header("", ""),
        header("prometheus", PASSWORD + "x" * 200),
        header("prometheus", "\0"),
        "Authorization: Basic",
        "Authorization: Basic !!!!",
        "Authorization: Basic cHJvbWV0aGV1cw==",
        "Authorization: Basic /w==",
        "Authorization: Bearer " + base64.b64encode(f"prometheus:{PASSWORD}".encode()).decode(),
        "Authorization: Digest username=prometheus",
    ],
)
def test_any_other_authorization_is_refused(serve: Serve, tmp_path: Path, header: str) -> None:
    answer = serve(_web_file(tmp_path, {"prometheus": _hash(), "other": _hash("other")})).get("/metrics", header)

    assert answer.status == 401
    assert answer.body == b"a user name and a password are required\n"


@pytest.mark.parametrize("prefix", [b"2a", b"2b", b"2y"])
def test_hashes_of_every_common_tool_work(serve: Serve, tmp_path: Path, prefix: bytes) -> None:
    """htpasswd writes $2y$, others $2a$ or $2b$."""  # noqa: D403  # the command is written so
    served = serve(_web_file(tmp_path, {"u": _hash(prefix=prefix)}))

    assert (served.get("/", header("u")).status, served.get("/", header("u", "x")).status) == (200, 401)


def test_long_passwords_count_to_bcrypts_72_bytes(serve: Serve, tmp_path: Path) -> None:
    """As in Go: the rest is ignored."""
    served = serve(_web_file(tmp_path, {"u": _hash("p" * 80)}))

    assert served.get("/", header("u", "p" * 80)).status == 200
    assert served.get("/", header("u", "p" * 71)).status == 401


@pytest.mark.parametrize("costs", [(4,), (4, 5), (4, 7, 5)])
def test_the_time_of_a_check_does_not_reveal_which_users_exist(
    serve: Serve, tmp_path: Path, checks: list[bytes], costs: tuple[int, ...]
) -> None:
    """A right or wrong password, an unknown user and one with a cheaper hash need the same number of rounds."""
    served = serve(_web_file(tmp_path, {f"u{cost}": _hash(cost=cost) for cost in costs}))

    rounds, answers = [], []
    for sent in ("unknown:x", *(f"u{cost}:{password}" for cost in costs for password in ("wrong", PASSWORD))):
        checks.clear()
        answers.append(served.get("/", header(*sent.split(":"))).status)
        rounds.append(sum(2 ** int(hashed[4:6]) for hashed in checks))

    assert answers == [401, *[401, 200] * len(costs)]
    assert rounds == [2 ** max(costs)] * len(rounds)


def test_verified_credentials_are_cached_and_refused_ones_are_not(
    serve: Serve, tmp_path: Path, checks: list[bytes]
) -> None:
    served = serve(_web_file(tmp_path, {"u": _hash()}))

    assert [served.get("/", header("u")).status for _ in range(3)] == [200, 200, 200]
    assert len(checks) == 1
    assert [served.get("/", header("u", "wrong")).status for _ in range(3)] == [401, 401, 401]
    assert len(checks) == 4


def test_the_cache_key_is_user_hash_and_password(serve: Serve, tmp_path: Path) -> None:
    """A cached password is refused for another user, and after its hash changed (CVE-2022-46146)."""
    path = _web_file(tmp_path, {"ab": _hash("c"), "a": _hash("other")})
    served = serve(path)
    assert served.get("/", header("ab", "c")).status == 200

    assert served.get("/", header("a", "bc")).status == 401
    assert served.get("/", header("a", "c")).status == 401

    _web_file(tmp_path, {"ab": _hash("changed"), "a": _hash("other")})
    served.refresh()
    assert served.get("/", header("ab", "c")).status == 401
    assert served.get("/", header("ab", "changed")).status == 200


def test_the_cache_key_has_the_lengths_of_its_parts() -> None:
    logins: Any = Logins()

    assert logins._digest("a", "bc", "d") != logins._digest("ab", "c", "d")
    assert logins._digest("a", "bc", "d") == logins._digest("a", "bc", "d")


def test_a_rate_limit_answers_429(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("kafka_warden.web.site.time", SimpleNamespace(monotonic=lambda: now))
    path = tmp_path / "web.yml"
    path.write_text("rate_limit: {interval: 1h, burst: 3}")
    served = serve(path)

    assert [served.get().status for _ in range(5)] == [200, 200, 200, 429, 429]
    now += 2 * 3600
    assert [served.get().status for _ in range(3)] == [200, 200, 429]
