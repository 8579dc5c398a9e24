"""The Dantzig program min |w|_1 s.t. |b - G w| <= lam: solved, and certified.

Its dual is max b.u - lam.|u| s.t. |G u| <= 1; both sides together prove an answer right, whatever
engine found it. `solve` computes that certificate from G, b and lam alone and never calls anything
optimal that fails it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.problem import Floats, Indices, ProblemError, nearest

Matrix = NDArray[np.float64] | NDArray[np.float32]
Status = Literal["optimal", "infeasible", "limit"]

TOLERANCE = 1e-8
ENGINES = ("auto", "highs")


@dataclass(frozen=True, slots=True, eq=False)
class DantzigBasis:
    """Where an answer sits: the non-zero columns of w, the tight rows, and their signs."""

    columns: Indices
    column_signs: Floats
    rows: Indices
    row_signs: Floats


@dataclass(frozen=True, slots=True)
class Certificate:
    """How far (w, u) is from a proof of optimality; all three are relative numbers."""

    primal_residual: float
    dual_residual: float
    gap: float

    @property
    def holds(self) -> bool:
        """Whether w is optimal up to TOLERANCE."""
        return max(self.primal_residual, self.dual_residual, self.gap) <= TOLERANCE


@dataclass(frozen=True, slots=True, eq=False)
class DantzigSolution:
    """An answer and its proof.

    Parameters
    ----------
    w, u
        Primal and dual point, length d. When infeasible: w is feasible for `feasible_scale * lam`,
        and u proves that nothing is for lam itself (G u = 0, b.u > lam.|u|).
    status
        "optimal" (the certificate holds), "infeasible", or "limit": neither could be proven.
    nonzeros
        How many entries of w are not zero.
    pivots
        Basis changes the engine made.
    primal_residual
        max_j (|b - G w|_j - lam_j)_+ / max|b|.
    dual_residual
        max_j (|G u|_j - 1)_+, or max|G u| / (b.u - lam.|u|) when infeasible.
    gap
        | |w|_1 - (b.u - lam.|u|) | / |w|_1, infinite when infeasible.
    feasible_scale
        Smallest known c such that some w satisfies |b - G w| <= c lam: 1 when optimal, infinite
        when none is known.
    engine
        Which engine gave the answer.
    basis
        For `start=` of the next, similar problem.
    """

    w: Floats
    u: Floats
    status: Status
    nonzeros: int
    pivots: int
    primal_residual: float
    dual_residual: float
    gap: float
    feasible_scale: float
    engine: str
    basis: DantzigBasis


def certificate(G: Matrix, b: Floats, lam: Floats, w: Floats, u: Floats) -> Certificate:
    """Residuals and gap of (w, u), from the rows of G in the supports of w and u only.

    Examples
    --------
    >>> b, lam = np.array([3.0, 0.5]), np.ones(2)
    >>> certificate(np.eye(2), b, lam, w=np.array([2.0, 0.0]), u=np.array([1.0, 0.0]))
    Certificate(primal_residual=0.0, dual_residual=0.0, gap=0.0)
    """
    A, E = np.flatnonzero(w), np.flatnonzero(u)
    size = float(np.abs(b).max()) or 1.0
    primal = float((np.abs(b - w[A] @ G[A]) - lam).max()) / size
    dual = float(np.abs(u[E] @ G[E]).max()) - 1.0
    objective = float(np.abs(w[A]).sum())
    gap = abs(objective - float(b[E] @ u[E] - lam[E] @ np.abs(u[E])))
    return Certificate(max(primal, 0.0), max(dual, 0.0), gap / (objective or 1.0))


def solve(
    G: ArrayLike,
    b: ArrayLike,
    lam: ArrayLike,
    *,
    start: DantzigBasis | None = None,
    engine: str = "auto",
) -> DantzigSolution:
    """Solve min |w|_1 s.t. |b_j - (G w)_j| <= lam_j for all j.

    Parameters
    ----------
    G
        Symmetric (d, d), float64 or float32, of any inertia. Neither symmetry nor finiteness is
        checked: that would cost more than solving.
    b
        Length d, finite.
    lam
        One threshold >= 0, or one per coordinate. lam_j = 0 asks for (G w)_j = b_j exactly.
    start
        Basis of an answer to a similar problem.
    engine
        "auto" or "highs".

    Returns
    -------
    DantzigSolution

    Guarantee
    ---------
    Status "optimal" means: violation of the constraints at most 1e-8 max|b|, |G u| <= 1 + 1e-8,
    duality gap at most 1e-8 |w|_1, all computed from G, b, lam after the engine returned.

    Examples
    --------
    >>> answer = solve([[2.0, 1.0], [1.0, 2.0]], b=[4.0, 1.0], lam=1.0)
    >>> answer.status, answer.w
    ('optimal', array([1.5, 0. ]))
    """
    G, b, lam = _checked(G, b, lam)
    if engine not in ENGINES:
        raise ProblemError(
            f"engine must be one of {', '.join(ENGINES)}, got {engine!r}{nearest(engine, ENGINES)}"
        )
    if (np.abs(b) <= lam).all():
        return _zero(len(b))
    return _by_highs(G, b, lam)


def _checked(G: ArrayLike, b: ArrayLike, lam: ArrayLike) -> tuple[Matrix, Floats, Floats]:
    """The three as arrays of the right shape and type, or a ProblemError."""
    matrix = np.asarray(G)
    if matrix.dtype != np.float64 and matrix.dtype != np.float32:
        matrix = matrix.astype(np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ProblemError(f"G must be a square matrix, got shape {matrix.shape}")
    d = len(matrix)
    vector = np.ascontiguousarray(b, dtype=np.float64)
    if vector.shape != (d,):
        raise ProblemError(f"b must have shape ({d},) to match G, got {vector.shape}")
    if not np.isfinite(vector).all():
        j = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise ProblemError(f"b must be finite, got b[{j}] = {vector[j]}; estimate it or drop it")
    bound = np.asarray(lam, dtype=np.float64)
    if bound.shape not in ((), (d,)):
        raise ProblemError(f"lam must be one number or have shape ({d},), got {bound.shape}")
    if not (bound >= 0).all():
        value = bound if bound.ndim == 0 else bound[~(bound >= 0)][0]
        raise ProblemError(f"lam must be at least 0, got {value}; use 0 for an exact equation")
    if bound.ndim == 0:
        bound = np.full(d, float(bound))
    # A row with lam = inf never binds; a huge finite number says the same to every engine.
    if np.isinf(bound).any():
        bound = np.where(np.isinf(bound), 1e30, bound)
    return cast(Matrix, matrix), vector, np.ascontiguousarray(bound)


def _zero(d: int) -> DantzigSolution:
    none = np.zeros(0, dtype=np.int64)
    basis = DantzigBasis(none, np.zeros(0), none, np.zeros(0))
    zero = np.zeros(d)
    return DantzigSolution(zero, zero.copy(), "optimal", 0, 0, 0.0, 0.0, 0.0, 1.0, "none", basis)


def _by_highs(G: Matrix, b: Floats, lam: Floats) -> DantzigSolution:
    from keyhole.blocks import dantzig_highs

    answer = dantzig_highs.solve(G, b, lam)
    basis = DantzigBasis(answer.columns, answer.column_signs, answer.rows, answer.row_signs)
    return _proven(G, b, lam, answer.w, answer.u, answer.status, answer.pivots, "highs", basis)


def _proven(
    G: Matrix,
    b: Floats,
    lam: Floats,
    w: Floats,
    u: Floats,
    claim: str,
    pivots: int,
    engine: str,
    basis: DantzigBasis,
) -> DantzigSolution:
    """The engine's claim, demoted to "limit" where its certificate does not bear it out."""
    proof = certificate(G, b, lam, w, u)
    status: Status = "limit"
    dual, gap, scale = proof.dual_residual, proof.gap, np.inf
    if claim == "optimal":
        status, scale = ("optimal", 1.0) if proof.holds else ("limit", np.inf)
    if claim == "infeasible":
        E = np.flatnonzero(u)
        gain = float(b[E] @ u[E] - lam[E] @ np.abs(u[E]))
        leak = float(np.abs(u[E] @ G[E]).max())
        # Any feasible w would need |w|_1 >= gain / leak.
        if gain > 0 and leak * np.abs(w).sum() <= 1e-6 * gain:
            status, dual, gap = "infeasible", leak / gain, np.inf
            scale = _scale(G, b, lam, w)
    nonzeros = int(np.count_nonzero(w))
    residual = proof.primal_residual
    return DantzigSolution(
        w, u, status, nonzeros, pivots, residual, dual, gap, scale, engine, basis
    )


def _scale(G: Matrix, b: Floats, lam: Floats, w: Floats) -> float:
    A = np.flatnonzero(w)
    left = np.abs(b - w[A] @ G[A])
    if (left[lam == 0] > TOLERANCE * np.abs(b).max()).any():
        return float("inf")
    return float((left[lam > 0] / lam[lam > 0]).max(initial=1.0))
