"""Best k-subset of least squares from a Gram matrix: exact by branch and bound, else an interval."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.problem import Floats, Indices, ProblemError, whole_number

LEAF = 1e6  # a node with fewer completions than this is enumerated: about as dear as bounding it
ROOM = 2.5e8  # bytes of open nodes; beyond, the search goes deep first and the heap stops growing


@dataclass(frozen=True, slots=True, eq=False)
class Subset:
    """A k-sparse least squares model and what is known about the best one.

    Parameters
    ----------
    support
        Its features, ascending; at most k.
    weights
        Its weights, in the order of `support`.
    rss
        Its residual sum of squares: the best one is at most this.
    lower
        The best one is at least this; equal to `rss` when `exact`.
    exact
        Whether the model is proven to be the best, to 1e-9 of y'y.
    nodes
        How many partial supports were looked at.
    how
        What was done, for people.
    """

    support: Indices
    weights: Floats
    rss: float
    lower: float
    exact: bool
    nodes: int
    how: str


def best_subset(
    G: ArrayLike,
    c: ArrayLike,
    yy: float,
    k: int,
    *,
    seconds: float = 10.0,
    start: Sequence[int] | Indices | None = None,
) -> Subset:
    """The k features that explain y best, from second moments alone.

        minimise over |S| <= k:   rss(S) = min_w yy - 2 c[S].w + w'G[S, S]w

    Forward selection and swaps give a first model; the perspective relaxation gives, at every node
    of the search, numbers with rss(S) >= base - sum over S of v_j, which settle most features at
    once; what they leave open is branched on, best bound first, or enumerated when it is small.

    Parameters
    ----------
    G
        X'X, d x d, positive semidefinite; it may be singular.
    c
        X'y.
    yy
        y'y. All three may be divided by the same number.
    k
        How many features the model may have, 1 <= k <= d.
    seconds
        When to stop searching. The first model and the first bound are made in any case.
    start
        Features of a model to try as well.

    Returns
    -------
    Subset
        The model, and the interval [lower, rss] that holds the best value.

    Guarantee
    ---------
    `lower` <= best <= `rss`, up to 1e-9 of yy. A column of which less than 1e-10 of its square is
    left after projection counts as dependent. Columns may be in any units.

    Examples
    --------
    >>> X = np.array([[1.0, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 0]])
    >>> y = np.array([3.0, 1, 3, 1])
    >>> best = best_subset(X.T @ X, X.T @ y, y @ y, k=2)
    >>> best.support, best.weights.round(6), best.exact
    (array([0, 1]), array([1., 2.]), True)
    """
    began = time.monotonic()
    G, c, yy, k = _checked(G, c, yy, k)
    d = len(c)
    tried = _support(start, d, k)
    if yy == 0.0:
        return _subset(G, c, yy, np.zeros(0, np.int64), 0.0, True, 0, "y is zero")
    # Unit diagonal and y'y = 1: the search sees neither the units of the columns nor those of y.
    scale = np.zeros(d)
    scale[np.diag(G) > 0.0] = 1.0 / np.sqrt(np.diag(G)[np.diag(G) > 0.0])
    A = scale[:, None] * G * scale
    b = scale * c / math.sqrt(yy)
    kept = _distinct(A, b)
    if len(kept) == 0:
        return _subset(G, c, yy, kept, 0.0, True, 0, "all columns are zero")
    A, b = np.ascontiguousarray(A[np.ix_(kept, kept)]), b[kept]
    place = {int(j): p for p, j in enumerate(kept)}
    search = _Search(A, b, min(k, len(kept)))
    search.first([place[j] for j in tried if j in place])
    done = search.root(began + seconds) or search.run(began + seconds)
    lower, exact = (search.best, True) if done else (search.lower, False)
    how = f"branch and bound, complete, {search.nodes:,} nodes"
    if not exact:
        how = (
            f"stopped after {seconds:g} s, {search.nodes:,} nodes: "
            "forward selection and swaps above, relaxation bound below"
        )
    support = np.sort(kept[search.S[search.S >= 0]])
    return _subset(G, c, yy, support, lower * yy, exact, search.nodes, how)


def _checked(G: ArrayLike, c: ArrayLike, yy: float, k: int) -> tuple[Floats, Floats, float, int]:
    """The arguments as arrays and numbers, or a ProblemError that names the wrong one."""
    try:
        G = np.array(G, dtype=np.float64)
        c = np.array(c, dtype=np.float64)
        yy = float(yy)
    except (TypeError, ValueError):
        raise ProblemError("G, c and yy must be numbers") from None
    if G.ndim != 2 or G.shape[0] != G.shape[1] or G.shape[0] == 0:
        raise ProblemError(f"G must be a square matrix, got shape {G.shape}")
    if c.shape != G.shape[:1]:
        raise ProblemError(f"c must have shape {G.shape[:1]} as G has {G.shape}, got {c.shape}")
    for name, value in (("G", G), ("c", c), ("yy", np.array(yy))):
        if not np.isfinite(value).all():
            raise ProblemError(f"{name} must be finite")
    if yy < 0.0:
        raise ProblemError(f"yy must be at least 0, got {yy}")
    diagonal = np.diag(G)
    if (diagonal < 0.0).any():
        raise ProblemError("G must be positive semidefinite, it has a negative diagonal entry")
    unit = np.sqrt(np.outer(diagonal, diagonal))
    if (np.abs(G - G.T) > 1e-8 * unit).any():
        raise ProblemError("G must be symmetric")
    k = whole_number("k", k, 1)
    if k > len(c):
        raise ProblemError(f"k must be at most d = {len(c)}, got {k}")
    return (G + G.T) / 2.0, c, yy, k


def _support(start: Sequence[int] | Indices | None, d: int, k: int) -> list[int]:
    """`start` as at most k different features, or a ProblemError."""
    if start is None:
        return []
    tried = [whole_number("start", j, 0) for j in start]
    if len(set(tried)) != len(tried) or len(tried) > k or max(tried, default=0) >= d:
        raise ProblemError(f"start must be at most {k} different features below {d}, got {tried}")
    return tried


def _distinct(A: Floats, b: Floats) -> Indices:
    """Columns without the zero ones and without copies of earlier ones (up to sign and units)."""
    kept: list[int] = []
    for j in np.flatnonzero(np.diag(A) > 0.0):
        copies = (i for i in kept if 1.0 - abs(A[i, j]) < 1e-12)
        if not any(_same(A, b, i, int(j)) for i in copies):
            kept.append(int(j))
    return np.array(kept, dtype=np.int64)


def _same(A: Floats, b: Floats, i: int, j: int) -> bool:
    sign = math.copysign(1.0, A[i, j])
    # The products with all others and with y must agree too: 1 - 1e-12 alone leaves room for 1e-6.
    return bool(
        np.abs(A[i] - sign * A[j]).max() < 1e-12 and abs(b[i] - sign * b[j]) < 1e-12
    )


def _subset(
    G: Floats, c: Floats, yy: float, S: Indices, lower: float, exact: bool, nodes: int, how: str
) -> Subset:
    """The model of the support S, in the caller's units."""
    unit = np.sqrt(np.diag(G)[S])
    w = np.linalg.lstsq(G[np.ix_(S, S)] / np.outer(unit, unit), c[S] / unit, rcond=None)[0]
    rss = max(float(yy - w @ (c[S] / unit)), 0.0)
    lower = rss if exact else min(max(lower, 0.0), rss)
    return Subset(S, w / unit, rss, lower, exact, nodes, how)


