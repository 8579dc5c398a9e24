"""Solve the Dantzig program, min |w|_1 s.t. |b - G w| <= lam, by either engine; certified.

Its dual is max b.u - lam.|u| s.t. |G u| <= 1; both sides together prove an answer right, whatever
engine found it. `solve` computes that certificate from G, b and lam alone and never calls anything
optimal that fails it.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
from numpy.typing import ArrayLike

from keyhole.errors import one_of
from keyhole.learners.blocks.dantzig import highs, homotopy
from keyhole.learners.blocks.dantzig.path import TOO_WIDE, DantzigPath, PathPoints, breakpoints
from keyhole.learners.blocks.dantzig.solution import (
    CERTIFICATE_TOLERANCE,
    NEVER_BINDING,
    DantzigBasis,
    DantzigSolution,
    Matrix,
    checked,
    proven,
    refuse,
)
from keyhole.problem import Floats, ProblemError, whole_number

__all__ = [
    "CERTIFICATE_TOLERANCE",
    "ENGINES",
    "DantzigBasis",
    "DantzigPath",
    "DantzigSolution",
    "path",
    "solve",
]

ENGINES = ("auto", "homotopy", "highs")
CLAIMS = ("optimal", "infeasible")  # by the code of the homotopy; all others: "limit"

NONE = np.zeros(0)
NOWHERE: homotopy.Guess = (np.zeros(0, np.int64), NONE, np.zeros(0, np.int64), NONE, NONE)


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
        checked: that would cost more than solving. C or Fortran order, else it is copied.
    b
        Length d, finite.
    lam
        One threshold >= 0, or one per coordinate. lam_j = 0 asks for (G w)_j = b_j exactly,
        lam_j = inf asks for nothing.
    start
        Basis of an answer to a similar problem: G, b and lam may all have moved.
    engine
        "homotopy"; "highs", which needs the extra `highs`; or "auto": the homotopy, and HiGHS where
        that does not succeed and it is installed.

    Returns
    -------
    DantzigSolution

    Guarantee
    ---------
    Status "optimal" means: violation of the constraints at most 1e-8 max|b|, |G u| <= 1 + 1e-8,
    duality gap at most 1e-8 |w|_1, computed from G, b, lam after the engine returned, with O(d n)
    operations. Status "infeasible" means that every w with |b - G w| <= lam would have an |w|_1
    at least 10^6 times that of the w returned. Nothing of order d^2 is done or stored by the
    homotopy, HiGHS needs its own copy of G.

    Examples
    --------
    >>> answer = solve([[2.0, 1.0], [1.0, 2.0]], b=[4.0, 1.0], lam=1.0)
    >>> answer.status, answer.w
    ('optimal', array([1.5, 0. ]))
    >>> solve([[1.0, 1.0], [1.0, 1.0]], b=[1.0, 0.0], lam=0.1).feasible_scale
    5.0...

    References
    ----------
    Candes and Tao (2007), The Dantzig selector. Pang, Zhao, Vanderbei and Liu (2017), A parametric
    simplex method for sparse learning.
    """
    matrix, vector, bound = checked(G, b, lam)
    one_of("engine", engine, ENGINES)
    if engine == "highs":
        return _by_highs(matrix, vector, bound)
    answer = _by_homotopy(matrix, vector, bound, start)
    if answer.status == "limit" and engine == "auto" and find_spec("highspy") is not None:
        return _by_highs(matrix, vector, bound)
    return answer


def path(
    G: ArrayLike, b: ArrayLike, lams: ArrayLike | None = None, max_nonzeros: int | None = None
) -> DantzigPath:
    """Solve min |w|_1 s.t. |b - G w| <= lam for a whole range of lam.

    w is piecewise linear in lam. Without `lams` the homotopy goes from lam = max|b| to 0 and every
    breakpoint is returned; with `lams` each of them is solved, starting from the one before.

    Parameters
    ----------
    G, b
        As in `solve`.
    lams
        Thresholds, in any order; None for all breakpoints.
    max_nonzeros
        Stop before w has more non-zeros than this.

    Returns
    -------
    DantzigPath

    Guarantee
    ---------
    Each point carries the certificate of `solve` (the worst is reported); the path ends, with
    status "limit", before the first point that fails it.

    Examples
    --------
    >>> way = path(np.eye(2), b=[3.0, 1.0])
    >>> way.lams
    array([3., 1., 0.])
    >>> way.at(0.5)
    array([2.5, 0.5])
    """
    largest = None if max_nonzeros is None else whole_number("max_nonzeros", max_nonzeros, 0)
    matrix, vector, nothing = checked(G, b, 0.0)
    refuse(vector, nothing)
    if largest is None:
        largest = len(vector)
    if lams is None:
        return breakpoints(matrix.astype(np.float64, copy=False), vector, largest)
    points, basis = PathPoints(len(vector)), None
    for lam in np.sort(np.asarray(lams, dtype=np.float64).ravel())[::-1]:
        answer = solve(matrix, vector, lam, start=basis)
        if answer.status != "optimal" or answer.nonzeros > largest:
            return points.done("infeasible" if answer.status == "infeasible" else "limit")
        support, basis = np.flatnonzero(answer.w), answer.basis
        proof = answer.primal_residual, answer.dual_residual, answer.gap
        points.add(float(lam), support, answer.w[support], proof)
    return points.done("optimal")


def _by_homotopy(G: Matrix, b: Floats, lam: Floats, start: DantzigBasis | None) -> DantzigSolution:
    d, pivots, guess = len(b), 1000 + 50 * len(b), NOWHERE
    if start is not None:
        weights = NONE if start.weights is None else start.weights
        guess = start.columns, start.column_signs, start.rows, start.row_signs, weights
    single = G.dtype.char == "f"
    sparse = single and d > homotopy.MIN_WORKING_SET_D
    if sparse:
        outcome = homotopy.solve_sparse(G, b, lam, guess, pivots)
    if not sparse or outcome[0] == TOO_WIDE:
        # All coordinates, straight on G: in double precision alone.
        G = G.astype(np.float64) if single else G
        outcome = homotopy.solve(G, b, lam, guess, pivots, False)
    code = outcome[0]
    if code == homotopy.REFUSED:
        refuse(b, lam)
        raise ProblemError(f"start must be the basis of an answer with d = {d}")
    claim = CLAIMS[code] if code < len(CLAIMS) else "limit"
    if claim == "infeasible":
        # Once more, straight down from lam = infinity: the path ends at the smallest multiple.
        G = G.astype(np.float64, copy=False)
        outcome = homotopy.solve(G, b, lam, NOWHERE, pivots, True)
    _, made, w, u, basis, proof = outcome
    status, primal, dual, gap, scale = proven(claim, proof, lam)
    known = DantzigBasis(*basis)
    return DantzigSolution(w, u, status, made, primal, dual, gap, scale, "homotopy", known)


def _by_highs(G: Matrix, b: Floats, lam: Floats) -> DantzigSolution:
    refuse(b, lam)
    lam = np.minimum(np.broadcast_to(lam, b.shape), NEVER_BINDING)
    # Within its tolerances HiGHS "solves" problems that are infeasible by a hair: ask again.
    for engine in (highs.solve, highs.infeasible):
        claim, w, u, basis, pivots = engine(G, b, lam)
        A, E = np.flatnonzero(w), np.flatnonzero(u)
        proof = homotopy.certify(G, b, lam, A, w[A], E, u[E])
        status, primal, dual, gap, scale = proven(claim, proof, lam)
        if status != "limit":
            break
    return DantzigSolution(w, u, status, pivots, primal, dual, gap, scale, "highs", basis)
