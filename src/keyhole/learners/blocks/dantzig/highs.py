"""HiGHS solves the Dantzig program: the general engine, and what tests compare others with.

Two-sided rows, split columns:

    min 1.(p + m)   s.t.   b - lam <= G (p - m) <= b + lam,   p, m >= 0,   w = p - m.

HiGHS stops within absolute tolerances; what is returned here is the basic solution of its final
basis, solved again in full precision, so that it passes a certificate of 1e-8 and better.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.learners.blocks.dantzig.solution import DantzigBasis
from keyhole.problem import Floats, Indices
from keyhole.problem.optional_imports import extra


class Answer(NamedTuple):
    """What HiGHS says it has found; the door computes the certificate itself."""

    status: str
    w: Floats
    u: Floats
    basis: DantzigBasis
    pivots: int


def solve(G: NDArray[np.floating], b: Floats, lam: Floats, *, seconds: float = np.inf) -> Answer:
    """Solve min |w|_1 s.t. |b - G w| <= lam with the dual simplex method of HiGHS.

    Parameters
    ----------
    G, b, lam
        Symmetric matrix (d, d), vector (d,), thresholds (d,) >= 0, already validated.
    seconds
        Time limit of HiGHS.

    Returns
    -------
    Answer
        With status "optimal", "infeasible" (then u is an improving direction: G u = 0 and
        b.u - lam.|u| > 0, and w is feasible for the smallest multiple of lam) or "limit".

    Examples
    --------
    >>> solve(np.eye(2), np.array([3.0, 0.5]), np.ones(2)).w
    array([2., 0.])
    """
    # HiGHS has absolute tolerances, so it gets a problem of size one.
    unit, size = _largest(G), _largest(b)
    d = len(b)
    ones = np.ones(2 * d)
    values = (np.concatenate((G, -np.asarray(G)), axis=0, dtype=np.float64) / unit).ravel()
    low, high = (b - lam) / size, (b + lam) / size
    outcome = _run(ones, np.zeros(2 * d), values, low, high, seconds)
    if outcome.status == "infeasible":
        return infeasible(G, b, lam, seconds=seconds)
    w = (outcome.x[:d] - outcome.x[d:]) * (size / unit)
    u = outcome.y / unit
    basic, nonbasic = outcome.basic, np.flatnonzero(outcome.side)
    columns, column_signs = basic % d, np.where(basic < d, 1.0, -1.0)
    # An equality row has no side: its sign is that of its multiplier.
    row_signs = np.where(lam[nonbasic] > 0, outcome.side[nonbasic], np.sign(u[nonbasic]))
    row_signs[row_signs == 0] = 1.0
    basis = DantzigBasis(columns, column_signs, nonbasic, row_signs, w[columns])
    return _polished(G, b, lam, Answer(outcome.status, w, u, basis, outcome.pivots))


def _largest(array: NDArray[np.floating]) -> float:
    return max(float(array.max()), -float(array.min())) or 1.0


def _polished(G: NDArray[np.floating], b: Floats, lam: Floats, answer: Answer) -> Answer:
    """The basic solution of the answer's basis; the answer itself if the basis is singular."""
    A, E = answer.basis.columns, answer.basis.rows
    if answer.status != "optimal" or len(A) != len(E):
        return answer
    B = np.asarray(G[E][:, A], dtype=np.float64)
    w, u = np.zeros(len(b)), np.zeros(len(b))
    try:
        w[A] = np.linalg.solve(B, b[E] - answer.basis.row_signs * lam[E])
        u[E] = np.linalg.solve(B.T, answer.basis.column_signs)
    except np.linalg.LinAlgError:
        return answer
    # A singular basis may slip through as enormous numbers: then HiGHS's own point is the better.
    if not max(_apart(w, answer.w), _apart(u, answer.u)) < 1e-3:
        return answer
    return answer._replace(w=w, u=u, basis=replace(answer.basis, weights=w[A]))


