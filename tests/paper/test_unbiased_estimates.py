"""`equation:unbiased-estimate`, `equation:diag.bias`: what the learner's estimates expect to be.

The paper says that X_hat' X_hat - D_hat and X_hat' Y are unbiased. Here S_t runs through every
subset of k0 of the d features, with equal probability by definition, and the average of what
`DantzigLearner` estimates is compared with x x' and x y: no sampling, no margin but rounding.

The learner plays a support all the while, so that it buys more than S_t: those values are chosen
by a rule that knows the past and must not reach the estimates.
"""

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners import dantzig
from keyhole.problem import Floats, Observation

EXACTLY = 1e-12

ALL = [(d, k0) for d in range(1, 8) for k0 in range(1, d + 1)]
# With k0 = 1 < d no pair is ever seen: the exact weighting refuses to begin (tests of the learner).
WITH_PAIRS = [(d, k0) for d, k0 in ALL if k0 > 1 or d == 1]


class ExploitLeaks(kh.DantzigLearner):
    """Broken twin: whatever was bought goes into the moments, also the played support."""

    def tell(self, seen: Observation, y: float) -> None:
        ticket, label = self._desk.settle(seen, y)
        self._moments.add(ticket.features, seen.values, label)
        self._asked[ticket.features] += 1


def row(d: int, t: int = 0) -> tuple[Floats, float]:
    """Any row would do: no value is zero, none is like another."""
    rng = np.random.default_rng([d, t])
    return rng.uniform(0.5, 1.0, d) * rng.choice([-1.0, 1.0], d), 0.7 + t


def learner_of(make: type[kh.DantzigLearner], d: int, k0: int, weighting: str) -> kh.DantzigLearner:
    """A learner that explores with k0 and plays feature 0."""
    problem = kh.Problem(d, 1, d)
    learner = make(problem, seed=0, noise_sd=0.1, burn_in=1 << 40, weighting=weighting)
    learner.k0 = k0  # k0 = d - 1 is left out by budget - k: here every k0 of the paper is wanted
    learner._model = dantzig._Model(np.array([0]), np.array([0.5]), np.array([0.0]))
    return learner


def estimates(
    make: type[kh.DantzigLearner],
    rows: Sequence[tuple[Floats, float]],
    k0: int,
    weighting: str,
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[Floats, Floats]:
    """G and b for every sequence of subsets S_1, ..., S_n, one beside the other."""
    d = len(rows[0][0])
    subsets = [np.array(S, dtype=np.int64) for S in combinations(range(d), k0)]
    Gs, bs = [], []
    for sequence in product(subsets, repeat=len(rows)):
        learner = learner_of(make, d, k0, weighting)
        for S, (x, y) in zip(sequence, rows, strict=True):
            with monkeypatch.context() as patch:
                patch.setattr(dantzig, "uniform_subset", lambda *_, S=S: S)
                ticket = learner.ask()
            assert set(ticket.features) == {0, *S}
            learner.tell(kh.sell(learner.problem, ticket, x), y)
        G, b = learner._estimate()
        Gs.append(G)
        bs.append(b)
    return np.array(Gs), np.array(bs)


def is_unbiased(G: Floats, b: Floats, rows: Sequence[tuple[Floats, float]]) -> bool:
    """Whether the averages are those of x x' and x y."""
    truth_G = np.mean([np.outer(x, x) for x, _ in rows], axis=0)
    truth_b = np.mean([x * y for x, y in rows], axis=0)
    off = max(np.abs(G.mean(axis=0) - truth_G).max(), np.abs(b.mean(axis=0) - truth_b).max())
    return bool(off <= EXACTLY)


@pytest.mark.parametrize(("d", "k0"), WITH_PAIRS)
def test_exact_weighting_is_unbiased(d: int, k0: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(d)]
    G, b = estimates(kh.DantzigLearner, rows, k0, "exact", monkeypatch)
    assert is_unbiased(G, b, rows)


@pytest.mark.parametrize(("d", "k0"), ALL)
def test_printed_weighting_is_unbiased_except_off_the_diagonal(
    d: int, k0: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Off the diagonal it is too small by d(k0 - 1)/(k0(d - 1)): 0 at k0 = 1, 1 only at k0 = d."""
    x, y = row(d)
    G, b = estimates(kh.DantzigLearner, [(x, y)], k0, "paper", monkeypatch)
    assert is_unbiased(G, b, [(x, y)]) == (k0 == d)
    factor = np.full((d, d), d * (k0 - 1) / (k0 * (d - 1)) if d > 1 else 1.0)
    np.fill_diagonal(factor, 1.0)
    np.testing.assert_allclose(G.mean(axis=0), factor * np.outer(x, x), rtol=0, atol=EXACTLY)
    np.testing.assert_allclose(b.mean(axis=0), x * y, rtol=0, atol=EXACTLY)
    if k0 == 1 < d:
        assert not G[:, ~np.eye(d, dtype=bool)].any()


@pytest.mark.parametrize(("d", "k0"), WITH_PAIRS)
@pytest.mark.parametrize("weighting", ["exact", "paper"])
def test_a_leak_from_the_played_support_is_a_broken_twin(
    d: int, k0: int, weighting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row(d)]
    G, b = estimates(ExploitLeaks, rows, k0, weighting, monkeypatch)
    assert is_unbiased(G, b, rows) == (k0 == d)  # where everything is read there is nothing to leak


@pytest.mark.parametrize(("d", "k0"), WITH_PAIRS)
def test_variance_of_one_round_is_its_formula(
    d: int, k0: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Var G_ij = (1/P_ij - 1) (x_i x_j)^2 and Var b_i = (1/P_i - 1) (x_i y)^2."""
    x, y = row(d)
    G, b = estimates(kh.DantzigLearner, [(x, y)], k0, "exact", monkeypatch)
    P = np.full((d, d), k0 * (k0 - 1) / (d * (d - 1)) if d > 1 else 1.0)
    np.fill_diagonal(P, k0 / d)
    expected = (1 / P - 1) * np.outer(x, x) ** 2
    np.testing.assert_allclose(G.var(axis=0), expected, rtol=EXACTLY, atol=EXACTLY)
    np.testing.assert_allclose(
        b.var(axis=0), (d / k0 - 1) * (x * y) ** 2, rtol=EXACTLY, atol=EXACTLY
    )


@pytest.mark.parametrize(("d", "k0"), [(4, 2), (4, 3), (5, 2)])
def test_rounds_add_up(d: int, k0: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two different rows, every pair of subsets: still unbiased, and the variances add."""
    rows = [row(d, 0), row(d, 1)]
    G, b = estimates(kh.DantzigLearner, rows, k0, "exact", monkeypatch)
    assert is_unbiased(G, b, rows)
    squares: Floats = np.sum([np.outer(x, x) ** 2 for x, _ in rows], axis=0)
    pair = k0 * (k0 - 1) / (d * (d - 1))
    off = ~np.eye(d, dtype=bool)
    np.testing.assert_allclose(
        G.var(axis=0)[off], (1 / pair - 1) * squares[off] / 4, rtol=EXACTLY, atol=EXACTLY
    )
    G, b = estimates(ExploitLeaks, rows, k0, "exact", monkeypatch)
    assert not is_unbiased(G, b, rows)
