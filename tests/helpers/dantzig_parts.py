"""The parts of the Dantzig engine, which only C calls: compiled once more, with doors to them."""

import ctypes
import functools
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, cast
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from keyhole.core import compiler, library
from keyhole.core.functions import CFunction, c_function
from keyhole.learners.blocks.dantzig.path import Basis, empty
from keyhole.problem import Floats, Indices

Function = TypeVar("Function", bound=Callable[..., Any])
Bools = NDArray[np.bool_]
DOORS = Path(__file__).with_suffix(".c")


@functools.cache
def _library() -> ctypes.PyDLL:
    """The sources of the engine and the doors, as one library."""
    shared = [compiler.SOURCES / name for name in ("room.c", "numbers.c")]
    sources = [*sorted(compiler.SOURCES.glob("dantzig_*.c")), *shared, DOORS]
    sources = [source for source in sources if source.stem != "dantzig_explore"]
    digest = hashlib.sha256((compiler.name() + DOORS.read_text()).encode()).hexdigest()[:16]
    made = Path(tempfile.gettempdir()) / f"keyhole-parts-{digest}{compiler.suffix()}"
    if not made.exists():
        with tempfile.TemporaryDirectory(dir=made.parent) as folder:
            new = Path(folder) / made.name
            options = [*compiler.flags(), "-fPIC", "-shared", f"-I{compiler.SOURCES}", "-o"]
            files = map(str, (new, *sources))
            subprocess.run([*compiler.compiler(), *options, *files, "-lm"], check=True)
            os.replace(new, made)
    return ctypes.PyDLL(str(made))


def part(shapes: str = "", *, writes: str = "", room: str = "") -> Callable[[Function], Function]:
    """The decorated function is the part of that name, behind its door."""

    def decorate(function: Function) -> Function:
        made = c_function(f"part_{function.__name__.strip('_')}", shapes, writes=writes, room=room)(
            function
        )

        @functools.wraps(function)
        def call(*given: Any) -> Any:
            with mock.patch.object(library, "short", _library):
                return cast(CFunction, made)(*given)

        return cast(Function, call)

    return decorate


class Program(NamedTuple):
    """min |w|_1 s.t. |b - G w| <= lam; size = max|b|."""

    G: Floats
    b: Floats
    lam: Floats
    size: float


class Lines(NamedTuple):
    """r = b - G w and q = G u."""

    r: Floats
    q: Floats


class WorkingSet(NamedTuple):
    """The coordinates W[:m], whether a coordinate is among them, and G[W, W]."""

    W: Indices
    member: Bools
    M: Floats


class Rounding(NamedTuple):
    """What is rounding in a row of the problem, in a weight, in a multiplier."""

    row: float
    weight: float
    multiplier: float


class Table(NamedTuple):
    """The table of a repair; see the top of `dantzig/homotopy.py`."""

    A: Annotated[Floats, "n k16"]
    N: Annotated[Indices, "k"]
    edge: Annotated[Floats, "15 edges"]
    who: Annotated[Indices, "2 all"]
    since: Annotated[Indices, "2 all"]
    products: Annotated[Floats, "2 pivots edges"]
    where: Annotated[Indices, "2 pivots"]


# Rows of Table.edge; the two ways through the table.
PRIMAL, LOW, HIGH, TINY, DUAL, LEAST, MOST, SLIGHT, LENGTH = range(9)
DOWN, ACROSS = 0, 1
# How a part of the homotopy ended, beside those of `basis`; what stops a ray.
PAUSED = 7
NOTHING, BY_LINE, BY_BASIC, BY_OTHER_END = -1, 0, 1, 2


@part("x[.]")
def largest(x: Floats, n: int) -> float:
    raise NotImplementedError


@part("x[d] y[d]")
def excess(x: Floats, y: Floats) -> float:
    raise NotImplementedError


@part("M[.,.] index[.] weight[.] out[.]", writes="out")
def add_rows(
    M: Floats, m: int, index: Indices, weight: Floats, n: int, factor: float, out: Floats
) -> None:
    raise NotImplementedError


@part("M[.,.] index[.] weight[.] out[.]", writes="out")
def add_rows_single(
    M: NDArray[np.float32], m: int, index: Indices, weight: Floats, n: int, factor: float,
    out: Floats,
) -> None:  # fmt: skip
    raise NotImplementedError


@part("L[.,.] weight[.] out[.]", writes="out")
def combine(
    L: Floats, first: int, last: int, weight: Floats, start: int, stop: int, out: Floats
) -> None:
    raise NotImplementedError


@part("inv[.,.] x[.] y[.]", writes="inv")
def rank_one(inv: Floats, n: int, x: Floats, y: Floats) -> None:
    raise NotImplementedError