class _Search:
    """Branch and bound in scaled units: A has unit diagonal, b = products with y, y'y = 1.

    The incumbent is S (-1 marks unused places) of value `best`; no subset is below `lower`. A
    better one has only columns in `alive`; state, R, e, q, lam (of length alive) are the root node.
    """

    def __init__(self, A: Floats, b: Floats, k: int) -> None:
        self.A, self.b, self.k = A, b, k
        self.S: Indices = np.full(k, -1, dtype=np.int64)
        self.best, self.lower, self.nodes = 1.0, 0.0, 0
        self.G, self.c, self.alive = A, b, np.arange(len(b))
        self.R, self.e, self.q, self.lam = A, np.zeros_like(b), np.zeros_like(b), 0.0
        self.reached = -math.inf
        self.state: NDArray[np.int8] = np.zeros(len(b), dtype=np.int8)

    def first(self, start: list[int]) -> None:
        """Incumbents: forward selection and swaps, from nothing and from `start`."""
        from keyhole.blocks.kernels.subset import swaps

        for given in ([], start):
            S = np.full(self.k, -1, dtype=np.int64)
            S[: len(given)] = given
            size, best = swaps(self.A, self.b, self.k, S, len(given))
            if best < self.best:
                S[size:] = -1
                self.best, self.S = best, S

    def settle(
        self, state: NDArray[np.int8], q: Floats, lam: float, bound: float, limit: float
    ) -> tuple[float, float, int]:
        """Bound one node by the kernel: its bound (infinite: done), lam and branching feature."""
        from keyhole.blocks.kernels.subset import settle

        S = np.full(self.k, -1, dtype=np.int64)
        rounds = 12 if limit else 60
        bound, best, lam, branch, visited = settle(
            self.G, self.c, self.R, self.e, self.k, state, q, lam, bound, self.best, S, limit, rounds
        )
        if best < self.best:
            self.best, self.S = best, np.where(S >= 0, self.alive[S], -1)
        self.nodes += visited
        return bound, lam, branch

    def root(self, deadline: float) -> bool:
        """Bound the root, drop columns no better subset has, and again; whether it is solved.

        At its solution (q, z) the relaxation gains q_j^2 (1/z_j - 1) per unit of e_j. These gains,
        summed over the turns so that they settle, say where the next split should put its diagonal.
        """
        from keyhole.blocks.kernels.subset import OUT, TOLERANCE

        theta = 0.0
        weight = np.zeros_like(self.b)
        for turn in range(12):
            live = self.state != OUT
            self.keep(live)
            weight = weight[live]
            if turn == 0 or not live.all():
                values, vectors = np.linalg.eigh(self.G)
            before = self.lower
            if turn == 0:
                if values[0] < -1e-8:
                    raise ProblemError("G must be positive semidefinite")
                # No subset beats all columns together. Directions below 1e-12 are rounding.
                solid = values > 1e-12
                self.lower = 1.0 - float(((vectors.T @ self.c)[solid] ** 2 / values[solid]).sum())
                before = 0.0
                thetas = _thetas(values, self.k)
            else:
                thetas = [theta]
            reached = -math.inf
            for theta_now in thetas:
                split = _split(values, vectors, self.k, theta_now, weight if turn > 0 else None)
                if split is None:
                    continue
                q = np.zeros_like(self.c)
                old = self.R, self.e
                self.R, self.e = split
                bound, lam, _ = self.settle(self.state, q, 0.0, 0.0, 0.0)
                if bound == math.inf:
                    return True
                if bound > reached:
                    reached, theta = bound, theta_now
                    z = np.minimum(np.abs(q) * np.sqrt(self.e / lam), 1.0)
                    gain = np.divide(q**2 * (1.0 - z), z, out=np.zeros_like(q), where=z > 0.0)
                if bound > self.reached:
                    self.reached, self.q, self.lam = bound, q, lam
                else:
                    self.R, self.e = old
            self.lower = max(self.lower, self.reached)
            if self.lower >= self.best - TOLERANCE:
                return True
            if reached == -math.inf or time.monotonic() > deadline:
                break
            weight += np.sqrt(gain / max(gain.max(), 1e-300)) + 0.1
            dropped = int((self.state == OUT).sum())
            small = self.lower - before < 0.02 * (self.best - before)
            if turn > 1 and small and dropped * 20 < len(self.state):
                break
        return False

    def keep(self, live: NDArray[np.bool_]) -> None:
        """Forget the other columns. Parts of a valid split are a valid split."""
        self.alive, self.state, self.q = self.alive[live], self.state[live], self.q[live]
        self.G = np.ascontiguousarray(self.A[np.ix_(self.alive, self.alive)])
        self.c = self.b[self.alive]
        self.R = np.ascontiguousarray(self.R[np.ix_(live, live)])
        self.e = self.e[live]

    def run(self, deadline: float) -> bool:
        """Search below the root, best bound first, until the deadline; whether it is solved."""
        from keyhole.blocks.kernels.subset import IN, OPEN, OUT, TOLERANCE

        heap: list[_Node] = []
        count = itertools.count()
        room = ROOM / (9 * len(self.c) + 500)

        def look(state: NDArray[np.int8], q: Floats, lam: float, bound: float) -> None:
            bound, lam, branch = self.settle(state, q, lam, bound, LEAF)
            if bound < math.inf:
                key = -float((state != OPEN).sum()) if deep else bound
                heapq.heappush(heap, (key, next(count), bound, lam, branch, state, q))

        deep = False
        if time.monotonic() < deadline:
            look(self.state, self.q, self.lam, self.lower)
        else:
            heap.append((0.0, 0, self.lower, 0.0, 0, self.state, self.q))
        while heap and time.monotonic() < deadline:
            if deep != (len(heap) > room):
                deep = not deep
                heap = [
                    (-float((n[5] != OPEN).sum()) if deep else n[2], *n[1:]) for n in heap
                ]
                heapq.heapify(heap)
            _, _, bound, lam, j, state, q = heapq.heappop(heap)
            if bound >= self.best - TOLERANCE:
                continue
            for side in (IN, OUT):
                child = state.copy()
                child[j] = side
                look(child, q.copy(), lam, bound)
        self.lower = min([self.best, *(node[2] for node in heap)])
        return self.lower >= self.best - TOLERANCE


