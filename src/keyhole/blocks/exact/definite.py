"""Whether every k x k principal submatrix is positive definite: a search that prunes."""

from __future__ import annotations

import numpy as np

from keyhole.blocks.jit.decorators import kernel
from keyhole.problem import Floats, Indices

YES, NO, UNDECIDED = 1, 0, -1


@kernel
def coherence(W: Floats, first: int, most: Floats) -> None:
    """most[i] = max over i <= a < b of W_ab^2 / (W_aa W_bb), for i from the end down to `first`."""
    d = len(most)
    most[d - 1] = 0.0
    for a in range(d - 2, first - 1, -1):
        largest = 0.0
        for b in range(a + 1, d):
            x = W[a, b] * W[a, b] / W[b, b]
            if x > largest:
                largest = x
        most[a] = max(most[a + 1], largest / W[a, a])


@kernel
def all_definite(M: Floats, k: int, limit: float, witness: Indices) -> tuple[int, float]:
    """Decide whether M[S, S] is positive definite for every |S| = k >= 2; (answer, steps taken).

    Depth first over sets I, ascending: level t holds the Schur complement W of the t chosen ones in
    the later candidates. M[I + T] is definite for all T of size r iff W[T] is, which is certain
    when (r - 1) max |W_ab| / sqrt(W_aa W_bb) < 1 (Gershgorin after scaling the diagonal to 1), and
    for r = 2 only then. Columns that make trouble should come first: the rest is then pruned at
    once. On NO, `witness` begins with a set that is not definite, ended by -1.
    """
    d = len(M)
    for p in range(len(witness)):
        witness[p] = -1
    for a in range(d):
        if not M[a, a] > 0.0:
            witness[0] = a
            return NO, 0.0
    W = np.empty((k - 1, d, d))
    most = np.empty((k - 1, d))
    place = np.zeros(k - 1, np.int64)
    for a in range(d):
        for b in range(d):
            W[0, a, b] = M[a, b]
    coherence(W[0], 0, most[0])
    steps = float(d * d)
    t = 0
    while t >= 0:
        i, r = place[t], k - t
        if i + r > d or (r - 1.0) * (r - 1.0) * most[t, i] < 1.0:
            t -= 1
            continue
        if r == 2:
            for a in range(i, d):
                for b in range(a + 1, d):
                    if not W[t, a, b] * W[t, a, b] / W[t, b, b] / W[t, a, a] < 1.0:
                        note(witness, place, t, a, b)
                        return NO, steps
        place[t] += 1
        for a in range(i + 1, d):
            h = W[t, i, a] / W[t, i, i]
            for b in range(a, d):
                W[t + 1, a, b] = W[t, a, b] - h * W[t, i, b]
            if not W[t + 1, a, a] > 0.0:
                note(witness, place, t, i, a)
                return NO, steps
        coherence(W[t + 1], i + 1, most[t + 1])
        steps += (d - i) * (d - i)
        if steps > limit:
            return UNDECIDED, steps
        t += 1
        place[t] = i + 1
    return YES, steps


@kernel
def note(witness: Indices, place: Indices, t: int, a: int, b: int) -> None:
    """Write the chosen ones of the levels below t, then a and b."""
    for p in range(t):
        witness[p] = place[p] - 1
    witness[t] = a
    witness[t + 1] = b
