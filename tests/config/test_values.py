"""Single values: durations, addresses, numbers, lists, and JSON. Any input gives a value or one line."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_warden.config import OPTIONS, values
from kafka_warden.settings.strict import Address, boolean, parse_address, parse_duration, parse_json

_UNITS = ("d", "h", "m", "s", "ms")
_SECONDS = (86400, 3600, 60, 1, 0.001)
_DIGITS = "9" * 310
_TWO = (("::1", 9093), ("::2", 9093))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10s", 10), ("500ms", 0.5), ("4h", 14400), ("1h30m", 5400), ("1.5s", 1.5), ("2d", 172800), (" 60s ", 60)],
)
def test_durations(text: str, seconds: float) -> None:
    assert values.duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "value", ["10", 10, "s", "", "0s", "-1s", "10 s", "30m1h", "1e3s", "10S", "\u0661s", None, True, [], {}]
)
def test_a_bad_duration_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="such as 500ms, 10s or 1h30m"):
        values.duration(value)


@given(st.lists(st.integers(0, 10**8), min_size=5, max_size=5))
def test_durations_add_up(numbers: list[int]) -> None:
    text = "".join(f"{number}{unit}" for number, unit in zip(numbers, _UNITS, strict=True))

    expected = sum(number * unit for number, unit in zip(numbers, _SECONDS, strict=True))

    assert parse_duration(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (125e6, 125e6),
        ("125000000", 125e6),
        ("125MB/s", 125e6),
        ("1.5 GB/s", 1.5e9),
        ("10KiB/s", 10240),
        ("1Gbit/s", 125e6),
        (" 10MB/s ", 10e6),
    ],
)
def test_rates(text: object, expected: float) -> None:
    assert values.rate(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    "value", ["10MB", "MB/s", "-1MB/s", "0MB/s", "1mb/s", "1MB/h", "", None, True, [], "inf", "nan"]
)
def test_bad_rates_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="above 0"):
        values.rate(value)


@pytest.mark.parametrize(("text", "expected"), [("30%", 0.3), ("100%", 1.0), ("0.3", 0.3), (1, 1.0), ("0.5%", 0.005)])
def test_shares(text: object, expected: float) -> None:
    assert values.share(text) == pytest.approx(expected)


@pytest.mark.parametrize("value", ["0%", "101%", "30", "1.1", "-1%", "%", "", None, True, [], "nan%", "inf"])
def test_bad_shares_are_refused(value: object) -> None:
    """30 without % is ambiguous."""
    with pytest.raises(ValueError, match="expected a share above 0% and up to 100%"):
        values.share(value)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("a:1", "a", 1),
        ("127.0.0.1:10073", "127.0.0.1", 10073),
        ("[::1]:9092", "::1", 9092),
        ("[0:0::1]:65535", "::1", 65535),
        (" broker-1.example.com:9092 ", "broker-1.example.com", 9092),
    ],
)
def test_addresses(text: str, host: str, port: int) -> None:
    assert parse_address(text) == Address(host, port)
    assert parse_address(str(Address(host, port))) == (host, port)


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "a:",
        ":1",
        "a:0",
        "a:65536",
        "a:-1",
        "a:x",
        "::1:1",
        "[::1]",
        "[x]:1",
        "a b:1",
        "http://a:1",
        "a:1 2",
        "a:0000099999",
        "a..b:1",
        f"{'x' * 64}:1",
        ".:1",
    ],
)
def test_a_bad_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected host:port or \[IPv6 address\]:port"):
        parse_address(text)


def test_only_listening_takes_an_empty_host_and_port_0() -> None:
    """To listen on, `:10073` is every interface and port 0 is any free port."""
    assert values.listen_address(":10073") == ("", 10073)
    assert values.listen_address("127.0.0.1:0") == ("127.0.0.1", 0)
    assert values.listen_address("[::]:1") == ("::", 1)


def test_text_before_an_at_sign_is_not_shown() -> None:
    """It may be a password."""
    with pytest.raises(ValueError, match="expected") as caught:
        parse_address("user:canary@broker:9092")

    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (values.whole_number, "20000", 20000),
        (values.port, 9999, 9999),
        (values.positive_number, "1.25e8", 1.25e8),
        (boolean, "True", True),
        (values.address, "broker.example.:1", ("broker.example.", 1)),
        (values.host_names, "Warden.Example., b", {"warden.example", "b"}),
        (values.addresses, "a:1, b:2", (("a", 1), ("b", 2))),
        (values.addresses, '["a:1"]', (("a", 1),)),
        (values.addresses, "", ()),
        (values.numbered_addresses, "1=a:1,2=b:2", {1: ("a", 1), 2: ("b", 2)}),
        (values.numbered_addresses, '{1: "a:1"}', {1: ("a", 1)}),
        (values.numbered_addresses, {"7": "a:1"}, {7: ("a", 1)}),
        (values.named_addresses, ["a:1"], {"a:1": ("a", 1)}),
        (values.named_addresses, {101: "a:1"}, {"101": ("a", 1)}),
        (values.patterns, "a.*,b", (re.compile("a.*"), re.compile("b"))),
        (values.property_value, ["a:1", "b:2"], "a:1,b:2"),
        (values.addresses, "[::1]:9093,[::2]:9093", _TWO),
        (values.addresses, "[::1]:9093", _TWO[:1]),
        (values.addresses, '["[::1]:9093", "[::2]:9093"]', _TWO),
        (values.addresses, "[a:1, b:2]", (("a", 1), ("b", 2))),
        (values.named_addresses, "[::1]:9093,[::2]:9093", {"[::1]:9093": _TWO[0], "[::2]:9093": _TWO[1]}),
        (values.named_addresses, "1=[::1]:9093,2=[::2]:9093", {"1": _TWO[0], "2": _TWO[1]}),
        (values.named_addresses, '{1: "[::1]:9093"}', {"1": _TWO[0]}),
        (values.numbered_addresses, "1=[::1]:9093,2=[::2]:9093", {1: _TWO[0], 2: _TWO[1]}),
    ],
)
def test_values_as_yaml_and_as_text(read: Callable[[object], object], text: object, value: object) -> None:
    """A value from YAML and the same value as text give the same result; the brackets of IPv6 do not begin a list."""
    assert read(text) == value


_LISTS: tuple[tuple[str, list[str]], ...] = (
    ("", []),
    ("a.*,b", ["a.*", "b"]),
    (" a.* , ,b, ", ["a.*", "b"]),
    ("x{2,3},y{,4}", ["x{2,3}", "y{,4}"]),
    ("[a-z]+,[0-9].*", ["[a-z]+", "[0-9].*"]),
    ("[a,b]x", ["[a,b]x"]),
    ("[a-z]{1,8},orders", ["[a-z]{1,8}", "orders"]),
    ("a|b,(c|d)", ["a|b", "(c|d)"]),
    (r"\[a,b\]", [r"\[a", r"b\]"]),
    (r"a\.b,\d{1,2}", [r"a\.b", r"\d{1,2}"]),
    ('["a.*","x{2,3}"]', ["a.*", "x{2,3}"]),
    ("['[a-z]+', b]", ["[a-z]+", "b"]),
    ("[a.*, b]", ["a.*", "b"]),
    (" [] ", []),
    ('["[abc]"]', ["[abc]"]),
)


@pytest.mark.parametrize(("text", "items"), _LISTS)
def test_patterns_as_text(text: str, items: list[str]) -> None:
    assert values.patterns(text) == tuple(re.compile(item) for item in items)


@pytest.mark.parametrize(
    ("read", "value", "message"),
    [
        (values.whole_number, 0, "expected a whole number above 0, got 0"),
        (values.whole_number, 10**400, "expected a number of at most 18 digits, got 1000"),
        (values.whole_number, 1.5, "expected a whole number above 0, got 1.5"),
        (values.whole_number, True, "got True"),
        (values.port, 70000, "expected a port from 1 to 65535, got 70000"),
        (values.port, "jmx", "expected a port"),
        (values.positive_number, float("nan"), "expected a number above 0"),
        (values.positive_number, float("inf"), "expected a number above 0"),
        (values.positive_number, "1_000", "expected a number above 0, got '1_000'"),
        (values.rate, "1_000", "expected bytes per second above 0"),
        (values.positive_number, 10**400, "expected a number above 0"),
        (values.text, None, "expected text, got nothing"),
        (values.text, {}, "expected text, got keys and values"),
        (values.addresses, {"a": 1}, "expected a list, got keys and values"),
        (values.numbered_addresses, ["a:1"], "expected ids with addresses"),
        (values.numbered_addresses, {"x": "a:1"}, "expected a node id"),
        (values.patterns, ["("], "'(' is not a regular expression"),
        (values.patterns, "x,[a-z", "'[a-z' is not a regular expression"),
        (values.patterns, '["a.*", "b.*"', "is not a regular expression"),
        (values.patterns, "{a: 1}", "expected a list, got keys and values"),
        (values.addresses, '["a:1", "b:2"', "expected host:port or [IPv6 address]:port"),
        (values.addresses, "[" * 5000, "expected host:port"),
        (values.numbered_addresses, "{1: a:1", "cannot be read as YAML"),
        (values.numbered_addresses, "{1: !!bool maybe}", "cannot be read as YAML"),
        (values.addresses, "[!!timestamp foo]", "expected host:port"),
        (values.choice("json", "logfmt"), "jsno", "expected one of json, logfmt, got 'jsno'; did you mean json?"),
    ],
)
def test_bad_values_say_what_is_expected(read: Callable[[object], object], value: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        read(value)

    assert len(str(caught.value).splitlines()) == 1


_YAML_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(OPTIONS), _YAML_VALUES)
@example(OPTIONS[1], "{a: {b: c}}")
def test_any_value_is_read_or_refused(option: Any, value: Any) -> None:
    try:
        assert option.read(value) is not None
    except ValueError as failure:
        (line,) = str(failure).splitlines()
        assert line


@pytest.mark.parametrize(
    "number", [_DIGITS, str(2**63), f"-{_DIGITS}", f"{_DIGITS}.5", "1e400", "1e19", "9" * 5000, "NaN", "-Infinity"]
)
def test_numbers_beyond_64_bits_are_refused(number: str) -> None:
    with pytest.raises(ValueError, match="expected numbers of at most 64 bits, got ") as caught:
        parse_json(f'{{"a": [{number}]}}')
    assert len(str(caught.value)) < 70


def test_the_largest_number_of_kafka_is_read() -> None:
    assert parse_json("[9223372036854775807, 9.223372036854775807e18, 5e-324]") == [2**63 - 1, 2.0**63, 5e-324]


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a": 1, "a": 2}'])
def test_bad_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the parser's own words
        parse_json(text)


@given(st.integers(1 - 2**63, 2**63 - 1) | st.floats(-(2.0**63), 2.0**63))
def test_other_numbers_are_exact(number: float) -> None:
    assert repr(parse_json(repr(number))) == repr(number)
