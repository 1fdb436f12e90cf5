"""Format and encoding of a response, from the headers of the request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.web.responses import wants_gzip, wants_openmetrics

PROMETHEUS_2 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)
PROTOBUF = (
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


@pytest.mark.parametrize(
    ("accept", "openmetrics"),
    [
        ("", False),
        ("*/*", False),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", False),
        (PROMETHEUS_2, True),
        (PROMETHEUS_3, True),
        (PROTOBUF, False),
        ("application/openmetrics-text", True),
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", True),
        ('Application/OpenMetrics-Text; VERSION="1.0.0"', True),
        ("application/openmetrics-text;version=0.0.1", False),
        ("application/openmetrics-text;version=2.0.0,text/plain;q=0.1", False),
        ("application/*", True),
        ("application/*;q=0.5,text/*;q=0.6", False),
        ("application/openmetrics-text,text/plain", False),
        ("application/openmetrics-text;q=0.5,text/plain;q=0.4", True),
        ("application/openmetrics-text;q=0.4,text/plain;q=0.5", False),
        ("application/openmetrics-text;q=0", False),
        ("application/openmetrics-text;q=0,*/*", False),
        ("application/openmetrics-text;version=1.0.0;q=0,application/openmetrics-text", False),
        ("application/openmetrics-text;q=1.5", False),
        ("application/openmetrics-text;q=high", False),
        ("application/openmetrics-text;q=0.0001", False),
        (";;;,,,=", False),
    ],
)
def test_the_format_is_the_preferred_one(accept: str, openmetrics: bool) -> None:  # a table
    assert wants_openmetrics(accept) is openmetrics


@pytest.mark.parametrize(
    ("accept_encoding", "gzip"),
    [
        ("", False),
        ("gzip", True),
        ("GZip", True),
        ("x-gzip", True),
        ("gzip, deflate, br", True),
        ("gzip;q=0", False),
        ("gzip;q=0.5, identity;q=0.6", False),
        ("gzip;q=0.5, identity;q=0.5", True),
        ("*", True),
        ("*;q=0", False),
        ("gzip;q=0, *", False),
        ("identity", False),
        ("br", False),
        ("gzip;q=2", False),
    ],
)
def test_gzip_is_used_where_it_is_accepted(accept_encoding: str, gzip: bool) -> None:  # a table
    """A q of 0 forbids, `*` allows, and identity may be preferred."""
    assert wants_gzip(accept_encoding) is gzip


@given(st.text() | st.text(alphabet='agzip*/;,=q01. "tex', max_size=80))
def test_nothing_is_used_that_no_header_accepts(header: str) -> None:
    assert not wants_openmetrics(header) or "application/" in header.lower()
    assert not wants_gzip(header) or "gzip" in header.lower() or "*" in header


@given(st.lists(st.sampled_from(["application/openmetrics-text;q=0.9", "text/plain;q=0.3", "*/*;q=0.1", "a/b"])))
def test_order_does_not_matter(parts: list[str]) -> None:
    assert wants_openmetrics(",".join(parts)) is wants_openmetrics(",".join(reversed(parts)))
