"""Homotopy solves the Dantzig program: the engine in C, one call that solves and certifies.

**The path** (`dantzig_homotopy.c`). The parametric simplex method, from any basis (`path.py`):
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

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.core.records import hold
from keyhole.learners.blocks.dantzig.solution import Matrix, Proof
from keyhole.problem import Floats, Indices

MIN_WORKING_SET_D = 48  # with fewer coordinates a working set does not pay
REFUSED = -1  # b is not finite, lam is negative or NaN, or the start is no basis
_PAUSED, _NO_ROOM = 7, 8
_ANYHOW, _STRAIGHT, _SPARSE, _GO_ON = 0, 1, 2, 3
WORK_PER_CALL = 1 << 28  # multiply-adds between two looks at Python, for whoever wants to interrupt
_MIN_MEMORY = 1 << 19  # bytes of memory that a program begins with, and more if it is large
_MAX_KEPT_MEMORY = 1 << 25  # bytes: more than this is not kept for the next program

# A basis to start from: columns, their signs, rows, their signs; weights of the columns, or empty.
Guess = tuple[Indices, Floats, Indices, Floats, Floats]

# An answer: how it ended (0 optimal, 1 infeasible and u a direction of proof, else neither);
# pivots; w and u of length d; the basis, a `Guess` for a similar program; a `Proof`.
Outcome = tuple[int, int, Floats, Floats, Guess, Proof]


class DantzigRoom(NamedTuple):
    """Where a start is given and an answer is told, and memory for what is between them.

    Of a start with n columns: the columns and the rows, their signs, the weights of the columns,
    each in the first n entries. An answer is told likewise.
    """

    work: int  # multiply-adds before it pauses
    memory: Annotated[NDArray[np.int8], "."]
    places: Annotated[Indices, "2 cap"]  # rows, columns
    signs: Annotated[Floats, "3 cap"]  # of rows, of columns; weights
    proof: Annotated[Floats, "7"]


_SHAPES = "G[d,d] b[d] lam[.] point[2,d]"


@c_function("kh_solve_dantzig", _SHAPES, writes="point", long=True)
def _solve_double(
    G: Floats, b: Floats, lam: Floats, n: int, known: bool, pivots: int, mode: int,
    room: DantzigRoom, point: Floats,
) -> tuple[int, int, int]:  # fmt: skip
    raise NotImplementedError


@c_function("kh_solve_dantzig_single", _SHAPES, writes="point", long=True)
def _solve_single(
    G: NDArray[np.float32], b: Floats, lam: Floats, n: int, known: bool, pivots: int, mode: int,
    room: DantzigRoom, point: Floats,
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


class _Rooms:
    """Rooms for the next programs; a program takes one away while it runs."""

    def __init__(self) -> None:
        self._free: list[DantzigRoom] = []
        self._largest = 0, 0  # d and bytes of the program that needed most so far

    def take(self, d: int, n: int) -> DantzigRoom:
        """Enough for many programs of d coordinates, from a start with n of them."""
        wanted = max(_MIN_MEMORY, 8 * (50 * d + 8 * (n + 16) ** 2))
        if d >= self._largest[0] and self._largest[1] > wanted:
            wanted = self._largest[1]
        try:
            room = self._free.pop()
        except IndexError:
            room = None
        if room is None or len(room.memory) < wanted or room.places.shape[1] <= d:
            places, signs = np.empty((2, d + 1), np.int64), np.empty((3, d + 1))
            memory = np.empty(wanted, np.int8)
            room = hold(DantzigRoom(WORK_PER_CALL, memory, places, signs, np.empty(7)))
        return room

    def give(self, d: int, room: DantzigRoom) -> None:
        """Back, after a program of d coordinates."""
        size = len(room.memory)
        if size > self._largest[1]:
            self._largest = d, size
        if size <= _MAX_KEPT_MEMORY:
            self._free.append(room)


_rooms = _Rooms()


def certify(
    G: Matrix, b: Floats, lam: Floats, columns: Indices, w: Floats, rows: Indices, u: Floats
) -> Proof:
    """What a certificate needs, from G, b, lam and the given w and u alone."""
    proof = np.empty(7)
    function: Any = _certify_single if G.dtype.char == "f" else _certify_double
    function(G, b, lam, columns, w, rows, u, proof)
    return cast(Proof, tuple(proof.tolist()))


def solve(G: Matrix, b: Floats, lam: Floats, start: Guess, pivots: int, straight: bool) -> Outcome:
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
    columns, column_signs, rows, row_signs, weights = start
    d, n, known, how = len(b), len(columns), len(weights) > 0, mode
    point = np.empty((2, d))
    sound = n <= d and n == len(column_signs) == len(rows) == len(row_signs)
    if not sound or (known and len(weights) != n):
        return REFUSED, 0, point[0], point[1], start, (np.nan,) * 7
    room = _rooms.take(d, n)
    if n:
        room.places[0, :n], room.places[1, :n] = rows, columns
        room.signs[0, :n], room.signs[1, :n] = row_signs, column_signs
        if known:
            room.signs[2, :n] = weights
    while True:
        code, made, size = function(G, b, lam, n, known, pivots, how, room, point)
        if code == _NO_ROOM:
            memory = np.empty(4 * len(room.memory), np.int8)
            room = hold(DantzigRoom(room.work, memory, room.places, room.signs, room.proof))
        elif code != _PAUSED:
            break
        how = _GO_ON if code == _PAUSED else mode
    rows, columns = room.places[:, :size].copy()
    row_signs, column_signs, weights = room.signs[:, :size].copy()
    proof = cast(Proof, tuple(room.proof.tolist()))
    _rooms.give(d, room)
    basis = columns, column_signs, rows, row_signs, weights
    return code, made, point[0], point[1], basis, proof
