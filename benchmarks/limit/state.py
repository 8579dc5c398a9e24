"""What the Bayesians in `kernels.py` work on: rounds, hypotheses, a cloud of particles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keyhole.problem import Floats, Indices

SMOOTH, SIGNS, COIN = range(3)  # what unread features do to a label: see `Rows`
FIXED, SIMPLEX, PHASE = range(3)  # what the sizes of the weights are: see `Slots`


class Rows(NamedTuple):
    """What was read, round by round.

    A label is sum_i c_i x_i over a few features plus noise that is uniform on [-half, half]. `Z` is
    the mean of every feature given what was read, which is the value itself for one that was, and
    `V` its variance, then 0; both by feature, then by round. `ask` and `gap` are the same at the
    time of the prediction; they differ only where more is told later.

    `law` says how unread features blur the label: as a Gaussian of that variance (SMOOTH); as fair
    signs, exactly (SIGNS). COIN: labels are 1 and -1 with mean sum_i c_i Z_i, exactly. `reads` are
    the features worth proposing in a round, `values` theirs, `seg` its stretch of time.
    """

    y: Floats
    half: Floats
    Z: Floats
    V: Floats
    ask: Floats
    gap: Floats
    reads: Indices
    values: Floats
    seg: Indices
    law: int
    unread: float  # variance of a feature of which nothing is known


class Slots(NamedTuple):
    """The prior: k weights in different random places, with random signs.

    Weight i in stretch s is 0 if group[i, s] < 0, else the sign of that group times its size:
    base[i, s] if FIXED; base[i, s] u_i / sum of u over its block, u uniform on [0.5, 1.5], if
    SIMPLEX; base[i, s] cos(turn[i, s] + u_i), u uniform on the circle, if PHASE. It counts from
    round born[i] on (0-based).
    """

    kind: int
    group: Indices
    block: Indices
    born: Indices
    base: Floats
    turn: Floats
    crowded: bool  # every feature has a weight: to move one is to swap two


class Cloud(NamedTuple):
    """Particles: places, signs by group, u, weights by stretch; label's mean, variance, log law."""

    place: Indices
    sign: Floats
    u: Floats
    c: Floats
    M: Floats
    S: Floats
    L: Floats
    logw: Floats


class Found(NamedTuple):
    """Predictions, and the squared distance from the label's true mean that it expects."""

    y_hat: Floats
    expected: Floats


def rows_of(
    y: Floats, half: Floats | float, Z: Floats, V: Floats, bought: Indices, law: int, *,
    unread: float, seg: Indices | None = None,
) -> Rows:  # fmt: skip
    """Rows where predictions know as much as what is learnt from; Z, V by round, then feature."""
    still, n = np.ascontiguousarray(Z.T), len(y)
    vague, reads = np.ascontiguousarray(V.T), bought.astype(np.int64)
    values = np.take_along_axis(Z, reads, axis=1)
    stretch = np.zeros(n, dtype=np.int64) if seg is None else seg
    noise = np.broadcast_to(np.asarray(half, dtype=np.float64), (n,)).copy()
    return Rows(y, noise, still, vague, still, vague, reads, values, stretch, law, unread)
