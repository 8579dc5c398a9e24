"""Prices in the estimators of scikit-learn and river: never above the budget, to the last cent."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import evaluate

import keyhole as kh
from keyhole.adapters import river as for_river
from keyhole.adapters import sklearn as for_sklearn
from keyhole.problem import Floats
from keyhole.problem.optional_imports import extra

base: Any = extra("sklearn.base", "sklearn")
checks: Any = extra("sklearn.utils.estimator_checks", "sklearn")
pd: Any = extra("pandas", "dev")
metrics: Any = extra("river.metrics", "river")

NAMES = ["age", "crp", "alb", "ddimer", "mri", "copy"]
PRICES: dict[str, Any] = {
    "age": 0,
    "crp": "0.10",
    "alb": "0.20",
    "ddimer": 3,
    "mri": 50,
    "copy": "2.50",
}
PANELS = {"blood": ("1.30", ["crp", "alb"])}
BUDGET = "4.10"
FILE = """feature,price,panel
age,0,
blood,1.30,
crp,0.10,blood
alb,0.20,blood
ddimer,3,
mri,50,
copy,2.50,
"""


def rows(n: int = 400, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:, 5] = X[:, 4] + 0.1 * rng.normal(size=n)  # a cheap copy of the dear one
    return X, 2 * X[:, 1] + X[:, 4] + X[:, 0] + 0.3 * rng.normal(size=n)


def frame(n: int = 400, seed: int = 0) -> tuple[Any, Any]:
    X, y = rows(n, seed)
    return pd.DataFrame(X, columns=NAMES), pd.Series(y)


def regressor(**changes: Any) -> for_sklearn.KeyholeRegressor:
    usual = {"sparsity": 3, "budget": BUDGET, "random_state": 1, "prices": PRICES, "panels": PANELS}
    return for_sklearn.KeyholeRegressor(**{**usual, **changes})


def problem(budget: Any = BUDGET) -> kh.Problem:
    return kh.Problem(6, 3, budget, NAMES, prices=PRICES, panels=PANELS)


# scikit-learn


def test_the_same_prices_in_every_form_are_the_game_of_play(tmp_path: Path) -> None:
    X, y = frame()
    ledger = kh.play(kh.AutoLearner(problem(), seed=1), kh.streams.ArrayStream(*rows(), NAMES))
    path = tmp_path / "prices.csv"
    path.write_text(FILE)
    table = kh.read_prices(path)
    forms: list[dict[str, Any]] = [
        {},
        {"prices": list(PRICES.values())},
        {"prices": np.array([0, 0.1, 0.2, 3, 50, 2.5])},
        {"prices": pd.Series(PRICES)[::-1]},  # by label, whatever the order
        {"prices": table, "panels": None},
        {"prices": path, "panels": None},
        {"prices": str(path), "panels": None},
    ]
    for form in forms:
        model = regressor(**form).fit(X, y)
        assert model.spent_ == ledger.spent
        assert model.n_reads_ == int(ledger.reads.sum())
        assert model.learner_.problem.cost(range(6)) == 57.1
        assert model.cost_ == model.learner_.problem.cost(model.support_) <= 4.1
        assert "mri" not in model.feature_names_in_[model.support_]
        assert model.score(X, y) > 0.7


def test_the_contract_with_prices() -> None:
    """The checks hand over arrays of many widths: a panel of the first column fits them all."""
    model = for_sklearn.KeyholeRegressor(panels={"lab": ("2.50", [0])})
    found = checks.check_estimator(model, on_skip=None, on_fail=None)
    failed = {c["check_name"] for c in found if c["status"] == "failed"}
    assert failed == set()
    assert len(found) > 40


def test_a_whole_budget_of_money_and_parts() -> None:
    X, y = frame()
    whole = regressor().fit(X, y)
    parts = regressor()
    for start in range(0, 400, 64):
        parts = parts.partial_fit(X[start : start + 64], y[start : start + 64])
    assert (parts.coef_ == whole.coef_).all()
    assert parts.spent_ == whole.spent_  # sums of tenths, and still the same float
    assert regressor(passes=2).fit(X, y).spent_ > whole.spent_


def test_clones_searches_and_pickles_keep_prices() -> None:
    X, y = frame()
    model = regressor(worth=2.0).fit(X, y)
    for other in (base.clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.get_params() == model.get_params()
        assert other.fit(X, y).spent_ == model.spent_
    search = extra("sklearn.model_selection", "sklearn").GridSearchCV(
        regressor(), {"budget": [1.5, "4.10", 1000], "sparsity": [1, 99]}, cv=2
    )
    assert search.fit(X, y).best_params_["sparsity"] == 99  # cut to what the money buys


def test_pickles_from_before_there_were_prices() -> None:
    X, y = rows()
    model = for_sklearn.KeyholeRegressor(2, 3, random_state=0).fit(X, y)
    state = model.__getstate__()
    for later in ("prices", "panels", "worth", "spent_", "cost_"):
        del state[later]
    old = for_sklearn.KeyholeRegressor.__new__(for_sklearn.KeyholeRegressor)
    old.__setstate__(state)
    assert old.prices is old.panels is old.worth is None
    assert old.spent_ == model.spent_ == model.n_reads_ == 1200
    assert old.cost_ == model.cost_ == len(model.support_)


def test_what_an_error_is_worth() -> None:
    X, y = frame()
    assert regressor(worth=1e-6).fit(X, y).spent_ < 0.2 * regressor(worth=100.0).fit(X, y).spent_


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"worth": 1.0, "prices": None, "panels": None, "budget": 4}, "worth needs prices"),
        ({"worth": 1.0, "learner": "random"}, "worth is for learner='auto', got 'random'"),
        ({"worth": -1.0}, "worth must be"),
        ({"budget": -1}, "budget must be an amount"),
        ({"budget": float("nan")}, "budget must be an amount"),
        ({"prices": {**PRICES, "crb": 1}}, "there is no feature 'crb'.*did you mean 'crp'"),
        ({"prices": {"age": 0}}, "ddimer.* has none"),
        ({"prices": [1, 2]}, "prices must be one per feature, 6 of them"),
        ({"prices": dict.fromkeys(NAMES, 9), "panels": None}, "buys nothing"),
        ({"panels": {"blood": (1, ["x"])}}, "there is no feature 'x'"),
    ],
)
def test_what_cannot_be_used_is_one_line(changes: dict[str, Any], message: str) -> None:
    model = regressor(**changes)
    with pytest.raises(kh.ProblemError, match=message):
        model.fit(*frame())
    assert set(vars(model)) == set(model.get_params())


def test_a_table_by_name_needs_names(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(FILE)
    with pytest.raises(
        kh.ProblemError, match=r"prices.csv: prices by name need columns with names"
    ):
        regressor(prices=path, panels=None).fit(*rows())
    with pytest.raises(kh.DataError, match=r"nowhere.csv"):
        regressor(prices=tmp_path / "nowhere.csv", panels=None).fit(*frame())


# river


def model_of(**changes: Any) -> for_river.KeyholeRegressor:
    usual = {"sparsity": 3, "budget": BUDGET, "seed": 1, "prices": PRICES, "panels": PANELS}
    return for_river.KeyholeRegressor(**{**usual, **changes})


def as_rows(n: int = 200) -> list[tuple[dict[Any, Any], float]]:
    X, y = rows(n)
    return [
        (dict(zip(NAMES, x, strict=True)), label)
        for x, label in zip(X.tolist(), y.tolist(), strict=True)
    ]


def test_river_plays_as_keyhole_does_and_counts_money() -> None:
    names = sorted(NAMES)
    order = [NAMES.index(name) for name in names]
    X, y = rows(200)
    played = kh.Problem(6, 3, BUDGET, names, prices=PRICES, panels=PANELS)
    ledger = kh.play(kh.AutoLearner(played, seed=1), kh.streams.ArrayStream(X[:, order], y, names))
    model = model_of()
    evaluate.progressive_val_score(as_rows(), model, metrics.MSE())
    assert model.n_rounds == 200
    assert model.spent == ledger.spent  # a row that is predicted and learnt is paid for once
    assert model.n_reads == int(ledger.reads.sum())
    many = model_of()
    many.learn_many(*frame(200))
    assert (many.spent, many.weights) == (model.spent, model.weights)


def test_river_predicts_many_and_pays_for_each_row() -> None:
    model = model_of()
    model.learn_many(*frame(100))
    before, features = model.spent, [str(name) for name in model.next_features]
    X, _ = frame(50, seed=1)
    model.predict_many(X)
    each = problem().cost([NAMES.index(name) for name in features])
    assert model.spent == pytest.approx(before + 50 * each, abs=1e-9)
    before = model.spent
    model.predict_many(X.drop(columns=[features[-1]]))  # what is not there costs nothing
    less = problem().cost([NAMES.index(name) for name in features[:-1]])
    assert model.spent == pytest.approx(before + 50 * less, abs=1e-9)


def test_river_without_prices_counts_values() -> None:
    model = for_river.KeyholeRegressor(2, 3, seed=1)
    model.learn_many(*frame(100))
    assert model.spent == model.n_reads == 300


def test_names_that_come_later_bring_their_prices() -> None:
    model = model_of()
    for at, (x, y) in enumerate(as_rows(64)):
        model.learn_one(x if at >= 20 else {n: x[n] for n in ("age", "crp", "copy")}, y)
    assert model.n_starts == 2
    assert problem().affords([NAMES.index(str(name)) for name in model.next_features])
    assert 0 < model.spent <= 64 * 4.1
    again = pickle.loads(pickle.dumps(model))
    assert again.spent == model.spent
    assert model.clone().prices == PRICES


def test_a_name_without_a_price_is_refused_at_once_and_changes_nothing() -> None:
    model = model_of()
    x, y = as_rows(1)[0]
    with pytest.raises(kh.ProblemError, match="there is no price for 'pet'"):
        model.learn_one({**x, "pet": 1.0}, y)
    assert (model.n_rounds, model.spent, model.n_starts) == (0, 0.0, 0)
    for row, label in as_rows(9):
        model.learn_one(row, label)
    before = pickle.dumps(model)
    with pytest.raises(kh.ProblemError, match="there is no price for 'pet'"):
        model.learn_one({**x, "pet": 1.0}, y)
    assert pickle.dumps(model) == before


def test_names_of_any_kind_have_prices() -> None:
    model = model_of(prices={7: 1, "a": 2}, panels={"both": (1, [7, "a"])}, budget=3)
    for t in range(20):
        model.learn_one({7: float(t % 3), "a": float(t % 5)}, float(t % 3))
    assert 0 < model.spent <= 20 * 3
    alike = model_of(prices={7: 1}, panels=None, budget=3)
    with pytest.raises(kh.ProblemError, match="look alike"):
        alike.learn_one({7: 1.0, "7": 2.0}, 1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prices": [1, 2, 3]}, "prices must be by name"),
        ({"worth": 1.0, "prices": None, "panels": None, "budget": 4}, "worth needs prices"),
        ({"worth": 1.0, "learner": "random"}, "worth is for learner='auto'"),
        ({"budget": -2}, "budget must be an amount"),
        ({"prices": {"age": -1}}, "the price of 'age'"),
        ({"panels": {"blood": "crp"}}, "panel 'blood' must be a price and its features"),
        ({"panels": {"blood": (1, "crp")}}, "needs a list of features"),
        ({"prices": kh.PriceTable(PRICES)}, "its own panels"),
    ],
)
def test_what_river_cannot_use_is_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(kh.ProblemError, match=message):
        model_of(**changes)


def test_river_pickles_from_before_there_were_prices() -> None:
    model = for_river.KeyholeRegressor(2, 3, seed=1)
    model.learn_many(*frame(50))
    state = model.__getstate__()
    for later in ("prices", "panels", "worth", "_table", "_units"):
        del state[later]
    old = for_river.KeyholeRegressor.__new__(for_river.KeyholeRegressor)
    old.__setstate__(state)
    old.learn_many(*frame(50))
    model.learn_many(*frame(50))
    assert (old.spent, old.weights) == (model.spent, model.weights)
