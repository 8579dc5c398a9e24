"""The homotopy engine of the Dantzig program, in C: one call that solves and certifies.

**The path** (`dantzig_homotopy.c`). The parametric simplex method, from any basis (`basis.py`):
loosen lam_j and c_j of what the basis violates until it is optimal (s = 1, `dantzig_start.c`); then
let the loosening shrink to nothing (s = 0). From the empty basis this is the classical homotopy
from lam = infinity; from the basis of a similar problem it is a warm start; from the basis of a
smaller working set it brings in the violated rows and columns. Between breakpoints everything is
linear in s. The next breakpoint is the largest s at which something that is violated at s = 0 gets
violated: on side ROW a row or a weight (then the ratio test on the dual ray says what enters), on
side COLUMN a column or a multiplier (then the one on the primal ray says what leaves). Loosenings
are slightly irregular, so that ties do not meet and no basis comes twice.

**The working set** (`dantzig_grow.c`, `dantzig_set.c`). A solution with n non-zeros touches few of
the d coordinates. The homotopy runs on a small set W of rows and columns (a dense copy of G[W, W]);
its answer is then checked on all d coordinates with 2 n d multiply-adds, and the rows and columns
it violates join W, until there are none. When W becomes half of everything, and when there are few
coordinates, it runs over all of them, straight on G.

**A warm start** (`dantzig_warm.c`). The lasso min w.Gw/2 - b.w + lam.|w| has the same feasible set
as optimality condition, |b - G w| <= lam with equality on the support, so its support and signs are
a basis with equal rows and columns S that satisfies all constraints; only multipliers may have the
wrong sign. A few rounds of coordinate descent from the old weights find it, whatever has moved
(`dantzig_lasso.c`); a few primal pivots then lead to the answer (`dantzig_repair.c`). These are
made in a table of derivatives of what follows (its rows) by what is set (`dantzig_table.c`):

                      w off S    b - M w on S
    w on S              -X           -inv          X = inv M[S, N],  N: all but S
    b - M w off S       -Y            X^T          Y = M[N, N] - M[N, S] X

A column is a ray of w, a row (up to sign) a ray of the dual, u on S and M u off S. A pivot lets a
row and a column of the table change places; for the rest it adds an outer product. Few pivots are
to be made, so the table is never written down: a pivot asks for one column and one row, which come
from the inverse and from the outer products so far, and the inverse stays that of S until the end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.dantzig.certificate import Matrix, Proof
from keyhole.core.functions import c_function
from keyhole.problem import Floats, Indices

SMALL = 48  # with fewer coordinates a working set does not pay
REFUSED = -1  # b is not finite, lam is negative or NaN, or the start is no basis
_PAUSED, _NO_ROOM = 7, 8
_ANYHOW, _STRAIGHT, _SPARSE = 0, 1, 2
WORK = 1 << 28  # multiply-adds between two looks at Python, for whoever wants to interrupt
_KEPT = 1 << 25  # bytes: more than this is not kept for the next program

Guess = tuple[Indices, Floats, Indices, Floats, Floats]
"""A basis to start from: columns, their signs, rows, their signs; weights of the columns or empty."""

# An answer: how it ended (0 optimal, 1 infeasible and u a direction of proof, else neither);
# pivots; w and u of length d; the basis, a `Guess` for a similar program; a `Proof`.
Outcome = tuple[int, int, Floats, Floats, Guess, Proof]

Memory = NDArray[np.int8]
_SHAPES = (
    "G[d,d] b[d] lam[.] columns[.] column_signs[.] rows[.] row_signs[.] weights[.] "
    "memory[.] point[2,d] places[2,d+1] signs[3,d+1] proof[7]"
)
_WRITES = "memory point places signs proof"


@c_function("kh_solve_dantzig", _SHAPES, writes=_WRITES, long=True)
def _solve_double(
    G: Floats, b: Floats, lam: Floats, columns: Indices, column_signs: Floats, rows: Indices,
    row_signs: Floats, weights: Floats, pivots: int, mode: int, work: int, again: bool,
    memory: Memory, point: Floats, places: Indices, signs: Floats, proof: Floats,
) -> tuple[int, int, int]:  # fmt: skip
    raise NotImplementedError


@c_function("kh_solve_dantzig_single", _SHAPES, writes=_WRITES, long=True)
def _solve_single(
    G: NDArray[np.float32], b: Floats, lam: Floats, columns: Indices, column_signs: Floats,
    rows: Indices, row_signs: Floats, weights: Floats, pivots: int, mode: int, work: int,
    again: bool, memory: Memory, point: Floats, places: Indices, signs: Floats, proof: Floats,
) -> tuple[int, int, int]:  # fmt: skip
    raise NotImplementedError


_CERTIFIED = "G[d,d] b[d] lam[d] columns[n] w[n] rows[m] u[m] proof[7]"


@c_function("kh_certify_dantzig", _CERTIFIED, writes="proof", room="2*d")
def _certify_double(
    G: Floats, b: Floats, lam: Floats, columns: Indices, w: Floats, rows: Indices, u: Floats,
    proof: Floats,
) -> None:  # fmt: skip
    raise NotImplementedError


@c_function("kh_certify_dantzig_single", _CERTIFIED, writes="proof", room="2*d")
def _certify_single(
    G: NDArray[np.float32], b: Floats, lam: Floats, columns: Indices, w: Floats, rows: Indices,
    u: Floats, proof: Floats,
) -> None:  # fmt: skip
    raise NotImplementedError


class _Memory(threading.local):
    """Memory for the next program of this thread; a program takes it away while it runs."""

    def __init__(self) -> None:
        self.free: Memory = np.empty(0, np.int8)
        self.largest = 0, 0  # d and bytes of the largest program so far

    def take(self, d: int, n: int) -> Memory:
        """At least what a program of d coordinates needs from a start with n of them."""
        wanted = (1 << 18) + 8 * (50 * d + 8 * (n + 64) ** 2)
        if d >= self.largest[0]:
            wanted = max(wanted, self.largest[1])
        free, self.free = self.free, np.empty(0, np.int8)
        return free if len(free) >= wanted else np.empty(wanted, np.int8)

    def give(self, d: int, memory: Memory) -> None:
        """Back, after a program of d coordinates."""
        self.largest = max(self.largest, (d, len(memory)), key=lambda pair: pair[1])
        if len(memory) <= _KEPT:
            self.free = memory


_memory = _Memory()


def certify(
    G: Matrix, b: Floats, lam: Floats, columns: Indices, w: Floats, rows: Indices, u: Floats
) -> Proof:
    """What a certificate needs, from G, b, lam and the given w and u alone."""
    proof = np.empty(7)
    function: Any = _certify_single if G.dtype.char == "f" else _certify_double
    function(G, b, lam, columns, w, rows, u, proof)
    return cast(Proof, tuple(proof.tolist()))


def solve(
    G: Floats, b: Floats, lam: Floats, start: Guess, pivots: int, straight: bool
) -> Outcome:
    """min |w|_1 s.t. |b - G w| <= lam.

    G symmetric (d, d) in C order, b of length d, lam of length d or 1. `start`: the basis of an
    earlier Outcome; all empty: none. At most `pivots` pivots. `straight`: no working set, no start,
    down the straight path lam (1 + s); if that ends infeasible, w is feasible for the smallest
    multiple of lam for which anything is. code 0 means that the engine believes in its answer;
    `proof` says how right it is, code REFUSED that the question is not one.
    """
    return _run(_solve_double, G, b, lam, start, pivots, _STRAIGHT if straight else _ANYHOW)


def solve_sparse(G: Matrix, b: Floats, lam: Floats, start: Guess, pivots: int) -> Outcome:
    """`solve` on a working set only, also for float32; code WIDE if that is not enough."""
    function: Any = _solve_single if G.dtype.char == "f" else _solve_double
    return _run(function, G, b, lam, start, pivots, _SPARSE)


def _run(
    function: Callable[..., tuple[int, int, int]],
    G: Matrix, b: Floats, lam: Floats, start: Guess, pivots: int, mode: int,
) -> Outcome:  # fmt: skip
    d, again = len(b), False
    point, proof = np.empty((2, d)), np.empty(7)
    places, signs = np.empty((2, d + 1), np.int64), np.empty((3, d + 1))
    memory = _memory.take(d, len(start[0]))
    while True:
        written = (memory, point, places, signs, proof)
        code, made, n = function(G, b, lam, *start, pivots, mode, WORK, again, *written)
        if code == _NO_ROOM:
            memory = np.empty(4 * len(memory), np.int8)
        elif code != _PAUSED:
            break
        again = code == _PAUSED
    _memory.give(d, memory)
    places, signs = places[:, :n].copy(), signs[:, :n].copy()
    basis = places[1], signs[1], places[0], signs[0], signs[2]
    return code, made, point[0], point[1], basis, cast(Proof, tuple(proof.tolist()))
