"""Who sits, the columns of a curve, and cuts: by value and against their definitions in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from keyhole.learners.blocks.shapes.seats import (
    COLUMNS,
    CUTS,
    FORM,
    NOBODY,
    SAMPLE,
    Seated,
    Window,
    code,
    columns,
    empty_seats,
    make_cuts,
    make_form,
    sample,
    take_seats,
)
from keyhole.problem import Floats


def at(h: Floats, x: float) -> Floats:
    form, out = np.empty(FORM), np.empty(COLUMNS)
    make_form(np.sort(h), form)
    columns(form, x, out)
    return out


def by_definition(h: Floats, x: Floats) -> Floats:
    """All columns of a sample without a mode."""
    q25, m, q75 = np.quantile(h, [0.25, 0.5, 0.75])
    w = max(q75 - q25, 0.3 * h.std())
    knots = np.quantile(h, np.arange(1, 6) / 6)

    def raw(v: Floats) -> Floats:
        t = (v - m) / w
        bends = [np.maximum(v - knot, 0.0) / w for knot in knots]
        return np.column_stack([t, np.sign(t) * np.log1p(np.abs(t)), *bends])

    B = raw(h)
    standardised: Floats = (raw(x) - B.mean(axis=0)) / B.std(axis=0)
    return standardised.clip(-5.0, 5.0)


@pytest.mark.parametrize("kind", ["normal", "skewed", "far"])
def test_columns_are_line_logarithm_and_bends_standardised(kind: str) -> None:
    rng = np.random.default_rng(1)
    h = rng.standard_normal(200)
    h = {"normal": h, "skewed": np.exp(2.0 * h), "far": 1e6 + h}[kind]
    x = np.concatenate([h[:50], [h.min() - 10 * np.ptp(h), h.max() + 10 * np.ptp(h)]])
    found = np.array([at(h, value) for value in x.tolist()])
    np.testing.assert_allclose(found[:, :7], by_definition(h, x), rtol=1e-7, atol=1e-7)
    assert not found[:, 7].any()  # no value is there twice: no mode
    assert np.abs(found).max() == 5.0


def test_a_mode_has_a_column_and_no_part_in_the_knots() -> None:
    """Of ten values four are 0: it has a column, and knots are quantiles of the others."""
    h = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    form = np.empty(FORM)
    make_form(h, form)
    assert form[2] == 0.0
    assert form[3:8] == pytest.approx(np.quantile(h[4:], np.arange(1, 6) / 6))
    share = 0.6
    size = np.sqrt(share * (1.0 - share))
    assert at(h, 0.0)[7] == pytest.approx(-share / size)
    assert at(h, 3.5)[7] == pytest.approx((1.0 - share) / size)
    few = np.append(np.arange(1.0, 40.0), 1.0)  # two of forty
    assert at(few, 2.0)[7] != 0.0
    assert at(np.arange(1.0, 40.0), 2.0)[7] == 0.0


def test_few_different_values() -> None:
    """Of two the line alone, of one and none nothing; absent values are 0 in all columns."""
    two = np.array([1.0, 1.0, 1.0, 3.0])
    assert at(two, 3.0)[0] == pytest.approx(np.sqrt(3.0))
    assert not at(two, 3.0)[1:].any()
    assert not at(np.array([2.0, 2.0]), 5.0).any()
    assert not at(np.empty(0), 5.0).any()
    assert not at(np.arange(9.0), np.nan).any()


def test_cuts_lie_between_few_values_and_at_quantiles_of_many() -> None:
    cuts = np.empty(CUTS)
    assert make_cuts(np.array([1.0, 1.0, 2.0, 4.0]), cuts) == 2
    assert cuts[:2].tolist() == [1.5, 3.0]
    assert make_cuts(np.empty(0), cuts) == make_cuts(np.full(5, 3.0), cuts) == 0
    h = np.sort(np.random.default_rng(0).standard_normal(256))
    assert make_cuts(h, cuts) == 31
    np.testing.assert_allclose(cuts, np.quantile(h, np.arange(1, 32) / 32), rtol=1e-12)
    assert make_cuts(np.arange(32.0), cuts) == 31
    many = make_cuts(np.sort(np.append(np.zeros(200), np.arange(50.0))), cuts)
    assert (np.diff(cuts[:many]) > 0.0).all()
    assert cuts[many - 1] < 49.0


def test_a_code_counts_the_cuts_below() -> None:
    cuts = np.zeros(CUTS)
    cuts[:3] = -1.0, 0.0, 2.5
    values = [np.nan, -9.0, -1.0, -0.5, 0.0, 2.5, 2.6, np.inf]
    assert [code(cuts, 3, value) for value in values] == [0, 1, 1, 2, 2, 3, 4, 4]
    assert [code(cuts, 0, value) for value in (np.nan, 1.0)] == [0, 1]


def window(features: list[list[int]], told: int | None = None) -> Window:
    width = max(map(len, features))
    table = np.full((len(features), width), -1, dtype=np.int32)
    for i, row in enumerate(features):
        table[i, : len(row)] = row
    values = 10.0 * table + 0.001 * np.arange(len(table))[:, None]
    many = len(table) if told is None else min(told, len(table))
    return Window(table, values, np.zeros(len(table)), len(table) if told is None else told, many)


def seats(who: list[int]) -> Seated:
    seated = empty_seats(4, len(who), 1)
    seated.who[:] = who
    seated.made[:-1] = 7
    return seated


def test_a_sample_is_of_the_last_rows_newest_first_and_thinned_evenly() -> None:
    out = np.empty(SAMPLE)
    rows = window([[0, 3], [3], [1], [3, 4], [3]], told=8)  # of slots 3, 4, 0, 1, 2
    rows.values[3, 0] = np.nan
    many = sample(rows, 3, out)
    assert out[:many] == pytest.approx(np.sort([30.0, 30.001, 30.004]))
    rng = np.random.default_rng(2)
    long = window([[5]] * 1100)
    long.values[:, 0] = rng.standard_normal(1100)
    assert sample(long, 5, out) == 256
    newest = long.values[::-1, 0][:1024]
    assert out.tolist() == np.sort(newest[np.arange(256) * 1024 // 256]).tolist()


def test_those_read_most_of_late_sit_and_those_who_sit_count_more() -> None:
    """Feature 1 was read 60 times, 2 first and 50 times, 3 last and 45 times, 4 too seldom."""
    rows = window([[1, 2]] * 15 + [[1, 2]] * 35 + [[1]] * 10 + [[3]] * 30 + [[3, 4]] * 15)
    counts, seated = np.empty(9), seats([NOBODY, NOBODY])
    take_seats(seated, rows, 9, counts)
    weight = np.exp(-np.arange(105)[::-1] / 500)
    score = {1: weight[:60].sum(), 2: weight[:50].sum(), 3: weight[60:].sum()}
    order = sorted(score, key=lambda j: -score[j])
    assert seated.who.tolist() == order[:2] == [1, 3]
    assert counts[[1, 2, 3, 4]].tolist() == [60, 50, 45, 15]
    assert seated.made[:2].tolist() == [0, 0]
    held = seats([2, 1])  # 2 stays: 1.25 times its reads are more than those of 3
    take_seats(held, rows, 9, counts)
    assert held.who.tolist() == [2, 1]
    assert 1.25 * score[2] > score[3] > score[2]
    alone = seats([4, 2, 8])  # 4 has too few values, 8 none; 2 keeps its place
    take_seats(alone, rows, 9, counts)
    assert alone.who.tolist() == [1, 2, 3]
    assert alone.made[:3].tolist() == [0, 7, 0]


def test_absent_values_are_no_reads_and_equals_go_by_number() -> None:
    rows = window([[5, 6, 7]] * 20)
    rows.values[4:, 0] = np.nan
    seated = seats([NOBODY])
    take_seats(seated, rows, 9, np.empty(9))
    assert seated.who.tolist() == [6]
