"""What scikit-learn shows of the estimators: names of the features used, HTML without warnings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from keyhole.adapters.sklearn import KeyholeClassifier, KeyholeRegressor

pd: Any = pytest.importorskip("pandas")
exceptions: Any = pytest.importorskip("sklearn.exceptions")
BOTH = (KeyholeRegressor, KeyholeClassifier)


def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 6)), columns=list("abcdef"))
    return X, (X["b"] - X["e"] > 0).to_numpy().astype(int)


@pytest.mark.parametrize("estimator", BOTH)
def test_names_of_the_features_that_are_used(estimator: Any) -> None:
    X, y = data()
    model = estimator(sparsity=2, budget=4, random_state=0).fit(X, y)
    assert model.get_feature_names_out().tolist() == [X.columns[j] for j in model.support_]
    plain = estimator(sparsity=2, budget=4, random_state=0).fit(X.to_numpy(), y)
    assert plain.get_feature_names_out().tolist() == [f"x{j}" for j in plain.support_]
    with pytest.raises(ValueError, match="input_features"):
        model.get_feature_names_out(list("fedcba"))


@pytest.mark.parametrize("estimator", BOTH)
def test_not_before_it_is_fitted(estimator: Any) -> None:
    with pytest.raises(exceptions.NotFittedError):
        estimator().get_feature_names_out()


@pytest.mark.parametrize("estimator", BOTH)
def test_html_comes_without_warnings(estimator: Any) -> None:
    assert estimator.__name__ in estimator()._repr_html_()  # warnings are errors in these tests
