"""Solution of a Dantzig program: its status, its certificate, and diagnostics over many."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.problem import Floats, Indices, ProblemError
from keyhole.problem.state import Holds

Matrix = NDArray[np.float64] | NDArray[np.float32]
Status = Literal["optimal", "infeasible", "limit"]

CERTIFICATE_TOLERANCE = 1e-8

# Of a pair (w, u), all that a certificate needs, computed from G, b and lam alone:
#   excess max(|b - G w| - lam), top max|G u|, objective |w|_1, value b.u - lam.|u|,
#   scale max |b - G w| / lam where lam > 0 (or 1 if the excess is rounding),
#   gap, the relative difference between objective and value; size max|b|.
Proof = tuple[float, float, float, float, float, float, float]

NEVER_BINDING = 1e30  # a threshold that never binds; infinity would make NaNs


@dataclass(frozen=True, slots=True, eq=False)
class DantzigBasis:
    """Where an answer sits: the non-zero columns of w, the tight rows, and their signs.

    With the weights of the columns the next start is cheaper.
    """

    columns: Annotated[Indices, Holds(below="d", distinct=True, longest="d")]
    column_signs: Annotated[Floats, Holds(shape=("columns",))]
    rows: Annotated[Indices, Holds(below="d", distinct=True, shape=("columns",))]
    row_signs: Annotated[Floats, Holds(shape=("columns",))]
    weights: Annotated[Floats | None, Holds(shape=("columns",))] = None


class DantzigSolution(NamedTuple):
    """An answer and its proof. (A tuple: making anything else takes longer than a small problem.)

    Parameters
    ----------
    w, dual
        Primal point w and dual point u, length d. When infeasible: w is feasible for
        `feasible_scale * lam`, and u proves that nothing is for lam itself (G u = 0,
        b.u > lam.|u|).
    status
        "optimal" (the certificate holds), "infeasible", or "limit": neither could be proven.
    pivots
        Basis changes the engine made.
    primal_residual
        max_j (|b - G w|_j - lam_j)_+ / max|b|.
    dual_residual
        max_j (|G u|_j - 1)_+, or |w|_1 max|G u| / (b.u - lam.|u|) when infeasible.
    gap
        | |w|_1 - (b.u - lam.|u|) | / |w|_1, infinite when infeasible. (Where |w|_1 is less than a
        millionth of the terms of b.u: relative to a millionth of the largest.)
    feasible_scale
        Smallest known c such that some w satisfies |b - G w| <= c lam: 1 when optimal, infinite
        when none is known.
    engine
        Which engine gave the answer.
    basis
        For `start=` of the next, similar problem.
    """

    w: Floats
    dual: Floats
    status: Status
    pivots: int
    primal_residual: float
    dual_residual: float
    gap: float
    feasible_scale: float
    engine: str
    basis: DantzigBasis

    @property
    def nonzeros(self) -> int:
        """How many entries of w are not zero."""
        return int(np.count_nonzero(self.w))


def checked(G: ArrayLike, b: ArrayLike, lam: ArrayLike) -> tuple[Matrix, Floats, Floats]:
    """The three as arrays of the right shape, type and order (lam may have length 1).

    What they hold is looked at by the engines; `refuse` says what is wrong with it.
    """
    matrix = np.asarray(G)
    if matrix.dtype.char not in "df":
        matrix = matrix.astype(np.float64)
    shape = matrix.shape
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        raise ProblemError(f"G must be a square matrix, got shape {shape}")
    if not matrix.flags.c_contiguous:
        # Symmetric: in Fortran order its transpose is the same matrix in C order.
        matrix = matrix.T if matrix.flags.f_contiguous else np.ascontiguousarray(matrix)
    vector, full = np.ascontiguousarray(b, dtype=np.float64), shape[:1]
    if vector.shape != full:
        raise ProblemError(f"b must have shape {full} to match G, got {vector.shape}")
    bound = np.asarray(lam, dtype=np.float64)
    if bound.shape not in ((), full):
        raise ProblemError(f"lam must be one number or have shape {full}, got {bound.shape}")
    return cast(Matrix, matrix), vector, np.ascontiguousarray(bound)  # at least one axis


def refuse(b: Floats, lam: Floats) -> None:
    """Raise a ProblemError if b is not finite or lam is not >= 0."""
    if not np.isfinite(b).all():
        j = int(np.flatnonzero(~np.isfinite(b))[0])
        raise ProblemError(f"b must be finite, got b[{j}] = {b[j]}; leave that feature out")
    if not lam.min() >= 0:
        value = lam[~(lam >= 0)][0]
        raise ProblemError(f"lam must be at least 0, got {value}; use 0 for an exact equation")


def proven(claim: str, proof: Proof, lam: Floats) -> tuple[Status, float, float, float, float]:
    """The engine's claim, demoted to "limit" where its certificate does not bear it out.

    Returns the fields of a `DantzigSolution` that follow from it: (status, primal residual, dual
    residual, gap, feasible scale).
    """
    excess, top, objective, value, scale, gap, size = proof
    primal, dual = max(excess, 0.0) / (size or 1.0), max(top - 1.0, 0.0)
    status: Status = "limit"
    if claim == "optimal" and max(primal, dual, gap) <= CERTIFICATE_TOLERANCE:
        status, scale = "optimal", 1.0
    elif claim == "infeasible" and value > 0 and objective * top <= 1e-6 * value:
        # For a feasible v:  value = b.u - lam.|u| <= (G v).u <= |v|_1 top.
        status, dual, gap = "infeasible", objective * top / value, np.inf
    if primal > CERTIFICATE_TOLERANCE and lam.min() == 0.0:
        scale = np.inf
    return status, primal, dual, gap, scale


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """How the linear programs went. `threshold`, `nonzeros`, `gap` are those of the last one.

    `nonzeros` counts before the truncation to k; a program that is not solved to optimality keeps
    the weights of the one before and is counted in `infeasible` (or `unsolved`).
    """

    solves: int = 0
    infeasible: int = 0
    unsolved: int = 0
    round: int = 0
    threshold: Annotated[float, Holds(nan=True, infinite=True)] = math.nan
    nonzeros: int = 0
    gap: Annotated[float, Holds(nan=True, infinite=True)] = math.nan

    def after(self, solution: DantzigSolution, round: int, threshold: float) -> Diagnostics:
        """The same with one more program."""
        return Diagnostics(
            solves=self.solves + 1,
            infeasible=self.infeasible + (solution.status == "infeasible"),
            unsolved=self.unsolved + (solution.status == "limit"),
            round=round,
            threshold=threshold,
            nonzeros=solution.nonzeros,
            gap=solution.gap,
        )
