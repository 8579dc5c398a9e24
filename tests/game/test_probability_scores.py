"""Scores of probabilities: against scikit-learn, in any blocks, and what is refused."""

import numpy as np
import pytest
from sklearn.metrics import (  # type: ignore[import-untyped]
    brier_score_loss,
    log_loss,
    roc_auc_score,
)

import keyhole as kh
from keyhole.problem import Floats


def forecasts(n: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-3 * rng.standard_normal(n)))
    return (rng.random(n) < p**1.5).astype(np.float64), p


@pytest.mark.parametrize("seed", range(3))
def test_they_are_those_of_scikit_learn(seed: int) -> None:
    y, p = forecasts(3000, seed)
    scores = kh.ProbabilityScores()
    scores.add(y, p)
    assert scores.log_loss == pytest.approx(log_loss(y, p))
    assert scores.brier == pytest.approx(brier_score_loss(y, p))
    auc = scores.auc
    assert auc.low <= roc_auc_score(y, p) <= auc.high
    assert auc.width < 0.002  # two of 3,000 are rarely within 1/256 of log-odds


def test_the_base_rate_is_the_share_of_yes_before_each_round() -> None:
    y, p = forecasts(200, 5)
    scores = kh.ProbabilityScores()
    scores.add(y, p)
    base = np.array([(y[:t].sum() + 0.5) / (t + 1) for t in range(200)])
    assert scores.base_log_loss == pytest.approx(log_loss(y, base))
    assert scores.base_brier == pytest.approx(brier_score_loss(y, base))


def test_blocks_of_any_size_give_the_same() -> None:
    y, p = forecasts(500, 6)
    whole, parts = kh.ProbabilityScores(), kh.ProbabilityScores()
    whole.add(y, p)
    for start in range(0, 500, 7):
        parts.add(y[start : start + 7], p[start : start + 7])
    assert parts.auc == whole.auc
    for ours, theirs in zip(parts.reliability(), whole.reliability(), strict=True):
        assert ours.rounds == theirs.rounds
        assert ours.predicted == pytest.approx(theirs.predicted)
    assert parts.log_loss == pytest.approx(whole.log_loss)


def test_reliability_groups_hold_all_rounds_and_what_came_of_them() -> None:
    y, p = forecasts(4000, 7)
    scores = kh.ProbabilityScores()
    scores.add(y, p)
    groups = scores.reliability(8)
    assert len(groups) == 8
    assert sum(g.rounds for g in groups) == 4000
    assert sum(g.rounds * g.yes for g in groups) == pytest.approx(y.sum())
    assert sum(g.rounds * g.predicted for g in groups) == pytest.approx(p.sum())
    predicted = [g.predicted for g in groups]
    assert predicted == sorted(predicted)
    assert all(450 < g.rounds < 550 for g in groups)
    assert all(g.low <= g.yes <= g.high for g in groups)
    # Labels were drawn with p^1.5 < p: the diagram shows that somewhere in the middle.
    assert any(g.high < g.predicted for g in groups)


def test_certain_and_equal_probabilities() -> None:
    scores = kh.ProbabilityScores()
    scores.add([0, 1], [0.0, 1.0])
    assert scores.log_loss == pytest.approx(0.0, abs=1e-12)
    scores.add([1], [0.0])
    assert scores.log_loss == pytest.approx(-np.log(1e-15) / 3)
    same = kh.ProbabilityScores()
    same.add([0, 1, 1], [0.3, 0.3, 0.3])
    assert (same.auc.low, same.auc.high) == (0.0, 1.0)
    assert [g.rounds for g in same.reliability()] == [3]


def test_of_one_kind_of_label_there_is_no_auc() -> None:
    scores = kh.ProbabilityScores()
    scores.add([1, 1], [0.3, 0.9])
    assert "alike" in scores.auc.how
    assert scores.as_json()["auc"] is None
    assert "AUC not known" in str(scores)


@pytest.mark.parametrize(
    ("labels", "probabilities", "said"),
    [
        ([0, 2], [0.1, 0.2], "0 .no. or 1 .yes., got 2"),
        ([0, 1], [0.1, 1.2], "between 0 and 1, got 1.2: .*YesNoLearner"),
        ([0, 1], [0.1, float("nan")], "between 0 and 1"),
        ([0, 1], [0.1], "2 labels and 1 prob"),
    ],
)
def test_what_is_no_probability_is_refused_without_a_trace(
    labels: list[float], probabilities: list[float], said: str
) -> None:
    scores = kh.ProbabilityScores()
    scores.add([1], [0.5])
    before = scores.as_json()
    with pytest.raises(kh.DataError, match=said):
        scores.add(labels, probabilities)
    assert scores.as_json() == before


def test_before_the_first_round() -> None:
    scores = kh.ProbabilityScores()
    assert str(scores) == "no rounds yet"
    assert scores.as_json()["log_loss"] is None
    assert scores.reliability() == []