_Node = tuple[float, int, float, float, int, NDArray[np.int8], Floats]


def _thetas(values: Floats, k: int) -> list[float]:
    """The levels worth trying as theta in `_split`, from the eigenvalues of G."""
    missing = int((values < 1e-6).sum())
    if missing == 0:
        return [0.0]
    return sorted({float(values[i]) for i in (missing, len(values) // (2 * k)) if i < len(values)})


def _split(
    values: Floats, vectors: Floats, k: int, theta: float, weight: Floats | None
) -> tuple[Floats, Floats] | None:
    """R (positive semidefinite) and e > 0 with w'Gw >= w'Rw + sum_j e_j w_j^2 for k-sparse w.

    G comes as eigenvalues and vectors. Raising the small ones to theta adds N = sum (theta - λ)+ uu',
    and w'Nw <= (sum |w_j| sqrt(N_jj))^2 <= k sum N_jj w_j^2 (Cauchy-Schwarz, k terms). So with any
    δ that keeps R = G + N - diag(δ) positive semidefinite, e = δ - k diag(N) will do. theta = 0 is
    the usual split; a theta helps when few directions are (nearly) missing, as in one-hot groups.
    """
    from keyhole.blocks.kernels.subset import spread

    raised = np.maximum(values, theta)
    G = (vectors * raised) @ vectors.T
    N = (vectors**2) @ (raised - values)
    e = raised[0] - k * N
    if e.min() <= 1e-9:
        return None
    delta = np.full(len(e), raised[0])
    if weight is not None:
        delta -= 0.5 * e.min()
        least = delta[0]
        P = (vectors / (raised - least)) @ vectors.T
        for mu in (1.0, 0.5, 0.25, 0.1, 0.1, 0.05, 0.05):
            spread(P, delta, weight / weight.max(), mu * raised[0], least)
        # The inverse P drifts; this puts the smallest eigenvalue of R back to zero from either side.
        delta += np.linalg.eigvalsh(G - np.diag(delta))[0]
    delta -= 1e-12  # eigenvalues are rounded
    e = delta - k * N
    return (G - np.diag(delta), e) if e.min() > 1e-9 else None
