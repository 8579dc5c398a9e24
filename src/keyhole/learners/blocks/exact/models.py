"""Models of given features in scaled units: projections, forward selection, exchange, enumeration.

Scaled: G has unit diagonal (or is a part of such a matrix) and y'y = 1.
"""

from __future__ import annotations

from typing import NamedTuple

from keyhole.core.functions import c_function
from keyhole.learners.blocks.exact.slices import kept, to_the_end
from keyhole.problem import Floats, Indices

DEPENDENT = 1e-10  # a column with less than this part of its square left adds nothing
TOLERANCE = 1e-10  # a subset that is better by less than this part of y'y is not looked for


class Leaf(NamedTuple):
    """A node small enough to enumerate: what is in, the candidates C, and what these may bring.

    v (of C, descending) and slack bound: rss(I + T) >= slack - sum of v over T.
    """

    I: Indices  # noqa: E741
    C: Indices
    v: Floats
    slack: float


@c_function("kh_include", "G[m,m] L[.,m] D[m] r[m]", writes="L D r")
def include(G: Floats, L: Floats, s: int, i: int, D: Floats, r: Floats) -> float:
    """Project column i out of all others, as row s of a Cholesky factor; its gain, or -1.

    D_j and r_j are what is left of the square of column j and of its product with y: at first the
    diagonal of G, and c.
    """
    raise NotImplementedError


@c_function("kh_rss", "G[m,m] c[m] S[.]", room="size*size + 2*size")
def rss(G: Floats, c: Floats, S: Indices, size: int) -> float:
    """Residual sum of squares of S[:size], by a small Cholesky; dependent columns add nothing."""
    raise NotImplementedError


def swaps(G: Floats, c: Floats, k: int, S: Indices, size: int) -> tuple[int, float]:
    """Complete S[:size] greedily to k columns, then exchange one at a time as long as that helps.

    In place; the size and the rss.
    """
    size, left = to_the_end(_swaps, G, c, k, S, size, kept(0))
    return size, left


def enumerate_all(
    G: Floats, c: Floats, leaf: Leaf, r: int, best: float, S_best: Indices
) -> tuple[float, int]:
    """Best of I plus at most r of C by depth-first enumeration; (best, partial sets visited).

    It is written to S_best, -1 for unused places, if it is better than `best`.
    """
    m, levels = len(leaf.C), max(r - 1, 1)
    room = kept(levels * (m * m + 2 * m + 3) + (r + 1) * (m + r + 1) + 2 * r + 1)
    best, visited = to_the_end(_enumerate, G, c, *leaf, r, best, S_best, room)
    return best, visited


@c_function(
    "kh_swaps", "G[m,m] c[m] S[.] kept[.]", writes="S kept", room="k*m + k + 2*m", long=True
)
def _swaps(
    G: Floats, c: Floats, k: int, S: Indices, size: int, kept: Floats, effort: int
) -> tuple[bool, int, float]:
    raise NotImplementedError


@c_function(
    "kh_enumerate_all",
    "G[m,m] c[m] I[forced] C[n] v[n] S_best[.] kept[.]",
    writes="S_best kept",
    room="forced*m + 2*m",
    long=True,
)
def _enumerate(
    G: Floats, c: Floats, I: Indices, C: Indices, v: Floats, slack: float, r: int,  # noqa: E741
    best: float, S_best: Indices, kept: Floats, effort: int,
) -> tuple[bool, float, int]:  # fmt: skip
    raise NotImplementedError
