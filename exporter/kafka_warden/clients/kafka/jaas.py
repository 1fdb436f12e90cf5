"""Java's `sasl.jaas.config`: a login module and its options, some of them secret.

It is read as Kafka's `JaasConfig` reads it, with the rules of Java's `StreamTokenizer`. What Java would pass over is
an error here: a second login module, an option that appears twice, and a value that a line end cuts off.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, NamedTuple

from kafka_warden.errors import SecretError
from kafka_warden.settings.secrets import Secret, SecretSource
from kafka_warden.settings.strict import did_you_mean, refuse_placeholder

NAME: Final = "kafka.sasl.jaas.config"
PASSWORD_FILE: Final = "sasl.password.file"  # noqa: S105  # the name of a property
"""What takes a password that no text of this property can have."""
_FORM: Final = 'expected <login module> required username="..." password="...";'
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")
_TOKEN: Final = re.compile(
    r"""(?P<blank> [\x00-\x20]+ | //[^\r\n]* | /\*.*?\*/ )
      | (?P<quoted> "(?:\\.|[^"\\\r\n])*" | '(?:\\.|[^'\\\r\n])*' )
      | (?P<word> [A-Za-z_$\xa0-\U0010ffff][A-Za-z0-9_$.\xa0-\U0010ffff-]* )
      | (?P<other> . )""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_CONTROL: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SHOWN: Final = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Jaas:
    """A login module, without its package, and its options."""

    module: str
    options: dict[str, Secret]

    def text(self, option: str) -> str:
        """Return an option that is no secret; empty where it is not set."""
        return self.options[option].reveal() if option in self.options else ""

    def unknown(self, known: Collection[str]) -> tuple[str, ...]:
        """Return the options that Java's login module ignores.

        Raises:
            SecretError: one is a misspelt known one.
        """
        others = tuple(name for name in self.options if name not in known)
        for name in others:
            if hint := did_you_mean(name, known):
                raise SecretError(f"{NAME}: {self.module} has no option {name}{hint}")
        return others

    def only(self, known: Collection[str]) -> None:
        """Refuse other options: these could change the login.

        Raises:
            SecretError: there is one.
        """
        for name in self.unknown(known):
            raise SecretError(f"{NAME}: the option {name} is not supported; known are {', '.join(known)}")


def read_jaas(source: SecretSource | None, mechanism: str, *modules: str) -> Jaas:
    """Read the property as it is now; empty without it.

    Raises:
        SecretError: it cannot be used, or its login module is for another mechanism.
    """
    if source is None:
        return Jaas("", {})
    jaas = parse_jaas(source.read())
    if jaas.module not in modules:
        shown = f" {jaas.module}" if jaas.module.endswith("LoginModule") else ""
        raise SecretError(f"{NAME}: the login module{shown} does not do {mechanism}; expected {' or '.join(modules)}")
    return jaas


class _Token(NamedTuple):
    kind: str
    text: str
    at: int

    @property
    def value(self) -> str | None:
        """What Java takes as text: a word or a quoted text."""
        if self.kind == "quoted":
            return _ESCAPE.sub(lambda found: _unescaped(found[1]), self.text[1:-1])
        return self.text if self.kind == "word" else None


_END: Final = _Token("", "", 0)


def parse_jaas(config: Secret) -> Jaas:
    """Read `org.apache...ScramLoginModule required username="u" password="p";`.

    Raises:
        SecretError: it is something else. The message has the names of options and none of their values.
    """
    text = config.reveal()
    try:
        refuse_placeholder(text, PASSWORD_FILE)
    except ValueError as failure:
        raise SecretError(f"{NAME}: {failure}") from None
    tokens = [_Token(found.lastgroup or "", found[0], found.start()) for found in _TOKEN.finditer(text)]
    module, rest = _module([token for token in tokens if token.kind != "blank"])
    options: dict[str, Secret] = {}
    last = "the flag"
    while rest and rest[0].text != ";":
        name = _option(rest, text, last)
        last = _shown(rest[0])
        if name in options:
            raise SecretError(f"{NAME}: {last} appears twice")
        options[name] = Secret(rest[2].value or "")
        rest = rest[3:]
    if not rest:
        raise SecretError(f"{NAME}: it does not end with ;: end each line but the last with \\ and nothing behind it")
    if rest[1:]:
        raise SecretError(f"{NAME}: {_place(rest[1])}: text behind the first ;. Kafka's clients have one login module")
    return Jaas(module.rpartition(".")[2], options)


def _module(tokens: list[_Token]) -> tuple[str, list[_Token]]:
    """Return the login module, and the tokens behind the flag."""
    module, flag = [*tokens, _END, _END][:2]
    if flag.text == "{":
        raise SecretError(f"{NAME}: write only what is between {{ and }} of KafkaClient; {_FORM}")
    if module.kind == "quoted" and not _SHOWN.fullmatch(module.text[1:-1]):
        raise SecretError(f"{NAME}: remove the quotes around the whole; {_FORM}")
    if not module.value or (flag.value or "").lower() not in _FLAGS:
        raise SecretError(f"{NAME}: {_FORM}")
    return module.value, tokens[2:]


def _option(rest: list[_Token], text: str, last: str) -> str:
    """Return the name of the option that the tokens begin with; it is apart from what is before it."""
    name = rest[0].value
    apart = not text[rest[0].at - 1 : rest[0].at].strip() or text[: rest[0].at].endswith("*/")
    if name is None or not apart or [token.text for token in rest[1:2]] != ["="]:
        raise SecretError(
            f'{NAME}: {_place(rest[0])}, behind {last}: this is no option. Put values in double quotes, write \\" for'
            ' a quote in one (\\\\" in a properties file), and separate options by blanks only'
        )
    if [token.value for token in rest[2:3]] in ([], [None]):
        raise SecretError(f"{NAME}: {_shown(rest[0])}: put the value in double quotes, on one line")
    return name


def _place(token: _Token) -> str:
    return f"character {token.at + 1}"


def _shown(name: _Token) -> str:
    """Return the name of an option. A quoted one may be a part of a value."""
    return f"the option {name.text}" if name.kind == "word" and _SHOWN.fullmatch(name.text) else "an option"


def _unescaped(code: str) -> str:
    return chr(int(code, 8)) if code[0] in "01234567" else _CONTROL.get(code, code)
