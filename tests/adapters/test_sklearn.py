"""KeyholeRegressor keeps scikit-learn's contract, and the budget."""

import copy
import json
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.adapters.sklearn import KeyholeRegressor
from keyhole.problem import Floats
from keyhole.problem.optional_imports import extra
from keyhole.problem.sparse_model import sparse_model
from keyhole.saving.api import to_bytes

sklearn = extra("sklearn", "sklearn")
base = extra("sklearn.base", "sklearn")
checks = extra("sklearn.utils.estimator_checks", "sklearn")
pandas = extra("pandas", "dev")
polars = extra("polars", "dev")

D, K, BUDGET, N = 20, 3, 8, 600
NAMES = [f"test {j}" for j in range(D)]


@pytest.fixture(scope="module")
def data() -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * rng.uniform(0.1, 50, D) + rng.normal(size=D)
    y = 3 * X[:, 2] / X[:, 2].std() - 2 * X[:, 7] / X[:, 7].std() + rng.normal(size=N) / 10 + 40
    return X, y


def regressor(**changes: Any) -> KeyholeRegressor:
    return KeyholeRegressor(**{"sparsity": K, "budget": BUDGET, "random_state": 1, **changes})


@pytest.mark.parametrize("learner", ["auto", "online-greedy"])
def test_the_contract(learner: str) -> None:
    made = KeyholeRegressor() if learner == "auto" else KeyholeRegressor(learner=learner)
    found = checks.check_estimator(made, on_skip=None)  # raises at the first failure
    # The one check that needs an environment variable is made by the next test.
    left = {(c["check_name"], c["status"]) for c in found if c["status"] != "passed"}
    assert left <= {("check_array_api_input", "skipped")}
    assert len(found) > 40


def test_the_contract_with_array_api() -> None:
    code = """
import json
from sklearn.utils.estimator_checks import check_estimator
from keyhole.adapters.sklearn import KeyholeRegressor
found = check_estimator(KeyholeRegressor(), on_skip=None)
print(json.dumps([[c["check_name"], c["status"]] for c in found]))
"""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
    )
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert {status for _, status in found} == {"passed"}
    listed = checks.estimator_checks_generator(KeyholeRegressor())
    names = {name for name, _ in found}
    assert names == {check.func.__name__ for _, check in listed}  # nothing was left out
    # scikit-learn 1.6 makes this one for other estimators only.
    assert "check_array_api_input" in names or sklearn.__version__.startswith("1.6.")


def test_the_checks_have_teeth() -> None:
    class Forgetful(KeyholeRegressor):
        def predict(self, X: Any) -> Floats:
            return np.zeros(len(X))  # no check of X, nor of being fitted

    found = checks.check_estimator(Forgetful(), on_skip=None, on_fail=None)
    assert "failed" in {c["status"] for c in found}


def test_the_true_features_are_found_and_predict_uses_them_only(
    data: tuple[Floats, Floats],
) -> None:
    X, y = data
    model = regressor(sparsity=2).fit(X, y)
    assert model.support_.tolist() == [2, 7]
    assert model.score(X, y) > 0.98  # R2 of the truth: 1 - 0.01 / 13
    assert np.flatnonzero(model.coef_).tolist() == [2, 7]
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_)
    other = np.full_like(X, 1e9)
    other[:, model.support_] = X[:, model.support_]
    assert (model.predict(other) == model.predict(X)).all()
    assert (model.model_.predict(X[:, model.support_]) == model.predict(X)).all()


@pytest.mark.parametrize("learner", sorted(kh.LEARNERS))
def test_every_learner_within_its_budget(data: tuple[Floats, Floats], learner: str) -> None:
    X, y = data
    model = regressor(learner=learner).fit(X, y)
    row = kh.LEARNERS[learner]
    most = D if row.reads_everything else BUDGET
    assert model.n_reads_ <= most * N
    assert len(model.support_) <= (K if row.sparse else most)
    assert model.learner_.round == N


