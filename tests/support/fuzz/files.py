"""The targets `config` and `web-config`: files with mistakes in any place."""

import itertools
import random
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kafka_warden.config import load
from kafka_warden.errors import ConfigError
from kafka_warden.web.current import check_web_file
from tests.support.fuzz.wire import mutated

ROOT: Final = Path(__file__).parents[3]
HASH: Final = "$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG"
WEB_FILE: Final = f"""
http_server_config: {{http2: true, headers: {{X-Content-Type-Options: nosniff}}}}
basic_auth_users: {{prometheus: {HASH}, 7: {HASH}}}
rate_limit: {{interval: 100ms, burst: 20}}
tls_server_config:
  cert_file: c.pem
  key_file: k.pem
  client_auth_type: RequireAndVerifyClientCert
  client_allowed_sans: [a, b]
  min_version: TLS12
"""
LAUGHS: Final = ", ".join(
    f"&{name} [{', '.join([f'*{below}' if below else 'x'] * 9)}]"
    for below, name in itertools.pairwise(["", *"abcdefghij"])
)
"""Aliases of aliases: 10^10 words."""
LONGEST: Final = 50_000
"""Bytes of a file that was repeated. PyYAML reads some 200 kB a second."""
VALUES: Final = (
    *("", "~", "{}", "[]", "-1", "1e999", ".inf", ".nan", "9" * 5000, "0x10", "1h", "10s", "1:2:3", "2026-11-22"),
    *("2026-99-99", "!!python/object:os.system x", "*a", "&a [*a]", "[" * 100, "{" * 100, "'\\0'", '"\\ud800"', "\0"),
    *("!!bool maybe", '!!int ""', "!!timestamp foo", "!!float x", "!!binary \xe9", "!!set x", "!!omap x", "!!pairs x"),
    *("[!!bool maybe]", "{a: !!bool maybe}", "{!!bool maybe: a}", "!!null x", "!!merge x", "!!seq x", "!!map x"),
    *("yes", "[.*, (a+)+$]", "<<: {a: 1}", "|\n  x", "\U0001f4a3\u202e", "a" * 70_000, "? x", "- x", "%TAG ! x:"),
)


class ConfigFile:
    """Any content of a configuration file is used, or refused by one line that names the file."""

    def __init__(self, text: str, read: Callable[[Path], object]) -> None:
        self._lines = text.splitlines()
        self._read = read
        self._folder = tempfile.TemporaryDirectory()

    def close(self) -> None:
        self._folder.cleanup()

    def make(self, chance: random.Random) -> bytes:
        lines = list(self._lines)
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(lines))
            key, colon, _ = lines[place].partition(":")
            match chance.randrange(5):
                case 0:
                    lines[place] = f"{key}{colon} {chance.choice(VALUES)}"
                case 1:
                    lines.insert(chance.randrange(len(lines)), lines[place])
                case 2 if len(lines) > 1:
                    del lines[place]
                case 3:
                    lines[place] = " " * chance.randint(0, 6) + lines[place].strip()
                case _ if chance.random() < 0.1:
                    lines[place] = f"{key}: [{LAUGHS}]"
        text = "\n".join(lines).encode()
        return mutated(text, chance)[:LONGEST] if chance.random() < 0.3 else text

    def check(self, data: bytes) -> None:
        file = Path(self._folder.name, "fuzz.yml")
        file.write_bytes(data)
        try:
            self._read(file)
        except ConfigError as failure:
            (line,) = str(failure).splitlines()
            assert line.startswith(f"{file}: "), line


def config_file() -> ConfigFile:
    """Make the target `config`: every option is set at first."""
    reference = (ROOT / "docs" / "reference" / "config.yaml").read_text(encoding="utf-8")
    text = re.sub(r"^( *)# ([ \w.]+:)", r"\1\2", reference, flags=re.MULTILINE)
    return ConfigFile(text, lambda file: load({"--bootstrap-servers": "a:1"}, {}, file))


def web_config_file() -> ConfigFile:
    return ConfigFile(WEB_FILE, check_web_file)
