"""model(shapes=True): as many features as model(), better where the world is bent, and pure."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

import keyhole as kh
from keyhole.errors import ProblemError
from keyhole.problem import Floats
from keyhole.saving.api import from_bytes, to_bytes


def bent(seed: int, n: int = 4000) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 12))
    curve = X[:, 3] + np.abs(X[:, 3]) + X[:, 7] * (1.0 + X[:, 3])
    return X, curve + 0.3 * rng.standard_normal(n)


def straight(seed: int, n: int = 4000) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 12))
    return X, X[:, 3] - 0.5 * X[:, 7] + rng.standard_normal(n)


def played(X: Floats, y: Floats, seed: int = 0, k: int = 2) -> kh.AutoLearner:
    learner = kh.AutoLearner(kh.Problem(d=X.shape[1], k=k, budget=5), seed=seed)
    learner.advance(X, y)
    return learner


def losses(learner: kh.AutoLearner, X: Floats, y: Floats) -> tuple[float, float]:
    """Mean squared loss of the linear model and of that with shapes, on rows not seen."""
    line, model = learner.model(), learner.model(shapes=True)
    return (
        float(np.mean((y - line.predict(X[:, line.features])) ** 2)),
        float(np.mean((y - model.predict(X[:, model.features])) ** 2)),
    )


@pytest.mark.parametrize("seed", range(3))
def test_better_where_the_world_is_bent_and_no_worse_where_it_is_straight(seed: int) -> None:
    """Noise of variance .09 is left to the first; the second may cost two standard errors."""
    X, y = bent(seed)
    linear, shaped = losses(played(X, y, seed), *bent(seed + 100))
    assert shaped < 0.35 < linear
    X, y = straight(seed)
    linear, shaped = losses(played(X, y, seed), *straight(seed + 100))
    assert shaped < linear + 2.0 * np.sqrt(2.0 / 4000)


def test_a_known_curve_comes_back() -> None:
    """Within three standard errors of a cell of rows, and a straight line does not pass."""
    X, y = bent(0)
    model = played(X, y).model(shapes=True)
    at = np.linspace(-1.5, 1.5, 13)
    adds = model.effect("x3", at)[1]
    true = at + np.abs(at)
    off = (adds - adds.mean()) - (true - true.mean())
    margin = 3.0 * np.sqrt(1.09 / (2048 / 25))  # y varies by 1 + .09 around it, in 25 cells
    assert np.abs(off).max() < margin
    line = np.polyval(np.polyfit(at, true, 1), at)
    twin = (adds - adds.mean()) - (line - line.mean())
    assert np.abs(twin).max() > margin


def test_nothing_changes_by_asking() -> None:
    learner = played(*bent(0))
    before, line = to_bytes(learner), learner.model()
    first, again = learner.model(shapes=True), learner.model(shapes=True)
    assert to_bytes(learner) == before
    assert first.to_json() == again.to_json()
    assert np.array_equal(line.weights, learner.model().weights)
    assert np.array_equal(line.weights, learner.model(shapes=False).weights)
    again = cast(kh.AutoLearner, from_bytes(before)).model(shapes=True)
    assert again.to_json() == first.to_json()


def test_counts_features_as_model_does() -> None:
    X, y = bent(0)
    for k in (1, 2, 4):
        assert len(played(X, y, k=k).model(shapes=True).names) <= k
    names, prices = [f"f{j}" for j in range(12)], [1.0] * 12
    prices[3] = 4.0
    dear = kh.Problem(12, 3, 5.0, names=names, prices=prices)
    learner = kh.AutoLearner(dear, seed=0)
    learner.advance(X, y)
    found = learner.model(shapes=True)
    assert dear.affords(found.features)
    assert len(found.names) <= 3
    assert found.names == tuple(names[j] for j in found.features)
    columns = kh.Problem(
        12, 2, 3, panels={"both": (1, [3, 4])}, prices=[0, *[1] * 2, *[0] * 2, *[1] * 7]
    )
    learner = kh.AutoLearner(columns, seed=0)
    learner.advance(X, y)
    assert len(learner.model(shapes=True).names) <= 2


def test_absent_values() -> None:
    rng = np.random.default_rng(0)
    X, y = bent(0)
    X[rng.random(X.shape) < 0.2] = np.nan
    learner = played(X, y)
    model = learner.model(shapes=True)
    assert np.isfinite(model.predict(np.full((1, len(model.names)), np.nan))).all()
    Z, z = bent(50)
    Z[rng.random(Z.shape) < 0.2] = np.nan
    loss = float(np.mean((z - model.predict(Z[:, model.features])) ** 2))
    assert loss < 0.8 * z.var()


def test_without_rows_it_is_the_linear_model() -> None:
    empty = kh.AutoLearner(kh.Problem(3, 1, 2), seed=0).model(shapes=True)
    assert empty.predict(np.empty((2, 0))).tolist() == [0.0, 0.0]
    X, y = straight(0)
    learner = played(X[:40], y[:40])
    line, model = learner.model(), learner.model(shapes=True)
    assert model.names == line.names
    assert len(model.trees.leaves) == 0
    some = X[:40][:, line.features]
    inside = np.clip(line.predict(some), model.low, model.high)
    assert model.predict(some) == pytest.approx(inside, abs=1e-9)


@pytest.mark.parametrize(("x", "y"), [(1e140, 1.0), (1.0, 1e140), (1e145, 1e145), (1e-140, 1e-140)])
def test_units_do_not_matter(x: float, y: float) -> None:
    """The same model in other units, and neither overflow nor a curve that is lost."""
    X, label = bent(0, 1500)
    Z, z = bent(60)
    model = played(x * X, y * label).model(shapes=True)
    shares = np.corrcoef(model.predict(x * Z[:, model.features]) / y, z)[0, 1]
    assert shares > 0.9
    assert kh.ShapeModel.from_json(model.to_json()).to_json() == model.to_json()


def test_sums_and_history() -> None:
    """Sums have no rows: the model is straight. History has: there is a model before any round."""
    X, y = bent(0)
    Z, z = bent(60)
    straight_one, bent_one = (kh.AutoLearner(kh.Problem(12, 2, 5), seed=0) for _ in range(2))
    straight_one.study(kh.sums(kh.streams.ArrayStream(X, y)))
    line = straight_one.model(shapes=True)
    assert line.names == ("x3", "x7")
    assert len(line.trees.leaves) == 0
    bent_one.study(kh.streams.ArrayStream(X, y))
    model = bent_one.model(shapes=True)
    assert np.mean((z - model.predict(Z[:, model.features])) ** 2) < 0.35


def test_left_out_rows_say_how_good_it_is() -> None:
    """What was missed of late is what will be missed, up to three standard errors."""
    X, y = bent(0)
    model = played(X, y).model(shapes=True)
    Z, z = bent(70)
    later = (z - model.predict(Z[:, model.features])) ** 2
    error = np.std(model.missed**2) / np.sqrt(len(model.missed))
    assert len(model.missed) == 512
    assert abs(np.mean(model.missed**2) - later.mean()) < 3.0 * error + 0.05


def test_refused_by_name_where_there_are_none() -> None:
    problem = kh.Problem(5, 2, 3)
    for how in ({"proper": True}, {"shapes": False}):
        with pytest.raises(ProblemError, match=r"model\(shapes=True\) needs a learner with shapes"):
            kh.AutoLearner(problem, seed=0, **how).model(shapes=True)  # type: ignore[arg-type]
        assert kh.AutoLearner(problem, seed=0, **how).model().names == ()  # type: ignore[arg-type]
    other = kh.OnlineGreedyLearner(problem, seed=0)
    for name in ("model", "explain", "curves"):
        with pytest.raises(AttributeError, match=f"OnlineGreedyLearner has no `{name}`: only Auto"):
            getattr(other, name)
        with pytest.raises(AttributeError, match=f"no `{name}`: only AutoLearner"):
            getattr(kh.YesNoLearner(kh.OnlineGreedyLearner(problem, seed=0)), name)
        assert not hasattr(other, name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        other.nonsense  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ProblemError, match="shapes"):
        kh.AutoLearner(problem, seed=0).model(shapes="yes")  # type: ignore[call-overload]


def test_scores_of_yes_or_no() -> None:
    """Probabilities from scores of the model: better than of the linear model, and calibrated."""
    X, y = bent(0)
    learner = kh.YesNoLearner(kh.AutoLearner(kh.Problem(d=12, k=2, budget=5), seed=0))
    learner.advance(X, (y > 1.0).astype(float))
    Z, z = bent(80)
    answers = z > 1.0
    model, line = learner.model(shapes=True), learner.model()
    shaped = learner.probabilities(model.predict(Z[:, model.features]), shapes=True)
    plain = learner.probabilities(line.predict(Z[:, line.features]))

    def log_loss(p: Floats) -> float:
        return float(-np.mean(np.where(answers, np.log(p), np.log1p(-p))))

    assert log_loss(shaped) < 0.8 * log_loss(plain)
    sure = shaped > 0.9
    assert sure.sum() > 300
    assert answers[sure].mean() > 0.85