def _apart(new: Floats, old: Floats) -> float:
    return float(np.abs(new - old).max() / (np.abs(old).max() or 1.0))


def infeasible(
    G: NDArray[np.floating], b: Floats, lam: Floats, *, seconds: float = np.inf
) -> Answer:
    """min t s.t. |b - G w| <= lam + t g, with g = lam, or max|b| where lam is 0.

    The dual is max b.u - lam.|u| s.t. G u = 0, g.|u| <= 1: an u with a positive value proves that
    nothing is feasible for lam.
    """
    d, size, unit = len(b), _largest(b), _largest(G)
    g = np.where(lam > 0, lam, size) / size
    scaled = np.asarray(G, dtype=np.float64) / unit
    values = np.zeros((2 * d + 1, 2 * d))
    values[:d, :d] = values[:d, d:] = scaled
    values[d:-1, :d] = values[d:-1, d:] = -scaled
    values[-1, :d], values[-1, d:] = g, -g
    cost = np.zeros(2 * d + 1)
    cost[-1] = 1.0
    low, high = np.full(2 * d, -np.inf), np.full(2 * d, np.inf)
    low[:d], high[d:] = (b - lam) / size, (b + lam) / size
    outcome = _run(cost, np.zeros(2 * d + 1), values.ravel(), low, high, seconds)
    w = (outcome.x[:d] - outcome.x[d : 2 * d]) * (size / unit)
    u = outcome.y[:d] + outcome.y[d:]
    status = "infeasible" if outcome.status == "optimal" else "limit"
    nothing, none = np.zeros(0), np.zeros(0, dtype=np.int64)
    basis = DantzigBasis(none, nothing, none, nothing, nothing)
    return Answer(status, w, u, basis, outcome.pivots)


class _Outcome(NamedTuple):
    status: str
    x: Floats
    y: Floats
    basic: Indices  # basic structural columns
    side: Floats  # per row: +1 at its lower bound, -1 at its upper bound, 0 if basic
    pivots: int


def _run(
    cost: Floats, lower: Floats, values: Floats, low: Floats, high: Floats, seconds: float
) -> _Outcome:
    columns, rows = len(cost), len(low)
    highspy = extra("highspy", "highs")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("presolve", "off")  # dense rows: presolve finds nothing and costs time
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("small_matrix_value", 1e-12)
    highs.setOptionValue("primal_feasibility_tolerance", 1e-9)
    highs.setOptionValue("dual_feasibility_tolerance", 1e-9)
    if np.isfinite(seconds):
        highs.setOptionValue("time_limit", float(seconds))
    starts = np.arange(columns, dtype=np.int32) * np.int32(rows)
    index = np.tile(np.arange(rows, dtype=np.int32), columns)
    above = np.full(columns, np.inf)
    whole = np.zeros(columns, dtype=np.int32)
    highs.passModel(
        *(columns, rows, len(values), int(highspy.MatrixFormat.kColwise), 1, 0.0),
        *(cost, lower, above, low, high, starts, index, values, whole),
    )
    highs.run()
    status = {
        highspy.HighsModelStatus.kOptimal: "optimal",
        highspy.HighsModelStatus.kInfeasible: "infeasible",
        highspy.HighsModelStatus.kUnboundedOrInfeasible: "infeasible",
    }.get(highs.getModelStatus(), "limit")
    solution, basis = highs.getSolution(), highs.getBasis()
    basic, lower_side = highspy.HighsBasisStatus.kBasic, highspy.HighsBasisStatus.kLower
    in_basis = [j for j, s in enumerate(basis.col_status) if s == basic]
    side = [0.0 if s == basic else 1.0 if s == lower_side else -1.0 for s in basis.row_status]
    return _Outcome(
        status,
        np.array(solution.col_value),
        np.array(solution.row_dual),
        np.array(in_basis, dtype=np.int64),
        np.array(side),
        int(highs.getInfo().simplex_iteration_count),
    )
