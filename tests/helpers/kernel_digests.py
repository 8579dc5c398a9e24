"""Digests of what compiled code computes, to be compared with what its Python form computes.

    NUMBA_DISABLE_JIT=1 python -m tests.helpers.kernel_digests

prints them as JSON. Problems are small: the Python form takes a thousand times as long.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import numpy as np

import keyhole as kh
from keyhole.blocks.dantzig import solve as dantzig
from keyhole.blocks.draw.sampling import complement_subset, uniform_subset
from keyhole.blocks.exact.sparse_eigenvalues import sparse_spectrum
from keyhole.blocks.exact.subset import best_subset
from keyhole.blocks.exact.supermodular import smallest_alpha
from keyhole.blocks.greedy.parts import PAPER
from keyhole.problem import Floats, plays_blocks
from keyhole.saving.api import to_bytes
from keyhole.saving.snapshot import has_state

SHAPES = {"small": (8, 2, 4), "wide": (70, 2, 24)}  # the wide one sorts by bits
VARIANTS: dict[str, Callable[[kh.Problem], kh.Learner]] = {
    "auto, proper": lambda p: kh.AutoLearner(p, seed=3, proper=True),
    "dantzig, printed weights": lambda p: kh.DantzigLearner(
        p, seed=3, noise_sd=0.1, threshold_scale=0.02, weighting="paper"
    ),
    "online-greedy, printed": lambda p: kh.OnlineGreedyLearner(
        p, seed=3, horizon=60, batch_size=8, slots=3, parts=PAPER
    ),
    "dual-averaging, unbiased": lambda p: kh.DualAveragingLearner(p, seed=3, gradient="unbiased"),
    "iht, given step": lambda p: kh.HardThresholdingLearner(p, seed=3, step_size=0.05),
    "ds-poslrc, exact": lambda p: kh.DSPOSLRCLearner(p, seed=3, weighting="exact"),
    "explore-commit, horizon": lambda p: kh.ExploreThenCommitLearner(p, seed=3, horizon=60),
    "fixed, no intercept": lambda p: kh.FixedSubset(p, intercept=False),
}


def digests() -> dict[str, str]:
    """What every learner and every solver does, by name."""
    found = {}
    for name, parts in (*_learners(), *_programs(), *_exact(), *_draws()):
        digest = hashlib.sha256()
        for part in parts:
            digest.update(part if isinstance(part, bytes) else _bytes(part))
        found[name] = digest.hexdigest()[:16]
    return found


def _bytes(part: object) -> bytes:
    array = np.asarray(part)
    return f"{array.dtype} {array.shape} ".encode() + array.tobytes()


def _rows(n: int, d: int) -> tuple[Floats, Floats]:
    """Correlated rows that are not centred, a few values of them absent."""
    rng = np.random.default_rng([n, d])
    X = 0.8 * rng.standard_normal((n, d)) + 0.6 * rng.standard_normal((n, 1)) + 0.5
    y = X[:, 1] - 0.5 * X[:, 4] + 0.1 * rng.standard_normal(n)
    X[rng.random(X.shape) < 0.02] = np.nan
    return X, y


def _learners() -> Iterator[tuple[str, list[object]]]:
    for shape, (d, k, budget) in SHAPES.items():
        X, y = _rows(400 if shape == "small" else 60, d)
        for name, row in kh.LEARNERS.items():
            problem = kh.Problem(d, k, d if row.reads_everything else budget)
            if not (name == "subset-experts" and shape == "wide"):  # all pairs of 70 features
                yield f"{name}, {shape}", _game(row(problem, seed=3), X, y)
    X, y = _rows(400, 8)
    for name, make in VARIANTS.items():
        yield name, _game(make(kh.Problem(8, 2, 4)), X, y)


def _game(learner: kh.Learner, X: Floats, y: Floats) -> list[object]:
    """Half of the rows in one block, half round by round; everything that comes of them."""
    half, log = len(y) // 2, []
    if plays_blocks(learner):
        bought = np.full((half, learner.problem.width), -1, dtype=np.int32)
        log += [learner.advance(X[:half], y[:half], bought), bought]
        X, y = X[half:], y[half:]
    for played in kh.rounds(learner, kh.streams.ArrayStream(X, y)):
        log += [played.features, played.y_hat]
    assert has_state(learner)
    return [*log, learner.weights, learner.intercept, to_bytes(learner)]


def _moments(d: int, seed: int, n: int = 0) -> tuple[Floats, Floats, float]:
    rng = np.random.default_rng([d, seed])
    X = rng.standard_normal((n or 3 * d, d)) + 0.5 * rng.standard_normal((n or 3 * d, 1))
    y = X[:, :3] @ np.array([2.0, -1.0, 0.5]) + rng.standard_normal(len(X))
    return X.T @ X / len(X), X.T @ y / len(X), float(y @ y) / len(X)


def _programs() -> Iterator[tuple[str, list[object]]]:
    for d in (3, 8, 20, 60):  # 60: on a working set
        G, b, _ = _moments(d, 0)
        cold = dantzig.solve(G, b, 0.2, engine="homotopy")
        yield f"dantzig program of {d}, cold", _answer(cold)
        noise = 0.01 * np.random.default_rng(d).standard_normal((d, d))
        moved = G + noise + noise.T, 1.01 * b, np.linspace(0.15, 0.25, d)
        warm = dantzig.solve(*moved, start=cold.basis, engine="homotopy")
        yield f"dantzig program of {d}, warm", _answer(warm)
        single = dantzig.solve(G.astype(np.float32), b, 0.2, engine="homotopy")
        yield f"dantzig program of {d}, float32", _answer(single)
    G, b, _ = _moments(12, 1, n=4)
    yield "dantzig program without an answer", _answer(dantzig.solve(G, b + 0.1, 1e-3))
    for d in (8, 20):
        G, b, _ = _moments(d, 2)
        for lams in (None, np.array([0.5, 0.1])):
            way = dantzig.path(G, b, lams)
            proof = (way.primal_residual, way.dual_residual, way.gap)
            yield f"path of {d}, {lams}", [way.lams, *way.supports, *way.values, proof]


def _answer(solution: dantzig.DantzigSolution) -> list[object]:
    basis = [getattr(solution.basis, field.name) for field in fields(solution.basis)]
    proof = (solution.primal_residual, solution.dual_residual, solution.gap)
    return [solution.w, solution.dual, *basis, proof, solution.status, solution.pivots]


def _exact() -> Iterator[tuple[str, list[object]]]:
    for d, k in ((6, 2), (14, 3)):
        G, c, yy = _moments(d, 3)
        best = best_subset(G, c, yy, k, seconds=600.0)
        answer: list[Any] = [best.support, best.weights, best.rss, best.lower, best.nodes]
        yield f"best subset of {d}", answer
        found = sparse_spectrum(G, k)
        ends = [(end.low, end.high) for end in (found.low, found.high)]
        yield f"sparse spectrum of {d}", [*ends, found.low_support, found.high_support]
    alpha = smallest_alpha(*_moments(6, 4), k=2, seconds=600.0)
    yield "weak supermodularity", [(alpha.low, alpha.high)]


def _draws() -> Iterator[tuple[str, list[object]]]:
    for d, size in ((10, 4), (100, 40), (5000, 30)):  # sorted by rank, bits and buckets
        sets = [uniform_subset(7, t, d, size) for t in range(1, 6)]
        sets += [complement_subset(2**63 + 1, t, d, size, [2, 5]) for t in range(1, 6)]
        yield f"subsets of {d}", [*sets]


if __name__ == "__main__":
    print(json.dumps(digests()))  # noqa: T201
