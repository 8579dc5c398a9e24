"""g(S) from second moments: equal to least squares on the rows, singular designs included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.learners.blocks.fit.set_function import greedy, marginal_gains, residual, slot_gains
from keyhole.learners.blocks.sums.data_sums import Gram
from keyhole.learners.blocks.sums.moments import Moments
from keyhole.problem import Floats, Indices, ProblemError


def rows(seed: int, n: int, d: int, kind: str) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    if kind == "copies":
        X[:, 1] = -2 * X[:, 0]
        X[:, 2] = 0.0
        X[:, 3] = X[:, 4] + X[:, 0]
    return X, X[:, 0] + rng.uniform(-1, 1, n)


def direct(X: Floats, y: Floats, S: list[int]) -> float:
    """The definition: (1/n) inf_w |y - X_S w|^2."""
    if not S:
        return float(y @ y) / len(y)
    w = np.linalg.lstsq(X[:, S], y, rcond=1e-9)[0]
    return float(((y - X[:, S] @ w) ** 2).mean())


KINDS = st.sampled_from(["plain", "copies"])


@given(st.integers(0, 10**6), st.integers(1, 25), KINDS, st.lists(st.integers(0, 5), max_size=6))
def test_g_and_all_gains_are_least_squares(seed: int, n: int, kind: str, chosen: list[int]) -> None:
    """With fewer rows than features, repeated choices, copies and zero columns as well."""
    X, y = rows(seed, n, 6, kind)
    G, c, yy = X.T @ X, X.T @ y, float(y @ y)
    assert residual(G, c, yy, n, chosen) == pytest.approx(direct(X, y, sorted({*chosen})), abs=1e-7)
    if not chosen:
        return
    levels, gains = slot_gains(G, c, yy, n, chosen)
    for i in range(len(chosen)):
        V = sorted({*chosen[:i]})
        assert levels[i] == pytest.approx(direct(X, y, V), abs=1e-7)
        ours = [levels[i] - direct(X, y, sorted({*V, j})) for j in range(6)]
        np.testing.assert_allclose(gains[i], ours, atol=1e-7)
    assert (gains >= 0).all()


def test_solving_the_normal_equations_is_a_broken_twin() -> None:
    """Without the semantics of the pseudo-inverse a copied feature gives nonsense or an error."""
    X, y = rows(0, 25, 6, "copies")
    G, c, yy = X.T @ X, X.T @ y, float(y @ y)
    S = [0, 1]
    try:
        w = np.linalg.solve(G[np.ix_(S, S)], c[S])
        twin = (yy - float(c[S] @ w)) / 25
    except np.linalg.LinAlgError:
        twin = np.nan
    assert not abs(twin - direct(X, y, S)) <= 1e-7 or abs(w).max() > 1e6
    assert residual(G, c, yy, 25, S) == pytest.approx(direct(X, y, S), abs=1e-9)


def test_only_the_part_that_a_mini_batch_keeps_is_read() -> None:
    """The upper triangle: the diagonal, and rows and columns of chosen features; the rest NaN."""
    X, y = rows(3, 30, 6, "plain")
    G, c, yy = X.T @ X, X.T @ y, float(y @ y)
    kept = np.full((6, 6), np.nan)
    for v in (4, 1):
        kept[v], kept[:, v] = G[v], G[:, v]
    np.fill_diagonal(kept, np.diag(G))
    kept[np.tril_indices(6, -1)] = np.nan
    whole = slot_gains(G, c, yy, 30, [4, 1])
    for a, b in zip(whole, slot_gains(kept, c, yy, 30, [4, 1]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_gram_and_moments_give_the_same() -> None:
    X, y = rows(1, 40, 5, "plain")
    gram, moments = Gram(5), Moments(5)
    gram.add(X, y)
    moments.add_rows(np.tile(np.arange(5), (40, 1)), X, y)
    raw = gram.raw()
    ours = slot_gains(raw.G, raw.c, raw.yy, gram.n, [2, 0])[1]
    np.testing.assert_allclose(
        ours, slot_gains(moments.XX, moments.Xy, moments.yy, moments.n, [2, 0])[1], atol=1e-12
    )


def slow_greedy(X: Floats, y: Floats, k: int) -> Indices:
    V: list[int] = []
    for _ in range(k):
        V.append(min(range(X.shape[1]), key=lambda j: direct(X, y, [*V, j])))
    return np.array(V)


@given(st.integers(0, 10**6))
def test_greedy_takes_the_best_step(seed: int) -> None:
    X, y = rows(seed, 30, 6, "plain")
    V, loss = greedy(X.T @ X, X.T @ y, float(y @ y), 30, 3)
    assert V.tolist() == slow_greedy(X, y, 3).tolist()
    assert loss == pytest.approx(direct(X, y, V.tolist()))
    # Broken twin: the three best single features, which is not greedy on correlated ones.
    assert marginal_gains(X.T @ X, X.T @ y, float(y @ y), 30, [])[V[0]] > 0


def test_taking_the_best_single_features_is_a_broken_twin() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 4))
    X[:, 1] = X[:, 0] + 0.01 * X[:, 3]
    y = X[:, 0] + 0.5 * X[:, 2]
    G, c, yy = X.T @ X, X.T @ y, float(y @ y)
    single = np.argsort(-marginal_gains(G, c, yy, 200, []))[:2]
    V, loss = greedy(G, c, yy, 200, 2)
    assert sorted(single.tolist()) == [0, 1]
    assert sorted(V.tolist()) == [0, 2]
    assert loss < 0.1 * residual(G, c, yy, 200, single)


def test_greedy_stops_when_nothing_is_gained() -> None:
    G, c = np.eye(3), np.array([1.0, 0.0, 0.0])
    assert greedy(G, c, 2.0, 1, 3)[0].tolist() == [0]
    with pytest.raises(ProblemError, match="n must be at least 1"):
        residual(G, c, 2.0, 0, [])
