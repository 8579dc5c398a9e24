"""scikit-learn and river predict with shapes: better where the world is bent, the same reads."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.adapters import river
from keyhole.adapters.sklearn import KeyholeClassifier, KeyholeRegressor
from keyhole.problem import Floats, ProblemError
from keyhole.problem.optional_imports import extra

clone: Any = extra("sklearn.base", "sklearn").clone
checks: Any = extra("sklearn.utils.estimator_checks", "sklearn")


def rows(seed: int = 0, n: int = 3000) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 12))
    return X, X[:, 3] + np.abs(X[:, 3]) + X[:, 7] + 0.3 * rng.standard_normal(n)


@pytest.mark.parametrize("kind", [KeyholeRegressor, KeyholeClassifier])
def test_every_check_of_scikit_learn(kind: Any) -> None:
    checks.check_estimator(kind(shapes=True), on_skip=None)


def test_the_regressor_predicts_with_the_shape_model() -> None:
    X, y = rows()
    plain = KeyholeRegressor(sparsity=2, budget=5, random_state=0).fit(X, y)
    bent = clone(plain).set_params(shapes=True).fit(X, y)
    Z, z = rows(1)
    assert plain.score(Z, z) < 0.85 < 0.93 < bent.score(Z, z)
    assert isinstance(bent.model_, kh.ShapeModel)
    assert np.array_equal(bent.predict(Z), bent.model_.predict(Z[:, bent.support_]))
    assert bent.support_.tolist() == bent.model_.features.tolist()
    assert len(bent.support_) <= 2
    assert bent.n_reads_ == plain.n_reads_
    assert bent.cost_ == len(bent.support_)
    assert np.array_equal(bent.coef_, plain.coef_)  # of the linear model
    assert bent.get_feature_names_out().tolist() == list(bent.model_.names)
    again = pickle.loads(pickle.dumps(bent))
    assert np.array_equal(again.predict(Z), bent.predict(Z))


def test_its_intervals_hold_on_other_rows() -> None:
    """From 512 rows left out: the share within has a standard error of 1.3 % by them alone."""
    X, y = rows()
    bent = KeyholeRegressor(sparsity=2, budget=5, random_state=0, shapes=True).fit(X, y)
    Z, z = rows(2)
    low, high = bent.predict_interval(Z, 0.9).T
    held = np.mean((low <= z) & (z <= high))
    assert abs(held - 0.9) < 4.0 * np.sqrt(0.09 * (1 / 512 + 1 / 3000))
    narrow = np.mean(np.abs(z - bent.predict(Z)) <= 0.25 * (high - low))
    assert narrow < 0.8  # the twin, half as wide


def test_partial_fit_and_study_go_on() -> None:
    X, y = rows()
    bent = KeyholeRegressor(sparsity=2, budget=5, random_state=0, shapes=True)
    bent.study(X[:200], y[:200])
    assert isinstance(bent.model_, kh.ShapeModel)
    for part in range(3):
        bent.partial_fit(X[1000 * part : 1000 * (part + 1)], y[1000 * part : 1000 * (part + 1)])
    assert bent.score(*rows(1)) > 0.93


def test_the_classifier_has_labels_and_probabilities() -> None:
    X, y = rows()
    labels = np.where(y > 1.0, "ill", "well")
    plain = KeyholeClassifier(sparsity=2, budget=5, random_state=0).fit(X, labels)
    bent = clone(plain).set_params(shapes=True).fit(X, labels)
    Z, z = rows(1)
    right = np.where(z > 1.0, "ill", "well")
    ill = list(bent.classes_).index("ill")
    p, q = bent.predict_proba(Z)[:, ill], plain.predict_proba(Z)[:, ill]
    answers = (z > 1.0).astype(float)
    assert np.mean((p - answers) ** 2) < 0.8 * np.mean((q - answers) ** 2)
    assert bent.score(Z, right) > plain.score(Z, right)
    assert np.array_equal(bent.predict(Z), bent.classes_[(bent.predict_proba(Z)[:, 1] > 0.5) * 1])
    assert abs(p.mean() - answers.mean()) < 0.03


@pytest.mark.parametrize("kind", [KeyholeRegressor, KeyholeClassifier])
def test_refused_for_other_learners(kind: Any) -> None:
    X, y = rows(n=50)
    with pytest.raises(ProblemError, match="shapes=True is for learner='auto', got learner='zero'"):
        kind(learner="zero", shapes=True).fit(X, y > 0.0)
    with pytest.raises(ProblemError, match="shapes"):
        kind(shapes="yes").fit(X, y > 0.0)
    old = KeyholeRegressor(sparsity=2, budget=4, random_state=0).fit(X, y)
    state = old.__getstate__()
    del state["shapes"]
    back = KeyholeRegressor.__new__(KeyholeRegressor)
    back.__setstate__(state)
    assert back.shapes is False
    assert np.array_equal(back.predict(X), old.predict(X))


def as_dicts(X: Floats) -> list[dict[str, float]]:
    return [{f"f{j:02}": value for j, value in enumerate(row)} for row in X.tolist()]


def test_river_predicts_with_shapes_unless_told_not_to() -> None:
    X, y = rows(n=2000)
    losses = dict[Any, float]()
    for shapes in (None, True, False):
        model = river.KeyholeRegressor(sparsity=2, budget=5, shapes=shapes)
        lost = 0.0
        for x, label in zip(as_dicts(X), y.tolist(), strict=True):
            lost += (model.predict_one(x) - label) ** 2
            model.learn_one(x, label)
        losses[shapes] = lost
        if shapes is not False:
            found = model.shape_model
            assert set(found.names) == {"f03", "f07"}
            back = pickle.loads(pickle.dumps(model))
            assert back.shape_model.to_json() == found.to_json()
        else:
            with pytest.raises(ProblemError, match="needs a learner with shapes"):
                _ = model.shape_model
    assert losses[None] == losses[True] < 0.7 * losses[False]


def test_rivers_classifier_and_refusals() -> None:
    X, y = rows(n=600)
    model = river.KeyholeClassifier(sparsity=2, budget=5, shapes=True)
    with pytest.raises(ProblemError, match="after the first label"):
        _ = model.shape_model
    for x, label in zip(as_dicts(X), (y > 1.0).tolist(), strict=True):
        model.learn_one(x, label)
    assert set(model.predict_proba_one(as_dicts(X)[0])) == {False, True}
    assert model.shape_model.predict(np.full((1, len(model.shape_model.names)), np.nan)).shape == (
        1,
    )
    with pytest.raises(ProblemError, match="shapes is for learner='auto', got learner='zero'"):
        river.KeyholeRegressor(learner="zero", shapes=False)
    with pytest.raises(ProblemError, match="shapes"):
        river.KeyholeRegressor(shapes="no")  # type: ignore[arg-type]
    other = river.KeyholeRegressor(learner="zero")
    other.learn_one({"a": 1.0, **{str(j): 1.0 for j in range(12)}}, 1.0)
    with pytest.raises(ProblemError, match="for learner='auto'; this is learner='zero'"):
        _ = other.shape_model
