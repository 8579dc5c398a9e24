"""Zero-imputed, discounted sums against their definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyhole as kh
from keyhole.learners.blocks.sums.memories import fold_row, memories, remember


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 8), st.sampled_from([3.0, 64.0]))
def test_sums_are_those_of_the_definition(seed: int, d: int, batches: int, tau: float) -> None:
    rng = np.random.default_rng(seed)
    kept = memories(d, [np.inf, tau])
    rows: list[tuple[np.ndarray, float, np.ndarray, int]] = []
    total = 0
    for _ in range(batches):
        S = np.sort(rng.choice(d, rng.integers(1, d + 1), replace=False))
        n = int(rng.integers(1, 5))
        X, y = rng.standard_normal((n, len(S))), rng.standard_normal(n)
        X[rng.random(X.shape) < 0.2] = np.nan
        remember(kept, S, X, y)
        total += n
        for x, label in zip(X, y.tolist(), strict=True):
            z, read = np.zeros(d + 1), np.zeros(d + 1)
            z[S], read[S] = np.nan_to_num(x), ~np.isnan(x)
            z[d] = read[d] = 1.0
            rows.append((z, label, read, total))  # forgotten by whole batches
    for m, reach in enumerate([np.inf, tau]):
        a = [np.exp(-(total - end) / reach) for _, _, _, end in rows]
        scale = kept.scale[m]
        G = sum(w * np.outer(z, z) for w, (z, _, _, _) in zip(a, rows, strict=True))
        c = sum(w * z * y for w, (z, y, _, _) in zip(a, rows, strict=True))
        n_j = sum(w * read for w, (_, _, read, _) in zip(a, rows, strict=True))
        np.testing.assert_allclose(kept.G[m] * scale, G, atol=1e-12)
        np.testing.assert_allclose(kept.c[m] * scale, c, atol=1e-12)
        yy = sum(w * y * y for w, (_, y, _, _) in zip(a, rows, strict=True))
        np.testing.assert_allclose(kept.n[m] * scale, n_j, atol=1e-12)
        np.testing.assert_allclose(kept.yy[m] * scale, yy, atol=1e-12)


def test_a_short_memory_runs_for_ever() -> None:
    """exp(-t/tau) underflows after 745 tau rounds; the sums must not."""
    kept = memories(1, [2.0])
    for _ in range(2_000):
        remember(kept, np.array([0]), np.array([[2.0]]), np.array([3.0]))
    limit, scale = 1.0 / (1.0 - np.exp(-0.5)), kept.scale[0]
    np.testing.assert_allclose(kept.n[0] * scale, [limit, limit], rtol=1e-9)
    np.testing.assert_allclose(kept.c[0] * scale, [6.0 * limit, 3.0 * limit], rtol=1e-9)
    np.testing.assert_allclose(kept.yy[0] * scale, 9.0 * limit, rtol=1e-9)
    G = limit * np.array([[4.0, 2.0], [2.0, 1.0]])
    np.testing.assert_allclose(kept.G[0] * scale, G, rtol=1e-9)


def test_a_memory_that_is_multiplied_out_keeps_what_it_knew() -> None:
    """Half of what was there before is left when the scale is below 1e-60, and all of it counts."""
    kept = memories(1, [1.0 / np.log(2.0)])  # half of everything is forgotten in a round
    kept.scale[0] = 1.5e-60
    kept.G[0], kept.c[0], kept.n[0], kept.yy[0] = 4e60, 6e60, 8e60, 2e60
    remember(kept, np.array([0]), np.array([[0.0]]), np.array([0.0]))
    assert kept.scale[0] == 1.0
    np.testing.assert_allclose(kept.G[0], [[3.0, 3.0], [3.0, 4.0]])
    np.testing.assert_allclose(kept.c[0], [4.5, 4.5])
    np.testing.assert_allclose(kept.n[0], [7.0, 7.0])
    np.testing.assert_allclose(kept.yy[0], 1.5)


def test_a_memory_needs_a_positive_span() -> None:
    with pytest.raises(kh.ProblemError, match="taus must be positive"):
        memories(2, [0.0])


@pytest.mark.parametrize("keep", [1.0, 0.5, 0.97])
def test_a_complete_row_is_added_and_all_before_it_fades(keep: float) -> None:
    """G = sum keep^age z z', and so on; other memories are as they were."""
    rng, kept = np.random.default_rng(2), memories(3, [np.inf, 5.0])
    Z, y = rng.standard_normal((12, 4)), rng.standard_normal(12)
    seen = (rng.random((12, 4)) < 0.8).astype(float)
    Z[:, 3] = seen[:, 3] = 1.0
    Z *= seen
    for z, there, label in zip(Z, seen, y.tolist(), strict=True):
        fold_row(kept, 0, keep, z, there, label)
    a, scale = keep ** np.arange(12)[::-1], kept.scale[0]
    np.testing.assert_allclose(kept.G[0] * scale, (Z * a[:, None]).T @ Z, atol=1e-12)
    np.testing.assert_allclose(kept.c[0] * scale, (a * y) @ Z, atol=1e-12)
    np.testing.assert_allclose(kept.n[0] * scale, a @ seen, atol=1e-12)
    np.testing.assert_allclose(kept.yy[0] * scale, a @ y**2, atol=1e-12)
    assert (kept.G[0] == kept.G[0].T).all()
    assert not any(part[1].any() for part in (kept.G, kept.c, kept.n, kept.yy))
    assert kept.scale[1] == 1.0


def test_complete_rows_that_fade_go_on_for_ever() -> None:
    """0.5^t underflows after 1,074 rows; the sums must not."""
    kept = memories(1, [np.inf])
    for _ in range(1_500):
        fold_row(kept, 0, 0.5, np.array([2.0, 1.0]), np.ones(2), 3.0)
    scale = kept.scale[0]
    np.testing.assert_allclose(kept.G[0] * scale, [[8.0, 4.0], [4.0, 2.0]], rtol=1e-12)
    np.testing.assert_allclose(kept.c[0] * scale, [12.0, 6.0], rtol=1e-12)
    np.testing.assert_allclose(kept.n[0] * scale, [2.0, 2.0], rtol=1e-12)
    np.testing.assert_allclose(kept.yy[0] * scale, 18.0, rtol=1e-12)
