"""Z'Z added stripe by stripe is Z'Z."""

from __future__ import annotations

import numpy as np
import pytest

from keyhole.learners.blocks.sums import data_sums as gram


@pytest.mark.parametrize("stripe", [1, 3, 4, 8, 9, 100])
def test_stripes_add_up_to_all_products(stripe: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole numbers: sums of their products are exact in whatever order."""
    monkeypatch.setattr(gram, "STRIPE_WIDTH", stripe)
    rng = np.random.default_rng(0)
    Z = rng.integers(-9, 10, (5, 8)).astype(np.float64)
    sums = rng.integers(0, 9, (8, 8)).astype(np.float64)
    sums += sums.T
    expected = sums + Z.T @ Z
    gram.add_products(sums, Z)
    assert (sums == expected).all()


@pytest.mark.parametrize("absent", [False, True])
def test_a_table_of_pairs_does_not_depend_on_stripes(
    absent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 7)), rng.standard_normal(40)
    if absent:
        X[rng.random(X.shape) < 0.2] = np.nan
    whole = gram.Gram(7)
    whole.add(X, y)
    monkeypatch.setattr(gram, "STRIPE_WIDTH", 3)
    striped = gram.Gram(7)
    striped.add(X, y)
    for name, part in whole.arrays().items():
        np.testing.assert_allclose(striped.arrays()[name], part, rtol=1e-12, atol=1e-12)