@part("inv[.,.] v[.] out[.]", writes="out")
def basic_solution(inv: Floats, n: int, side: int, v: Floats, out: Floats) -> None:
    raise NotImplementedError


@part()
def border(z: Basis, pivot: float) -> None:
    raise NotImplementedError


@part()
def replace_row(z: Basis, o: int) -> None:
    raise NotImplementedError


@part()
def replace_column(z: Basis, p: int) -> None:
    raise NotImplementedError


@part()
def unborder(z: Basis, p: int, o: int) -> None:
    raise NotImplementedError


@part("M[.,.]")
def invert(M: Floats, z: Basis) -> bool:
    raise NotImplementedError


@part()
def forget(z: Basis) -> None:
    raise NotImplementedError


@part()
def wrong_signs(z: Basis) -> int:
    raise NotImplementedError


@part("M[.,.]")
def ray(M: Floats, z: Basis, side: int, joins: bool, which: int, sign: float) -> float:
    raise NotImplementedError


@part()
def jitter(j: int) -> float:
    raise NotImplementedError


@part("M[.,.]")
def recompute(M: Floats, z: Basis, size: float, rate: bool) -> float:
    raise NotImplementedError


@part("M[.,.]")
def recompute_lines(M: Floats, z: Basis) -> None:
    raise NotImplementedError


@part()
def loosen(z: Basis, s: float, size: float, spread: float, straight: bool) -> None:
    raise NotImplementedError


@part("M[.,.]")
def start_path(M: Floats, z: Basis, size: float, spread: float, straight: bool) -> bool:
    raise NotImplementedError


@part()
def next_event(z: Basis, size: float) -> tuple[float, int, int, int]:
    raise NotImplementedError


@part()
def blocking(
    z: Basis, side: int, s: float, end: float, hair: float, big: float
) -> tuple[int, int, float]:
    raise NotImplementedError


@part()
def exchange(
    z: Basis, row_joins: bool, row: int, row_sign: float, column_joins: bool, column: int,
    column_sign: float,
) -> bool:  # fmt: skip
    raise NotImplementedError


@part("M[.,.]")
def follow(
    M: Floats, z: Basis, s: float, size: float, pivots: int, work: int
) -> tuple[int, float, int]:
    raise NotImplementedError


@part("M[.,.] w[.]", writes="w")
def descend(M: Floats, z: Basis, w: Floats, rounds: int) -> bool:
    raise NotImplementedError


@part("w[.]")
def take_support(z: Basis, w: Floats) -> None:
    raise NotImplementedError


@part("M[.,.] L[.,.]", writes="L")
def equal_sides(M: Floats, z: Basis, L: Floats) -> bool:
    raise NotImplementedError


@part("L[.,.]", writes="L", room="2*n+32")
def unfold(L: Floats, n: int) -> None:
    raise NotImplementedError


@part("W[d] member[d] new[.]", writes="W member")
def join(W: Indices, m: int, member: Bools, new: Indices) -> int:
    raise NotImplementedError


@part("G[d,d] W[d] M[.,.]", writes="M")
def gather(G: Floats, W: Indices, old: int, m: int, M: Floats) -> None:
    raise NotImplementedError


@part("G[d,d] b[d] lam[d] W[d]")
def fill(z: Basis, G: Floats, b: Floats, lam: Floats, size: float, W: Indices, old: int) -> None:
    raise NotImplementedError


@part("G[d,d] b[d] lam[d] W[d] r[d] q[d]", writes="r q", room="6*d+20")
def products(
    G: Floats, b: Floats, lam: Floats, size: float, W: Indices, z: Basis, s: float, r: Floats,
    q: Floats,
) -> None:  # fmt: skip
    raise NotImplementedError


@part("G[d,d] b[d] lam[d] r[d]")
def feasible(G: Floats, b: Floats, lam: Floats, size: float, r: Floats) -> bool:
    raise NotImplementedError


@part("G[d,d] b[d] lam[d] r[d] q[d]")
def holds(G: Floats, b: Floats, lam: Floats, size: float, r: Floats, q: Floats) -> bool:
    raise NotImplementedError


@part("G[d,d] b[d] lam[d] r[d] q[d] load[d]", writes="load")
def loads(
    G: Floats, b: Floats, lam: Floats, size: float, r: Floats, q: Floats, wider_r: float,
    wider_q: float, load: Floats,
) -> None:  # fmt: skip
    raise NotImplementedError


@part("load[d] member[d] found[d]", writes="load found")
def newcomers(
    load: Floats, member: Bools, quota: int, near: float, eager: bool, found: Indices
) -> int:
    raise NotImplementedError


