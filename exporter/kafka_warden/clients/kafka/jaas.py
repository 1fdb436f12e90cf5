"""Java's `sasl.jaas.config`: a login module and its options, some of them secret."""

import re
from dataclasses import dataclass
from typing import Final

from kafka_warden.errors import SecretError
from kafka_warden.settings.secrets import Secret

NAME: Final = "kafka.sasl.jaas.config"
_JAAS: Final = re.compile(r"\s*([\w.$]+)\s+\w+(?:\s+(.*?))?\s*;\s*", re.DOTALL)
_OPTION: Final = re.compile(r"""([\w.]+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^\s;"']+))""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Jaas:
    """A login module, without its package, and its options."""

    module: str
    options: dict[str, Secret]

    def text(self, option: str) -> str:
        """Return an option that is no secret; empty where it is not set."""
        return self.options[option].reveal() if option in self.options else ""


def parse_jaas(config: Secret) -> Jaas:
    """Read `org.apache...ScramLoginModule required username="u" password="p";`.

    Raises:
        SecretError: it is something else. The message quotes none of it.
    """
    found = _JAAS.fullmatch(config.reveal())
    if found is None:
        raise SecretError(f'{NAME}: expected <login module> required username="..." password="...";')
    module, options = found.groups()
    values = {
        name: Secret(_unescape(double or single or bare))
        for name, double, single, bare in _OPTION.findall(options or "")
    }
    return Jaas(module.rpartition(".")[2], values)


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
