"""`algorithm:sup-modu`: the learner plays what a line-by-line transcription of it plays.

The transcription keeps whole rows of a batch and calls least squares anew for every g_b and every
prediction; nothing of the library is in it but the keyed draws.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.draw.sampling import categorical, complement_subset
from keyhole.problem import Floats
from tests.helpers.rounds import sparse_rows

Transcript = list[tuple[list[int], float]]


def g(X: Floats, y: Floats, S: list[int]) -> float:
    """`equation:gt`."""
    if not S:
        return float((y**2).mean())
    w = np.linalg.lstsq(X[:, S], y, rcond=1e-9)[0]
    return float(((y - X[:, S] @ w) ** 2).mean())


def vaw(X: Floats, y: Floats, x: Floats) -> float:
    """The forward algorithm with ridge 1 on the rows (X, y) and the new x."""
    A = np.eye(X.shape[1]) + X.T @ X + np.outer(x, x)
    return float(np.linalg.solve(A, X.T @ y) @ x)


def exponential_weights(L: Floats, t: int, d: int, M: int) -> Floats:
    eta = math.sqrt(M * math.log(d) / (t * d))
    w = np.exp(-eta * (L - L.min()))
    p: Floats = w / w.sum()
    return p


@dataclass(frozen=True)
class Lines:
    """The lines that broken twins replace."""

    probabilities: Callable[[Floats, int, int, int], Floats] = exponential_weights
    given: Callable[[list[int], int], list[int]] = field(default=lambda j, i: j[:i])  # V^(i-1)
    inclusion: Callable[[float, int, int], float] = field(
        default=lambda p, M, d: p + (1 - p) * (M - 1) / (d - 1)
    )
    restart: bool = True


def printed(
    X: Floats, y: Floats, *, B: int, k0: int, k1: int, seed: int, lines: Lines
) -> Transcript:
    T, d = X.shape
    M = [k0 // k1 + (i < k0 % k1) for i in range(k1)]
    L = np.zeros((k1, d))  # BEXP^(i), i in [k1]
    transcript: Transcript = []
    for b in range(1, math.ceil(T / B) + 1):
        batch = slice((b - 1) * B, min(b * B, T))
        j, U, q = [], [], []
        for i in range(k1):
            p = lines.probabilities(L[i], b, d, M[i])
            j.append(categorical(seed, b, p, purpose=2 * i))
            rest = complement_subset(seed, b, d, M[i] - 1, [j[i]], purpose=2 * i + 1)
            U.append([j[i], *rest.tolist()])
            q.append([lines.inclusion(float(p[e]), M[i], d) for e in U[i]])
        V = sorted(set(j))
        S = sorted({e for u in U for e in u})
        first = batch.start if lines.restart else 0
        for t in range(batch.start, batch.stop):
            transcript.append((S, vaw(X[first:t][:, V], y[first:t], X[t, V])))
        if batch.stop - batch.start < B:
            break
        for i in range(k1):
            before = lines.given(j, i)
            for e, chance in zip(U[i], q[i], strict=True):
                L[i, e] += g(X[batch], y[batch], sorted({*before, e})) / chance
    return transcript


def learner_plays(X: Floats, y: Floats, *, B: int, k0: int, k1: int, seed: int) -> Transcript:
    problem = kh.Problem(d=X.shape[1], k=1, budget=k0)
    learner = kh.OnlineGreedyLearner(problem, seed=seed, batch_size=B, slots=k1, horizon=len(y))
    played = kh.rounds(learner, kh.streams.ArrayStream(X, y))
    return [(r.features.tolist(), r.y_hat) for r in played]


def same(ours: Transcript, theirs: Transcript) -> bool:
    return [S for S, _ in ours] == [S for S, _ in theirs] and np.allclose(
        [y for _, y in ours], [y for _, y in theirs], rtol=0, atol=1e-9
    )


def rows(n: int = 400, d: int = 9) -> tuple[Floats, Floats]:
    X, y = sparse_rows(n, d, {2: 0.6, 5: -0.4}, seed=6)
    return X, np.clip(y, -1, 1)


# budget divisible by slots and not, horizon divisible by the batch and not, batches shorter than
# the slots, one slot, budgets of one feature per slot
SETTINGS = [(10, 6, 3), (10, 7, 3), (9, 5, 2), (2, 6, 4), (25, 4, 1), (16, 3, 3), (10, 9, 2)]


@pytest.mark.parametrize(("B", "k0", "k1"), SETTINGS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_learner_plays_the_printed_algorithm(B: int, k0: int, k1: int, seed: int) -> None:
    X, y = rows()
    ours = learner_plays(X, y, B=B, k0=k0, k1=k1, seed=seed)
    assert same(ours, printed(X, y, B=B, k0=k0, k1=k1, seed=seed, lines=Lines()))
    assert len({tuple(S) for S, _ in ours}) > 10


TWINS = {
    "rate without the square root": replace(
        Lines(),
        probabilities=lambda L, t, d, M: exponential_weights(L, t * t, d, M),
    ),
    "rate swapped": replace(
        Lines(), probabilities=lambda L, t, d, M: exponential_weights(L, t, M, d)
    ),
    "losses of the whole V": replace(Lines(), given=lambda j, i: j),
    "losses given nothing": replace(Lines(), given=lambda j, i: []),
    "inclusion of a uniform subset": replace(Lines(), inclusion=lambda p, M, d: M / d),
    "no importance weights": replace(Lines(), inclusion=lambda p, M, d: 1.0),
    "VAW never restarted": replace(Lines(), restart=False),
}


@pytest.mark.parametrize("name", TWINS)
def test_broken_twins_play_something_else(name: str) -> None:
    X, y = rows(1500)
    ours = learner_plays(X, y, B=10, k0=6, k1=3, seed=0)
    assert not same(ours, printed(X, y, B=10, k0=6, k1=3, seed=0, lines=TWINS[name]))
