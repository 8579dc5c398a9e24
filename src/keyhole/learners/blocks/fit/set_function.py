"""g(S), what the best model on the features S loses, and greedy steps on it, from second moments.

With G = sum x x', c = sum x y, yy = sum y^2 over n rows (a `Gram`, `Moments`, or the sums of a
mini-batch),

    g(S) = (1/n) inf_{w on S} sum (y - <x, w>)^2 = (yy - c_S' G_SS^+ c_S) / n     (`equation:gt`).

The functions trust that G is a Gram matrix. A feature of which the chosen ones explain all but
1e-10 of its square counts as explained, which is what the pseudo-inverse does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from keyhole.core.functions import c_function
from keyhole.problem import Floats, Indices, ProblemError, whole_number


def slot_gains(G: Floats, c: Floats, yy: float, n: int, chosen: ArrayLike) -> tuple[Floats, Floats]:
    """What each feature would gain in each greedy step, all candidates in one projection per step.

    Parameters
    ----------
    G, c, yy, n
        Second moments of n rows. Of G the upper triangle is read, and of that only the diagonal
        and what belongs to a chosen feature.
    chosen
        j_1, ..., j_k1, the feature each step took; repetitions are allowed and change nothing.

    Returns
    -------
    levels, gains: levels[i] = g(V), gains[i, j] = g(V) - g(V + {j}) with V = {j_1, ..., j_i}, for
    i = 0, ..., k1 - 1. O(m k1^2) for m features; the moments needed cost O(n m k1).

    Examples
    --------
    >>> G, c = np.array([[4.0, 2.0], [2.0, 4.0]]), np.array([4.0, 3.0])
    >>> levels, gains = slot_gains(G, c, 5.0, 1, [0, 1])
    >>> levels, gains.round(3)
    (array([5., 1.]), array([[4.   , 2.25 ], [0.   , 0.333]]))
    """
    if n < 1:
        raise ProblemError(f"g is a mean over rows: n must be at least 1, got {n}")
    order = np.array(chosen, dtype=np.int64)
    levels, gains = np.empty(len(order)), np.empty((len(order), len(c)))
    G, c = (np.ascontiguousarray(sums, dtype=np.float64) for sums in (G, c))
    sweep(G, c, float(yy), order, levels, gains)
    return levels / n, gains / n


def residual(G: Floats, c: Floats, yy: float, n: int, S: ArrayLike) -> float:
    """g(S).

    >>> residual(np.eye(2), np.array([0.6, 0.0]), 1.0, 1, [0, 1])
    0.64
    """
    levels, _ = slot_gains(G, c, yy, n, np.append(np.asarray(S, dtype=np.int64), 0))
    return float(levels[-1])


def marginal_gains(G: Floats, c: Floats, yy: float, n: int, V: ArrayLike) -> Floats:
    """g(V) - g(V + {j}) of every feature j."""
    _, gains = slot_gains(G, c, yy, n, np.append(np.asarray(V, dtype=np.int64), 0))
    last: Floats = gains[-1]
    return last


def greedy(G: Floats, c: Floats, yy: float, n: int, k: int) -> tuple[Indices, float]:
    """k greedy steps: the features in the order taken, and g of them.

    Ties go to the lower number; it stops early when nothing is gained any more.

    >>> greedy(np.eye(3), np.array([0.1, 0.5, 0.3]), 1.0, 1, k=2)
    (array([1, 2]), 0.66)
    """
    V = np.empty(0, dtype=np.int64)
    for _ in range(whole_number("k", k, 0)):
        gains = marginal_gains(G, c, yy, n, V)
        best = int(gains.argmax())
        if not gains[best] > 0.0:
            break
        V = np.append(V, best)
    return V, residual(G, c, yy, n, V)


@c_function(
    "kh_sweep",
    "G[m,m] c[m] chosen[n] levels[n] gains[n,m]",
    writes="levels gains",
    room="n*m+2*m",
)
def sweep(G: Floats, c: Floats, yy: float, chosen: Indices, levels: Floats, gains: Floats) -> None:
    """levels[i] = h(V_i), gains[i, a] = h(V_i) - h(V_i + a), V_i the features chosen before i.

    h(S) = min_w yy - 2 c.w + w'G w over w on S. Of G only the upper triangle is read, and of that
    the diagonal and the rows and columns of `chosen`. A feature chosen twice counts once. Each
    step of the Cholesky factorisation projects all candidates at once: O(m) per earlier step.
    """
    raise NotImplementedError