@pytest.mark.parametrize("learner", ["auto", "dantzig-data", "online-greedy"])
def test_what_was_not_bought_does_not_matter(data: tuple[Floats, Floats], learner: str) -> None:
    X, y = data
    player = kh.LEARNERS[learner](kh.Problem(D, K, BUDGET), seed=1)
    bought = np.zeros(X.shape, dtype=bool)
    for played in kh.rounds(player, kh.streams.ArrayStream(X, y)):
        bought[played.round - 1, played.features] = True
    model = regressor(learner=learner).fit(X, y)
    assert model.n_reads_ == bought.sum()
    poisoned = regressor(learner=learner).fit(np.where(bought, X, 1e6), y)
    assert (poisoned.coef_ == model.coef_).all()
    # The broken twin: what was bought, altered, is noticed.
    altered = regressor(learner=learner).fit(np.where(bought, X[::-1], X), y)
    assert (altered.coef_ != model.coef_).any()


def test_a_whole_number_is_the_seed_itself(data: tuple[Floats, Floats]) -> None:
    X, y = data
    learner = kh.AutoLearner(kh.Problem(D, K, BUDGET), seed=1)
    ledger = kh.play(learner, kh.streams.ArrayStream(X, y))
    model = regressor().fit(X, y)
    assert (model.model_.weights == learner.model().weights).all()
    assert model.n_reads_ == ledger.reads.sum()
    drawn = [
        regressor(random_state=np.random.RandomState(seed)).fit(X, y).learner_.seed
        for seed in (5, 5, 6)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_parts_are_the_same_as_the_whole(data: tuple[Floats, Floats]) -> None:
    X, y = data
    whole, parts = regressor().fit(X, y), regressor()
    for rows in np.array_split(np.arange(N), [1, 5, 130]):
        parts.partial_fit(X[rows], y[rows])
    assert (whole.coef_ == parts.coef_).all()
    assert whole.n_reads_ == parts.n_reads_
    whole.fit(X[:50], y[:50])  # begins anew
    assert whole.learner_.round == 50
    assert whole.n_reads_ == 50 * BUDGET


def test_passes_are_played_and_paid_for(data: tuple[Floats, Floats]) -> None:
    X, y = data
    twice = regressor(passes=2).fit(X, y)
    by_hand = regressor().fit(X, y).partial_fit(X, y)
    assert twice.learner_.round == 2 * N
    assert twice.n_reads_ == 2 * N * BUDGET
    assert (twice.coef_ == by_hand.coef_).all()


@pytest.mark.parametrize("way", ["float32", "columns", "read-only", "pandas", "polars"])
def test_the_same_from_every_kind_of_array(data: tuple[Floats, Floats], way: str) -> None:
    X, y = data
    X = X.astype(np.float32).astype(np.float64)  # so that all kinds hold the same numbers
    expected = regressor().fit(X, y)
    kinds: dict[str, Any] = {
        "float32": X.astype(np.float32),
        "columns": np.asfortranarray(X),
        "read-only": np.frombuffer(X.tobytes()).reshape(X.shape),
        "pandas": pandas.DataFrame(X, columns=NAMES),
        "polars": polars.DataFrame(X, schema=NAMES),
    }
    other = kinds[way]
    model = regressor().fit(other, y)
    assert (model.coef_ == expected.coef_).all()
    if way in ("pandas", "polars"):
        assert model.feature_names_in_.tolist() == NAMES
        assert model.model_.names == tuple(NAMES[j] for j in model.support_)
        with pytest.raises(ValueError, match="feature names"):
            model.predict(other[NAMES[::-1]])


def test_pipelines_grids_and_clones(data: tuple[Floats, Floats]) -> None:
    X, y = data
    preprocessing = extra("sklearn.preprocessing", "sklearn")
    line = extra("sklearn.pipeline", "sklearn").make_pipeline(
        preprocessing.FunctionTransformer(), regressor()
    )
    assert (line.fit(X, y).predict(X) == regressor().fit(X, y).predict(X)).all()
    search = extra("sklearn.model_selection", "sklearn").GridSearchCV(
        regressor(), {"sparsity": [1, 2], "budget": [1, 8, 99]}, cv=2
    )
    search.fit(X, y)
    assert search.best_params_["sparsity"] == 2  # two features matter, about equally
    assert search.best_score_ > 0.95
    copied = base.clone(search.best_estimator_)
    assert copied.get_params() == search.best_estimator_.get_params()
    assert not hasattr(copied, "learner_")


def test_limits_are_cut_to_what_there_is(data: tuple[Floats, Floats]) -> None:
    X, y = data
    wide = regressor(sparsity=99, budget=99).fit(X, y)
    assert wide.learner_.problem == kh.Problem(D, D, D)
    narrow = regressor(sparsity=5, budget=2).fit(X, y)
    assert narrow.learner_.problem == kh.Problem(D, 2, 2)
    assert narrow.get_params()["sparsity"] == 5


@pytest.mark.parametrize("learner", ["auto", "dantzig-data", "online-greedy", "full", "mean"])
def test_pickles_and_copies_go_on_alike(data: tuple[Floats, Floats], learner: str) -> None:
    X, y = data
    model = regressor(learner=learner).fit(X[:300], y[:300])
    others = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    model.partial_fit(X[300:], y[300:])
    for other in others:
        assert other.learner_.round == 300
        other.partial_fit(X[300:], y[300:])
        assert (other.coef_ == model.coef_).all()
        assert other.n_reads_ == model.n_reads_


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learner": "atuo"}, "there is no learner 'atuo' .did you mean 'auto'"),
        ({"sparsity": 0}, "sparsity must be at least 1, got 0"),
        ({"budget": 2.5}, "budget must be a whole number, got 2.5"),
        ({"passes": 0}, "passes must be at least 1, got 0"),
        ({"random_state": -1}, "seed"),
    ],
)
def test_wrong_parameters(
    data: tuple[Floats, Floats], changes: dict[str, Any], message: str
) -> None:
    model = regressor(**changes)
    with pytest.raises(kh.ProblemError, match=message):
        model.fit(*data)
    assert set(vars(model)) == set(model.get_params())  # nothing of a fit is left behind


