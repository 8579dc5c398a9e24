"""KeyholeClassifier for river: every check of river, blocks, classes, refusals."""

import copy
import pickle
from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest
from river import checks, evaluate, multiclass

import keyhole as kh
from keyhole.adapters.river import KeyholeClassifier
from keyhole.problem.optional_imports import extra

pd: Any = extra("pandas", "dev")
datasets: Any = extra("river.datasets", "river")
metrics: Any = extra("river.metrics", "river")
MODELS = (KeyholeClassifier(), KeyholeClassifier(sparsity=2, budget=3, seed=5))
CHECKS = [
    pytest.param(MODELS[i % 2], check, id=f"{MODELS[i % 2].budget}-{check.__name__}")
    for i, check in enumerate(checks.yield_checks(MODELS[0]))
]


@pytest.mark.parametrize(("model", "check"), CHECKS)
def test_river_checks(model: KeyholeClassifier, check: Any) -> None:
    check(model.clone())


def rows(n: int, seed: int = 0) -> list[tuple[dict[Hashable, Any], bool]]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    y = rng.random(n) < 1 / (1 + np.exp(-3 * X[:, 1]))
    pairs = zip(X, y, strict=True)
    return [({f"f{j}": float(v) for j, v in enumerate(x)}, bool(a)) for x, a in pairs]


def learnt(model: KeyholeClassifier, n: int = 200, seed: int = 0) -> KeyholeClassifier:
    for x, y in rows(n, seed):
        model.learn_one(x, y)
    return model


def test_it_learns_within_the_budget() -> None:
    model = KeyholeClassifier(sparsity=2, budget=3, seed=1)
    found = evaluate.progressive_val_score(rows(1500), model, metrics.LogLoss())
    assert model.n_reads == 3 * 1500 == model.spent
    # The drawn probabilities themselves have about 0.40, the share of yes 0.69.
    assert found.get() < 0.50
    assert max(model.weights, key=lambda name: abs(model.weights[name])) == "f1"


def test_it_is_the_learner_of_keyhole() -> None:
    model, data = KeyholeClassifier(sparsity=2, budget=3, seed=1), rows(300)
    X = np.array([list(x.values()) for x, _ in data])
    y = np.array([float(answer) for _, answer in data])
    learner = kh.YesNoLearner(kh.AutoLearner(kh.Problem(6, 2, 3), seed=1))
    predicted = learner.advance(X, y)
    for t, (x, answer) in enumerate(data):
        if t:
            assert model.predict_proba_one(x)[True] == predicted[t]
        model.learn_one(x, answer)


def test_blocks_are_rows() -> None:
    data = rows(240)
    one = KeyholeClassifier(sparsity=2, budget=3, seed=2)
    many = KeyholeClassifier(sparsity=2, budget=3, seed=2)
    X, y = pd.DataFrame([x for x, _ in data]), pd.Series([a for _, a in data])
    for x, answer in data:
        one.learn_one(x, answer)
    many.learn_many(X[:100], y[:100])
    many.learn_many(X[100:], y[100:])
    assert one.n_rounds == many.n_rounds == 240
    table = many.predict_proba_many(X[:20])
    assert list(table.columns) == [False, True]
    for t in range(20):
        assert one.predict_proba_one(data[t][0]) == table.iloc[t].to_dict()
    assert many.predict_many(X[:20]).tolist() == [one.predict_one(x) for x, _ in data[:20]]


def test_classes_of_any_kind() -> None:
    model = KeyholeClassifier(budget=3, sparsity=1)
    assert model.predict_proba_one({"a": 1.0}) == {False: 0.5, True: 0.5}
    model.learn_one({"a": 1.0}, "well")
    assert model.predict_proba_one({"a": 1.0}) == {"well": 1.0}
    model.learn_one({"a": 2.0}, "ill")
    assert model.classes == ("well", "ill")
    assert sum(model.predict_proba_one({"a": 1.0}).values()) == pytest.approx(1.0)
    chosen = KeyholeClassifier(positive="well")
    chosen.learn_one({"a": 1.0}, "well")
    chosen.learn_one({"a": 1.0}, "ill")
    assert chosen.classes == ("ill", "well")
    assert learnt(KeyholeClassifier()).classes == (False, True)


@pytest.mark.parametrize("label", ["third", None, float("nan")])
def test_other_labels_are_refused_without_a_trace(label: Any) -> None:
    model = learnt(KeyholeClassifier(sparsity=2, budget=3), 50)
    before = pickle.dumps(model)
    x = rows(1, 9)[0][0]
    with pytest.raises(kh.DataError, match=r"OneVsRest|must be a class"):
        model.learn_one(x, label)
    with pytest.raises(kh.DataError, match=r"OneVsRest|must be a class"):
        model.learn_many(pd.DataFrame([x]), pd.Series([label]))
    assert pickle.dumps(model) == before


def test_copies_go_on_alike() -> None:
    model = learnt(KeyholeClassifier(sparsity=2, budget=3), 60)
    twins = (copy.deepcopy(model), pickle.loads(pickle.dumps(model)))
    for x, y in rows(30, 4):
        for twin in twins:
            assert twin.predict_proba_one(x) == model.predict_proba_one(x)
            twin.learn_one(x, y)
        model.learn_one(x, y)


def test_several_classes_one_against_the_rest() -> None:
    model = multiclass.OneVsRestClassifier(KeyholeClassifier(sparsity=2, budget=4))
    found = evaluate.progressive_val_score(
        datasets.ImageSegments().take(300), model, metrics.Accuracy()
    )
    assert found.get() > 0.4  # chance is a seventh
