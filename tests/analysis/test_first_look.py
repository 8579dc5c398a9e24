"""What is named before anything else: giveaways and codes; no more than there is."""

import numpy as np
import pytest

import keyhole as kh
from keyhole.analysis.calibrated import calibrated_loss
from keyhole.analysis.first_look import GIVEAWAY, FirstLook, LabelLinks, first_look
from keyhole.problem import Floats
from keyhole.streams import ArrayStream


def found(X: Floats, y: Floats) -> list[int]:
    links = LabelLinks(X.shape[1])
    for start in range(0, len(y), 37):  # in blocks, as streams come
        links.add(X[start : start + 37], y[start : start + 37])
    return [one.feature for one in links.giveaways()]


@pytest.mark.parametrize("far", [0.0, 1e9, -1e12])
def test_what_follows_the_label_is_found_wherever_it_lies(far: float) -> None:
    rng = np.random.default_rng(0)
    y = far + rng.normal(size=500)
    X = np.column_stack(
        [
            -3 * y + 7,
            y + 0.02 * rng.normal(size=500),  # a correlation of 0.9998
            y + 0.2 * rng.normal(size=500),  # of 0.98
            rng.normal(size=500),
            np.ones(500),
        ]
    )
    X[rng.random(500) < 0.3, 0] = np.nan
    assert found(X, y) == [0, 1]
    corr = [abs(np.corrcoef(X[:, j] - far, y - far)[0, 1]) for j in (1, 2)]
    assert corr[0] > GIVEAWAY > corr[1]  # the twin that a laxer rule would name is there


def test_the_relation_is_told() -> None:
    y = np.random.default_rng(1).integers(0, 2, 100).astype(float)
    X = np.column_stack([1 - y, 1000 * y, y, np.arange(100.0)])
    (finding,) = first_look(ArrayStream(X, y, ["well", "grams", "ill", "row"]))
    assert finding.features == (0, 1, 2)
    assert finding.severity == "serious"
    for told in (
        "well (it is -1 × the label + 1)",
        "grams (it is 1000 × the label)",
        "ill (it is ",
    ):
        assert told in finding.do


def test_too_few_rows_and_constant_labels_give_nothing_away() -> None:
    y = np.arange(19.0)
    assert found(np.column_stack([y, 2 * y]), y) == []
    assert found(np.ones((50, 2)), np.ones(50)) == []
    assert first_look(ArrayStream(np.empty((0, 2)), np.empty(0))) == ()
    assert found(np.full((50, 1), np.nan), np.arange(50.0)) == []


def test_a_brief_look_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keyhole.analysis.first_look.ROWS_LOOKED_AT", 100)
    rng = np.random.default_rng(2)
    y = rng.normal(size=300)
    X = rng.normal(size=(300, 1))
    X[:100, 0] = y[:100]
    brief, whole = FirstLook(1, brief=True), FirstLook(1)
    for look in (brief, whole):
        look.add(X[:70], y[:70])
        look.add(X[70:], y[70:])
    assert (brief.over, whole.over) == (True, False)
    assert [one.features for one in brief.findings(["a"])] == [(0,)]
    assert whole.findings(["a"]) == ()
    wide = FirstLook(10**6, brief=True)
    assert wide.over
    assert wide.findings(None) == ()


def test_calibration_in_hindsight_is_the_best_growing_function() -> None:
    """Against the twin that takes the score as it is, and never below what cannot be known."""
    rng = np.random.default_rng(3)
    x, n = rng.normal(size=(20_000, 2)), 20_000
    share = 1 / (1 + np.exp(-4 * x[:, 0]))
    y = (rng.random(n) < share).astype(float)
    X = x.copy()
    X[rng.random(n) < 0.1, 1] = np.nan
    stream = ArrayStream(X, y)
    best = kh.hindsight(stream, 1, intercept=True)
    lost = calibrated_loss(stream, best)
    raw = float(((best.intercept + X[:, 0] * best.weights[0] - y) ** 2).sum())
    assert raw == pytest.approx(best.loss.high, rel=1e-9)
    assert lost < 0.97 * raw
    truth = float(((share - y) ** 2).sum())
    # The truth grows with the score, so it is among what is fitted, but for the width of a bin.
    # What is fitted beyond it are a few times n^(1/3) = 27 levels, each worth the noise, 0.09:
    # under 1 %.
    assert 0.99 * truth < lost < 1.0005 * truth
    # Of labels that follow nothing, nothing is gained but noise.
    coin = (rng.random(n) < 0.3).astype(float)
    blind = ArrayStream(X, coin)
    model = kh.hindsight(blind, 1, intercept=True)
    assert 0.99 < calibrated_loss(blind, model) / model.empty_loss <= 1.0