def test_what_is_refused_changes_nothing(data: tuple[Floats, Floats]) -> None:
    X, y = data
    model = regressor().fit(X, y)
    before = pickle.dumps(model)
    huge = X.copy()
    huge[-1, -1] = -1e200
    with pytest.raises(kh.DataError, match=r"X must be at most 1e\+150 in size, got 1e\+200"):
        model.partial_fit(huge, y)
    with pytest.raises(kh.DataError, match="y must be at most"):
        model.fit(X[:, :5], y * 1e200)
    with pytest.raises(ValueError, match="expecting 20 features"):
        model.partial_fit(X[:, :5], y)
    with pytest.raises(ValueError, match="infinity"):
        model.partial_fit(np.where(X > 0, X, np.inf), y)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(X, np.where(y > 40, y, np.nan))
    for call in (model.fit, model.partial_fit):
        with pytest.raises(kh.ProblemError, match=r"sample_weight is not supported.*repeat rows"):
            call(X, y, sample_weight=np.ones(len(y)))
        with pytest.raises(TypeError, match="'weights'"):
            call(X, y, weights=1)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("learner", ["auto", "online-greedy"])
def test_nan_is_a_value_that_did_not_arrive(data: tuple[Floats, Floats], learner: str) -> None:
    X, y = data[0] + 500.0, data[1]
    holes = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    model = regressor(learner=learner).fit(holes, y)
    game = kh.LEARNERS[learner](kh.Problem(D, K, BUDGET), seed=1)
    kh.play(game, kh.streams.ArrayStream(holes, y))
    known = sparse_model(game)
    assert model.support_.tolist() == known.features.tolist()
    assert np.array_equal(model.coef_[model.support_], known.weights)
    assert learner != "auto" or model.score(X, y) > 0.8
    # Absent is the usual value, not 0.
    blind = model.predict(np.full((1, D), np.nan))[0]
    usual = np.nanmean(holes, axis=0)
    assert blind == pytest.approx(float(model.predict(usual[np.newaxis])[0]), abs=0.2)
    assert abs(blind - model.predict(np.zeros((1, D)))[0]) > 1.0
    assert np.isfinite(model.predict(holes)).all()


