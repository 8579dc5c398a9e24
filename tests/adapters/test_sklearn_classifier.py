"""KeyholeClassifier keeps scikit-learn's contract, the budget, and what it says of classes."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.adapters.sklearn import KeyholeClassifier
from keyhole.problem import Floats
from keyhole.problem.optional_imports import extra
from keyhole.saving.api import to_bytes

base = extra("sklearn.base", "sklearn")
checks = extra("sklearn.utils.estimator_checks", "sklearn")
datasets = extra("sklearn.datasets", "sklearn")
metrics = extra("sklearn.metrics", "sklearn")
multiclass = extra("sklearn.multiclass", "sklearn")
pandas = extra("pandas", "dev")


@pytest.fixture(scope="module")
def cancer() -> tuple[Floats, Any]:
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return X, np.array(["ill", "well"])[y]


def classifier(**changes: Any) -> KeyholeClassifier:
    return KeyholeClassifier(**{"sparsity": 4, "budget": 8, "random_state": 1, **changes})


@pytest.mark.parametrize("learner", ["auto", "full"])
def test_the_contract(learner: str) -> None:
    found = checks.check_estimator(KeyholeClassifier(learner=learner), on_skip=None)
    left = {(c["check_name"], c["status"]) for c in found if c["status"] != "passed"}
    assert left <= {("check_array_api_input", "skipped")}
    assert len(found) > 40


def test_the_checks_have_teeth() -> None:
    class Twisted(KeyholeClassifier):
        def decision_function(self, X: Any) -> Floats:
            return -super().decision_function(X)

    found = checks.check_estimator(Twisted(), on_skip=None, on_fail=None)
    assert "failed" in {c["status"] for c in found}


def test_probabilities_decisions_and_classes_agree(cancer: tuple[Floats, Any]) -> None:
    X, y = cancer
    model = classifier().fit(X, y)
    p, odds = model.predict_proba(X), model.decision_function(X)
    assert model.classes_.tolist() == ["ill", "well"]
    assert p.shape == (len(y), 2)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(odds, np.log(p[:, 1] / p[:, 0]))
    assert np.array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    assert model.n_reads_ == 8 * len(y) == model.spent_
    assert len(model.support_) <= 4 == model.cost_
    assert model.coef_.shape == (1, 30)
    score = X @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(p[:, 1], model.learner_.probabilities(score))
    assert metrics.roc_auc_score(y == "well", p[:, 1]) > 0.98


def test_the_calibrator_of_the_model_is_better_than_that_of_predictions(
    cancer: tuple[Floats, Any],
) -> None:
    # In sample, after one pass over 569 rows. The broken twin has the calibrator of what is
    # predicted, which the scores of the model are not. Means of seeds 0 to 7: 0.213 and 0.251, a
    # ratio of 0.85; 0.89 for seeds 8 to 15.
    X, y = cancer
    losses = []
    for seed in range(8):
        model = classifier(random_state=seed).fit(X, y)
        scores = X @ model.coef_[0] + model.intercept_[0]
        twin = [model.learner_._calibrator.predict(score) for score in scores.tolist()]
        losses.append(
            [metrics.log_loss(y == "well", p) for p in (model.predict_proba(X)[:, 1], twin)]
        )
    own, others = np.mean(losses, axis=0)
    assert own < 0.9 * others


def test_it_is_the_learner_of_keyhole(cancer: tuple[Floats, Any]) -> None:
    X, y = cancer
    model = classifier().fit(X, y)
    learner = kh.YesNoLearner(kh.AutoLearner(kh.Problem(30, 4, 8), seed=1))
    kh.play(learner, kh.streams.ArrayStream(X, y == "well"))
    assert to_bytes(model.learner_) == to_bytes(learner)


def test_partial_fits_are_a_fit(cancer: tuple[Floats, Any]) -> None:
    X, y = cancer
    whole, parts = classifier().fit(X, y), classifier()
    for start in range(0, len(y), 100):
        rows = slice(start, start + 100)
        parts.partial_fit(X[rows], y[rows], classes=["well", "ill"])
    assert to_bytes(whole.learner_) == to_bytes(parts.learner_)
    assert np.array_equal(whole.predict_proba(X), parts.predict_proba(X))
    for bad in ({"classes": ["a", "b"]}, {}):
        with pytest.raises(ValueError, match="class"):
            parts.partial_fit(X[:5], y[:5] if bad else ["gone"] * 5, **bad)
    assert to_bytes(whole.learner_) == to_bytes(parts.learner_)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["a", "b", "c"], "Only binary classification.*multiclass.*OneVsRestClassifier"),
        (["a", "a", "a"], "only one class"),
        ([0.1, 0.7, 2.5], "continuous"),
    ],
)
def test_other_targets_are_refused_without_a_trace(labels: list[Any], said: str) -> None:
    X = np.arange(12.0).reshape(6, 2)
    model = classifier(sparsity=1, budget=2)
    for _ in range(2):
        before = {**vars(model)}
        with pytest.raises(ValueError, match=said):
            model.fit(X[:3], labels)
        assert vars(model) == before
        model.fit(X, [0, 1, 0, 1, 0, 1])


def test_several_classes_one_against_the_rest() -> None:
    X, y = datasets.load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    model = multiclass.OneVsRestClassifier(classifier(sparsity=2, budget=3, passes=3))
    model.fit(X[order], y[order])
    assert model.predict_proba(X).shape == (150, 3)
    assert model.score(X, y) > 0.6  # chance is a third


def test_fitted_anew_to_other_features(cancer: tuple[Floats, Any]) -> None:
    X, y = cancer
    model = classifier().fit(X, y)
    frame = pandas.DataFrame(X[:, :5], columns=list("abcde"))
    model.fit(frame, y)
    assert model.n_features_in_ == 5
    assert model.feature_names_in_.tolist() == list("abcde")
    assert set(model.model_.names) <= set("abcde")
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")


def test_copies_and_pickles_go_on(cancer: tuple[Floats, Any]) -> None:
    X, y = cancer
    model = classifier().fit(X[:300], y[:300])
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert np.array_equal(twin.predict_proba(X), model.predict_proba(X))
        assert to_bytes(twin.learner_) == to_bytes(model.learner_)
    assert not hasattr(base.clone(model), "classes_")
    assert not hasattr(classifier(), "coef_")


def test_history_has_the_classes_too(cancer: tuple[Floats, Any]) -> None:
    X, y = cancer
    told = classifier(history=(X[:200], y[:200])).fit(X[200:], y[200:])
    studied = classifier().study(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    assert to_bytes(told.learner_) == to_bytes(studied.learner_)
    assert told.n_reads_ == 8 * (len(y) - 200)
    with pytest.raises(kh.DataError, match="must hold the classes"):
        classifier(history=(X[:3], ["dead"] * 3)).fit(X, y)
