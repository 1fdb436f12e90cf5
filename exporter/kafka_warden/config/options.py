"""How options are declared: a field of a `Section` in `types.py`, annotated with its `Option`.

The key, the environment variable, the flag, the reader and the default of an option all come from there. The web
configuration file is declared in the same way. Flags of a command that are no options are read as strictly.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from kafka_warden.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of `run`, and of the other commands that are named."""

    name: str
    metavar: str
    help: str
    commands: tuple[str, ...] = ("run",)
    plan_default: Any = None
    """Where the default of `plan` is another one."""


@dataclass(frozen=True, slots=True)
class Option:
    """One key of the configuration file."""

    read: Callable[[object], Any]
    """Raises a ValueError with the expected value."""
    default: Any = None
    """As the user would write it."""
    unset: Any = None
    """The value of an option that has no default and is not set."""
    path: bool = False
    """The value is a path. In the file a relative one starts at the folder of the file."""
    flag: Flag | None = None
    key: str = ""
    """Dotted names of the sections and of the field."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One value, and the place where it was set, for messages."""

    value: Any
    where: str
    folder: Path | None = None
    """Start of a relative path: the folder of the file, or `None` for the working directory."""
    foreign: bool = False
    """A property in a properties file that is for another program. The value, which may be secret, is not kept."""


class Section:
    """A mapping in the configuration file. Its fields are options, sections, and values that `load` adds."""

    __slots__ = ()


S = TypeVar("S", bound=Section)


def options_of(section: type[Section], prefix: str = "") -> Iterator[Option]:
    """Yield the options of a section and of the sections in it, with their keys."""
    for name, hint in get_type_hints(section, include_extras=True).items():
        for option in getattr(hint, "__metadata__", ()):
            yield replace(option, key=f"{prefix}{name}")
        if isinstance(hint, type) and issubclass(hint, Section):
            yield from options_of(hint, f"{prefix}{name}.")


def build(section: type[S], values: Mapping[str, Any], prefix: str = "") -> S:
    """Make a section and the sections in it from values by dotted key."""
    return section(
        **{
            name: values[key] if (key := f"{prefix}{name}") in values else build(hint, values, f"{key}.")
            for name, hint in get_type_hints(section).items()
        }
    )


def read_option(option: Option, entry: Entry | None) -> Any:
    """Read the value of an option where it is set, else its default.

    Raises:
        ConfigError: the value cannot be used; the message begins with its place.
    """
    if entry is None:
        if option.default is None:
            return option.unset
        entry = Entry(option.default, option.key)
    try:
        value = option.read(entry.value)
    except ValueError as failure:
        raise ConfigError(f"{entry.where}: {failure}") from None
    return located(value, entry) if option.path and value is not None else value


def located(value: str, entry: Entry) -> Path:
    """Return a path that starts at the folder of its entry."""
    return (entry.folder or Path()) / value


def read_values(parsed: Mapping[str, Any], readers: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
    """Read the value of each flag, by its name with underscores; `None` where it was not given.

    Raises:
        ConfigError: a value cannot be used; the message names the flag.
    """
    found: dict[str, Any] = {}
    for name, read in readers.items():
        try:
            found[name] = None if parsed[name] is None else read(parsed[name])
        except ValueError as failure:
            raise ConfigError(f"{flag_name(name)}: {failure}") from None
    return found


def flag_name(name: str) -> str:
    """Return the flag of a name with underscores."""
    return "--" + name.replace("_", "-")
