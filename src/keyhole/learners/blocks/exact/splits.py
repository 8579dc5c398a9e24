"""Diagonals that can be split off a Gram matrix: what the relaxations of subsets begin with."""

from __future__ import annotations

import numpy as np

from keyhole.core.functions import c_function
from keyhole.learners.blocks.exact.slices import EFFORT
from keyhole.problem import Floats

SWEEPS = np.array([1.0, 0.5, 0.25, 0.1, 0.1, 0.05, 0.05])


def levels(values: Floats, k: int) -> list[float]:
    """The levels worth trying as theta in `split_off`, from the eigenvalues of G."""
    missing = int((values < 1e-6).sum())
    if missing == 0:
        return [0.0]
    return sorted({float(values[i]) for i in (missing, len(values) // (2 * k)) if i < len(values)})


def split_off(
    values: Floats, vectors: Floats, k: int, theta: float, weight: Floats | None
) -> tuple[Floats, Floats] | None:
    """R (positive semidefinite) and e > 0 with w'Gw >= w'Rw + sum_j e_j w_j^2 for k-sparse w.

    G comes as eigenvalues and vectors. Raising small ones to theta adds N = sum (theta - λ)+ uu',
    w'Nw <= (sum |w_j| sqrt(N_jj))^2 <= k sum N_jj w_j^2 (Cauchy-Schwarz, k terms). So with any
    δ that keeps R = G + N - diag(δ) positive semidefinite, e = δ - k diag(N) will do. theta = 0 is
    the usual split; a theta helps when few directions are (nearly) missing, as in one-hot groups.
    δ is one number, or, given the gains of the relaxation per unit of e, `weight`, it follows them.
    """
    raised = np.maximum(values, theta)
    G = (vectors * raised) @ vectors.T
    N = (vectors**2) @ (raised - values)
    e = raised[0] - k * N
    if e.min() <= 1e-9:
        return None
    delta = np.full(len(e), raised[0])
    if weight is not None:
        delta -= 0.5 * e.min()
        least = delta[0]
        P = (vectors / (raised - least)) @ vectors.T
        spread(P, delta, weight / weight.max(), SWEEPS * raised[0], least)
        # P drifts; this puts the smallest eigenvalue of R back to zero, from either side.
        delta += np.linalg.eigvalsh(G - np.diag(delta))[0]
    delta -= 1e-12  # eigenvalues are rounded
    e = delta - k * N
    return (G - np.diag(delta), e) if e.min() > 1e-9 else None


def spread(P: Floats, delta: Floats, weight: Floats, mus: Floats, least: float) -> None:
    """Sweeps of coordinate ascent on sum(weight δ) + mu log det(G - diag(δ)), δ >= least.

    P is the inverse of G - diag(δ). Along one coordinate the determinant falls by the factor
    1 - t P_jj, so the best step is known, t = 1/P_jj - mu/weight_j, and stays inside the cone.
    """
    steps, at_once = len(mus) * len(delta), 1 + EFFORT // P.size
    for first in range(0, steps, at_once):
        _spread(P, delta, weight, mus, least, first, min(first + at_once, steps))


@c_function(
    "kh_spread_diagonal", "P[d,d] delta[d] weight[d] mus[.]", writes="P delta", room="d", long=True
)
def _spread(
    P: Floats, delta: Floats, weight: Floats, mus: Floats, least: float, first: int, end: int
) -> None:
    raise NotImplementedError