def test_sparse_rows_are_those_written_out(data: tuple[Floats, Floats]) -> None:
    X, y = data
    X = np.where(np.random.default_rng(2).random(X.shape) < 0.5, 0.0, X)
    sparse = extra("scipy.sparse", "dev")
    for form in (sparse.csr_matrix, sparse.coo_array):
        model, written = regressor().fit(form(X), y), regressor().fit(X, y)
        assert (model.coef_ == written.coef_).all()
        assert (model.n_reads_, model.spent_) == (written.n_reads_, written.spent_)
        assert model.predict(form(X)) == pytest.approx(written.predict(X), rel=1e-12)
        assert (model.partial_fit(form(X), y).coef_ == written.partial_fit(X, y).coef_).all()
    with pytest.raises(ValueError, match="infinity"):
        regressor().fit(sparse.csr_matrix(np.where(X > 0, np.inf, X)), y)


def test_history_is_studied_before_the_first_row(data: tuple[Floats, Floats]) -> None:
    X, y = data
    old, new = (X[:300], y[:300]), (X[300:330], y[300:330])
    model, plain = regressor(history=old).fit(*new), regressor().fit(*new)
    assert model.n_reads_ == plain.n_reads_ == 30 * BUDGET
    assert model.score(X, y) > 0.98 > plain.score(X, y)
    learner = kh.AutoLearner(kh.Problem(D, K, BUDGET), seed=1)
    kh.play(learner, kh.streams.ArrayStream(*new), history=kh.streams.ArrayStream(*old))
    assert to_bytes(learner) == to_bytes(model.learner_)
    # A stream, a frame with names, and rows in parts come to the same.
    streamed = regressor(history=kh.streams.ArrayStream(*old)).partial_fit(*new)
    assert to_bytes(streamed.learner_) == to_bytes(learner)
    frame = pandas.DataFrame(X, columns=NAMES)
    named = regressor(history=(frame[:300], y[:300])).fit(frame[300:330], y[300:330])
    assert (named.coef_ == model.coef_).all()
    again = regressor(history=old).fit(*new).fit(*new)  # and it is studied once per fit
    assert (again.coef_ == model.coef_).all()


def test_rows_known_in_full_are_studied_between_parts(data: tuple[Floats, Floats]) -> None:
    X, y = data
    first = regressor().study(X[:300], y[:300])
    assert first.n_reads_ == 0
    assert first.score(X, y) > 0.98
    before = to_bytes(first.learner_)
    assert (first.predict(X[:3]) == first.predict(X[:3])).all()
    parts = regressor().study(X[:100], y[:100]).study(X[100:300], y[100:300])
    assert to_bytes(parts.learner_) == before
    assert (parts.coef_ == first.coef_).all()
    first.partial_fit(X[300:310], y[300:310]).study(X[310:], y[310:], half_life=50.0)
    assert first.n_reads_ == 10 * BUDGET
    assert first.learner_.round == 10
    reversed_ = regressor().study(X[:300], y[:300]).study(X[:300], 80.0 - y[:300], half_life=20.0)
    assert reversed_.score(X, 80.0 - y) > 0.9  # what came before has faded


def test_a_history_that_cannot_be_used_is_refused(data: tuple[Floats, Floats]) -> None:
    X, y = data
    fitted = regressor().fit(X, y)
    before = fitted.coef_.copy()
    for history, words in (
        ((X[:, :5], y), "X has 5 features"),
        ((X, y, y), "must be a pair"),
        (X, r"must be a pair \(X_old, y_old\) or a stream, got a ndarray"),
        ((X, np.append(y[1:], np.nan)), "NaN"),
    ):
        with pytest.raises(ValueError, match=words):
            fitted.set_params(history=history).fit(X, y)
        assert (fitted.coef_ == before).all()
    with pytest.raises(kh.ProblemError, match="cannot study"):
        regressor(learner="iht", history=(X, y)).fit(X, y)
    with pytest.raises(kh.ProblemError, match="cannot study"):
        regressor(learner="iht").study(X, y)


def test_clones_and_pickles_keep_the_history(data: tuple[Floats, Floats]) -> None:
    X, y = data
    model = regressor(history=(X[:300], y[:300])).fit(X[300:], y[300:])
    clone = extra("sklearn.base", "sklearn").clone
    for twin in (clone(model), pickle.loads(pickle.dumps(model))):
        assert (twin.fit(X[300:], y[300:]).coef_ == model.coef_).all()
    old = model.__getstate__()
    del old["history"]  # a pickle from before there was history
    twin = KeyholeRegressor.__new__(KeyholeRegressor)
    twin.__setstate__(old)
    assert twin.get_params()["history"] is None
