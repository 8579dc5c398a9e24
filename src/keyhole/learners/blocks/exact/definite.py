"""Whether every k x k principal submatrix is positive definite: a search that prunes."""

from __future__ import annotations

from keyhole.core.functions import c_function
from keyhole.learners.blocks.exact.slices import kept, to_the_end
from keyhole.problem import Floats, Indices

YES, NO, UNDECIDED = 1, 0, -1


def all_definite(M: Floats, k: int, limit: float, witness: Indices) -> tuple[int, float]:
    """Decide whether M[S, S] is positive definite for every |S| = k >= 2; (answer, steps taken).

    Depth first over sets I, ascending: level t holds the Schur complement W of the t chosen ones in
    the later candidates. M[I + T] is definite for all T of size r iff W[T] is, which is certain
    when (r - 1) max |W_ab| / sqrt(W_aa W_bb) < 1 (Gershgorin after scaling the diagonal to 1), and
    for r = 2 only then. Columns that make trouble should come first: the rest is then pruned at
    once. On NO, `witness` begins with a set that is not definite, ended by -1.
    """
    d = len(M)
    room = kept((k - 1) * (d * d + d + 1))
    answer, steps = to_the_end(_all_definite, M, k, limit, witness, room)
    return answer, steps


@c_function("kh_all_definite", "M[d,d] witness[.] kept[.]", writes="witness kept", long=True)
def _all_definite(
    M: Floats, k: int, limit: float, witness: Indices, kept: Floats, effort: int
) -> tuple[bool, int, float]:
    raise NotImplementedError
