"""Numbers as people type them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.counter.service.pages.formatting import read_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12.5", 12.5),
        ("12,5", 12.5),
        (" 7 ", 7.0),
        ("+0,125", 0.125),
        ("-,5", -0.5),
        ("−3", -3.0),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1,5e-3", 0.0015),
        ("0,125", 0.125),
        ("1234,567", 1234.567),
    ],
)
def test_a_number_is_read(text: str, value: float) -> None:
    assert read_number(text).value == value
    assert read_number(text).error == ""


@pytest.mark.parametrize(
    ("text", "offers"),
    [
        ("1,250", ("1.250", "1250")),
        ("-12,000", ("-12.000", "-12000")),
        ("1,250.5", ("1250.5",)),
        ("1.250,5", ("1250.5",)),
        ("1 250", ("1250",)),
        ("1,250,000", ("1250000",)),
        ("<0.5", ("0.5",)),
        ("12,5 mg/l", ("12.5",)),
        ("abc", ()),
        ("nan", ()),
        ("inf", ()),
        ("١٢", ()),
        ("1e999", ()),
        ("--1", ()),
        ("1.2.3", ()),
        ("12-15", ()),
        ("~7 %", ("7",)),
    ],
)
def test_what_is_not_clear_is_refused_with_what_may_be_meant(
    text: str, offers: tuple[str, ...]
) -> None:
    found = read_number(text)
    assert found.value is None
    assert found.error
    assert found.offers == offers
    assert all(read_number(offer).value is not None for offer in offers)


@given(st.floats(-1e150, 1e150))
def test_every_number_is_read_back_with_a_point_and_unless_unclear_with_a_comma(x: float) -> None:
    assert read_number(repr(x)).value == x
    comma = read_number(repr(x).replace(".", ","))
    assert comma.value == x or comma.offers


@given(st.text(max_size=30))
def test_whatever_is_typed_is_a_number_or_an_error_or_empty(text: str) -> None:
    found = read_number(text)
    if found.value is not None:
        assert math.isfinite(found.value)
        assert not found.error
    else:
        assert found.error or not text.strip()