@part("G[d,d] W[d] member[d] found[d]", writes="found", room="6*d+20")
def stopping(G: Floats, W: Indices, member: Bools, z: Basis, quota: int, found: Indices) -> int:
    raise NotImplementedError


@part(
    "G[d,d] b[d] lam[d] W[d] member[d] old[.,.] new[.] M[side,side]",
    writes="W member M",
    room="20*side*side+40*side+9999",
)
def widen(
    G: Floats, b: Floats, lam: Floats, size: float, W: Indices, member: Bools, old: Floats,
    z: Basis, new: Indices, M: Floats, wide: Annotated[Basis, "wide=wide2 m=m2 room=room2"],
) -> None:  # fmt: skip
    raise NotImplementedError


@part("G[d,d] b[d] lam[d] W[d]", room="60*d+999")
def over_all(
    G: Floats, b: Floats, lam: Floats, size: float, W: Indices, z: Basis,
    all: Annotated[Basis, "wide=wide2 m=m2 room=room2"],
) -> None:  # fmt: skip
    raise NotImplementedError


@part("columns[n] column_signs[n] rows[n] row_signs[n] W[d]", room="d")
def adopt(
    z: Basis, columns: Indices, column_signs: Floats, rows: Indices, row_signs: Floats, W: Indices
) -> None:
    raise NotImplementedError


@part("W[d] M[.,.] r[d] q[d]", room="99*d+99*d*pivots+9999")
def _tabulate(
    W: Indices, M: Floats, z: Basis, r: Floats, q: Floats, row: float, weight: float,
    multiplier: float, to: Table,
) -> None:  # fmt: skip
    raise NotImplementedError


@part("M[.,.] out[edges]", writes="out")
def line_of(M: Floats, z: Basis, t: Table, way: int, at: int, made: int, out: Floats) -> None:
    raise NotImplementedError


@part()
def swap(t: Table, made: int, p: int, c: int, kappa: float) -> None:
    raise NotImplementedError


@part("rows[m] columns[m]", writes="rows columns")
def take_basis(z: Basis, t: Table, rows: Indices, columns: Indices) -> None:
    raise NotImplementedError


@part("rows[m] columns[m]")
def take_inverse(z: Basis, t: Table, made: int, rows: Indices, columns: Indices) -> None:
    raise NotImplementedError


@part("edge[15,.]", writes="edge")
def steepest(edge: Floats, m: int) -> int:
    raise NotImplementedError


@part("edge[15,.] ray[.]", writes="edge")
def nearest(edge: Floats, m: int, ray: Floats, way: float, end: float) -> tuple[int, float]:
    raise NotImplementedError


@part("W[d] r[d]")
def fits(z: Basis, W: Indices, r: Floats, size: float) -> bool:
    raise NotImplementedError


@part("W[d] r[d] q[d]")
def tight(z: Basis, W: Indices, r: Floats, q: Floats, size: float) -> bool:
    raise NotImplementedError


@part("G[d,d] b[d] lam[d] W[d] M[.,.] r[d] q[d]", writes="r q", room="99*d+99*d*d+99*d*pivots+9999")
def repair(
    G: Floats, b: Floats, lam: Floats, size: float, W: Indices, M: Floats, z: Basis, r: Floats,
    q: Floats, pivots: int,
) -> tuple[int, int, int]:  # fmt: skip
    raise NotImplementedError


def tabulate(working: WorkingSet, z: Basis, lines: Lines, rounding: Rounding, pivots: int) -> Table:
    """The table of a basis with equal rows and columns."""
    m, n = z.place.shape[1], int(z.active[2, 0])
    k, wide, whole = m - n, -(-m // 16) * 16, np.int64
    t = Table(
        np.empty((n, -(-k // 16) * 16)), np.empty(k, whole), np.empty((15, wide)),
        np.empty((2, m), whole), np.empty((2, m), whole), np.empty((2, pivots, wide)),
        np.empty((2, pivots), whole),
    )  # fmt: skip
    _tabulate(working.W, working.M, z, *lines, *rounding, t)
    return t


def widened(
    program: Program, working: WorkingSet, z: Basis, new: Indices
) -> tuple[WorkingSet, Basis]:
    """The working set and its basis with newcomers."""
    W, member, _ = working
    m = z.place.shape[1] + len(set(new.tolist()) - set(np.flatnonzero(member).tolist()))
    wide = z.line.shape[1] if m == z.place.shape[1] else -(-m // 16) * 16
    after, M = empty(m, wide, z.active.shape[1]), np.full((-(-m // 16) * 16,) * 2, np.nan)
    widen(*program, W, member, working.M, z, new, M, after)
    return WorkingSet(W, member, M), after
