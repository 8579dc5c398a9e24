"""A simulated stream whose rounds depend on each other: lingering noise, labels that feed back."""

from __future__ import annotations

import math

import numpy as np

from keyhole.problem import whole_number
from keyhole.streams.arrays import Block
from keyhole.streams.designs import Design, toeplitz
from keyhole.streams.simulate import (
    CHUNK,
    DESIGN,
    TRUTH,
    Simulated,
    Truth,
    generate,
    keyed,
    sparse_weights,
)

_NEIGHBOURS = toeplitz(0.5)


def dependent(d: int, k: int, n: int, *, design: Design = _NEIGHBOURS, seed: int = 0) -> Simulated:
    """Agnostic: autocorrelated, heteroscedastic noise, and labels that feed back. |y| <= 1.

    With u_t uniform on [-1, 1] and w k-sparse as in `realizable`,

        e_t = 0.7 e_{t-1} + 0.3 u_t (0.3 + |x_t0|),
        y_t = 1.25 <x_t, w> + 0.15 y_{t-1} + 0.6 e_t, cut off at -1 and 1.

    Both recursions start anew, from 0, every 1,024 rounds: rows are made in chunks that can be made
    in any order. The truth is 1.25 w; its `noise_sd` is that of 0.6 e_t in the long run for a
    design with x_0 uniform on [-1, 1], 0.124; feedback and cutting off are not counted.

    Parameters
    ----------
    d, k, n
        Features, non-zero weights, rows.
    design
        What draws the rows.
    seed
        Random seed.

    Examples
    --------
    >>> stream, truth = dependent(d=100, k=4, n=200)
    >>> len(truth.support), max(abs(y) for _, y in stream) <= 1
    (4, True)
    """
    d = whole_number("d", d, 1)
    w = 1.25 * sparse_weights(d, k, keyed(seed, TRUTH))
    used = np.flatnonzero(w)
    rows = design(d, keyed(seed, DESIGN))

    def chunk(start: int, rng: np.random.Generator) -> Block:
        X = rows(CHUNK, rng)
        shocks = 0.3 * rng.uniform(-1.0, 1.0, CHUNK) * (0.3 + np.abs(X[:, 0]))
        # Not X @ w: see `follow`.
        means = (X[:, used] * w[used]).sum(axis=1)
        labels, e, y = np.empty(CHUNK), 0.0, 0.0
        for t, (shock, mean) in enumerate(zip(shocks.tolist(), means.tolist(), strict=True)):
            e = 0.7 * e + shock
            y = min(1.0, max(-1.0, mean + 0.15 * y + 0.6 * e))
            labels[t] = y
        return X, labels

    # E u^2 = 1/3, E (0.3 + |x|)^2 = 0.09 + 0.3 + 1/3.
    variance = 0.09 / 3.0 * (0.39 + 1.0 / 3.0) / (1.0 - 0.49)
    truth = Truth(w, used, 0.0, 0.6 * math.sqrt(variance))
    return Simulated(generate(d, n, seed, chunk), truth)
