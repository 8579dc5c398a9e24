"""Curves in a report: drawn where shapes say something, folded away where not, any name is safe."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem import Floats
from keyhole.report import Run, curve_plots, record
from keyhole.report.page import page
from tests.report.test_page import outline

NAMES = ["<b>age</b>", "$x$ & y", "tail", *(f"f{j}" for j in range(9))]


def rows() -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2500, 12))
    X[:, 2] = X[:, 2] > 0.0
    return X, X[:, 0] + np.abs(X[:, 0]) * (1.0 + X[:, 2]) + X[:, 1] + 0.3 * rng.standard_normal(
        2500
    )


def recorded(y: Floats, **how: bool) -> Run:
    X, _ = rows()
    learner = kh.AutoLearner(kh.Problem(12, 3, 6, names=NAMES), seed=0, **how)  # type: ignore[arg-type]
    return record(learner, kh.streams.ArrayStream(X, y), seed=0)


@pytest.fixture(scope="module")
def run() -> Run:
    return recorded(rows()[1])


def test_the_section_has_a_picture_for_each_curve(run: Run) -> None:
    assert run.curves is not None
    text = page(run)
    found = outline(text)
    section = text[text.index("Curves and interactions") :]
    section = section[: section.index("</section>")]
    many = min(len(run.curves.features), curve_plots.MOST_CURVES)
    assert many >= 3
    assert section.count("<svg") == many + len(run.curves.pairs)
    assert len(run.curves.pairs) >= 1
    assert "two standard errors" in found.text
    assert "The strongest interactions" in found.text
    ids = [value for name, value in found.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert "<b>age" not in text
    assert "&lt;b&gt;age" in text


def test_folded_away_where_all_is_straight() -> None:
    X, _ = rows()
    run = recorded(X[:, 1] + np.random.default_rng(1).standard_normal(2500))
    text = page(run)
    outline(text)
    assert run.curves is not None
    assert run.curves.features == ()
    assert "<summary>Curves and interactions: none</summary>" in text
    assert curve_plots.STRAIGHT in text
    assert "The strongest interactions" not in text


def test_absent_where_a_learner_has_none(run: Run) -> None:
    assert recorded(rows()[1], shapes=False).curves is None
    assert "Curves and interactions" not in page(replace(run, curves=None))
    X, y = rows()
    other = kh.OnlineGreedyLearner(kh.Problem(12, 3, 6, names=NAMES), seed=0)
    assert record(other, kh.streams.ArrayStream(X, y), seed=0).curves is None


def test_pictures_show_what_was_found(run: Run) -> None:
    assert run.curves is not None
    for curve in run.curves.features:
        axes = curve_plots.feature_curve(curve).axes[0]
        line = axes.get_lines()[-1]
        assert np.array_equal(np.asarray(line.get_xdata()), curve.at)
        assert np.array_equal(np.asarray(line.get_ydata()), curve.adds)
    for pair in run.curves.pairs:
        lines = curve_plots.pair_curves(pair).axes[0].get_lines()[-2:]
        for line, adds in zip(lines, pair.adds, strict=True):
            assert np.array_equal(np.asarray(line.get_ydata()), adds)


def test_of_many_curves_the_first_are_drawn(run: Run) -> None:
    assert run.curves is not None
    many = replace(run.curves, features=12 * run.curves.features[:1], pairs=())
    text = page(replace(run, curves=many))
    assert "3 more curves are not drawn." in text
    assert "No two features do much together" in text
    section = text[text.index("Curves and interactions") :]
    assert section[: section.index("</section>")].count("<svg") == curve_plots.MOST_CURVES
