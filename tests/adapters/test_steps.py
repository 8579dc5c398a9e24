"""Estimators of scikit-learn that fetch columns on demand."""

import pickle
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.adapters.sklearn import KeyholeClassifier, KeyholeRegressor
from keyhole.problem import Floats, Indices

HOW: dict[str, Any] = {
    "sparsity": 2,
    "budget": 3,
    "prices": [1, 1, 1],
    "worth": 20.0,
    "steps": True,
}


class Shelf:
    """Hands out values, and remembers which; each of a row once."""

    def __init__(self, X: Floats) -> None:
        self.X, self.sold = X, set[tuple[int, int]]()

    def __call__(self, row: int, columns: Indices) -> Floats:
        now = {(row, int(j)) for j in columns}
        assert not now & self.sold
        self.sold |= now
        found: Floats = self.X[row, columns]
        return found


def rows() -> tuple[Floats, Floats]:
    X = np.random.default_rng(0).standard_normal((1500, 3))
    return X, np.where(np.abs(X[:, 0]) > 0.3, X[:, 0] > 0, X[:, 1] > 0).astype(float)


def test_rows_are_fetched_as_far_as_they_are_worth_it() -> None:
    X, y = rows()
    model = KeyholeClassifier(**HOW, random_state=0).fit(X, y)
    assert model.spent_ < 0.8 * 3 * len(y)  # training stopped early, too
    shelf, again = Shelf(X), Shelf(X)
    p = model.predict_proba_stepwise(shelf, 300)
    assert p.shape == (300, 2)
    assert np.allclose(p.sum(axis=1), 1.0)
    assert ((p[:, 1] > 0.5) == y[:300]).mean() > 0.9
    assert 300 <= len(shelf.sold) < 0.7 * 900
    copied = pickle.loads(pickle.dumps(model))
    assert np.array_equal(p, copied.predict_proba_stepwise(again, 300))  # nothing was changed
    assert again.sold == shelf.sold


def test_without_steps_in_training_all_is_fetched_that_the_learner_reads() -> None:
    X, y = rows()
    shelf = Shelf(X)
    found = KeyholeRegressor(2, 3, random_state=0).fit(X, y).predict_stepwise(shelf, 20)
    assert found.shape == (20,)
    assert len(shelf.sold) == 60
    assert len(KeyholeRegressor(2, 3).fit(X, y).predict_stepwise(shelf, 0)) == 0


def test_what_does_not_arrive_is_absent_and_bad_calls_are_refused() -> None:
    X, y = rows()
    model = KeyholeRegressor(2, 3, random_state=0).fit(X, y)
    nothing = model.predict_stepwise(lambda row, columns: np.full(len(columns), np.nan), 2)
    assert np.isfinite(nothing).all()
    with pytest.raises(kh.DataError, match="values"):
        model.predict_stepwise(lambda row, columns: np.zeros(len(columns) + 1), 2)
    with pytest.raises(ValueError, match="n must be"):
        model.predict_stepwise(Shelf(X), -1)
    with pytest.raises(kh.ProblemError, match="worth="):
        KeyholeRegressor(steps=True).fit(X, y)
    with pytest.raises(kh.ProblemError, match="steps"):
        KeyholeRegressor(**{**HOW, "steps": "yes"}).fit(X, y)


def test_pickles_of_before_have_no_steps() -> None:
    X, y = rows()
    model = KeyholeRegressor(2, 3, random_state=0).fit(X, y)
    state = model.__getstate__()
    del state["steps"]
    old = KeyholeRegressor.__new__(KeyholeRegressor)
    old.__setstate__(state)
    assert old.steps is False
    assert np.array_equal(old.predict(X), model.predict(X))
