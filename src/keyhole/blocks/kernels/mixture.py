"""Inner steps of `blocks/mixture.py`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.kernels.jit import inner, kernel
from keyhole.blocks.mixture import Mixture
from keyhole.problem import Floats

WINDOW = 200.0  # rounds the bold mixture looks back
NOTHING = 100.0  # a lag: exp(-50) of the best is below the last bit of any sum with it
SHARE = 0.25  # of all rounds, over which its own mean loss is taken once that is more


@inner
def _trust(behind: float, noise: float, rounds: float) -> float:
    # In an expert `behind` the best; complete in everyone while nobody has lost anything.
    if not noise > 0.0:
        return 1.0
    lag = rounds * behind / noise
    return 0.0 if lag > NOTHING else math.exp(-0.5 * lag)


@kernel
def bold_shares(mixture: Mixture, member: NDArray[np.bool_], shares: Floats) -> None:
    """prior exp(-recent / (2 v)) of the members, scaled to sum 1; v the bold mixture's noise."""
    least, total = np.inf, 0.0
    for e in range(len(shares)):
        if member[e]:
            least = min(least, mixture.recent[e])
    for e in range(len(shares)):
        shares[e] = 0.0
        if member[e]:
            behind = mixture.recent[e] - least
            shares[e] = mixture.prior[e] * _trust(behind, mixture.noise[0], mixture.noise[1])
        total += shares[e]
    for e in range(len(shares)):
        shares[e] /= total


@kernel
def predict(mixture: Mixture, guesses: Floats) -> float:
    """Cut the guesses off at the range, fill in the bold one (last), and aggregate."""
    E, low, high = len(mixture.recent), mixture.span[0], mixture.span[1]
    if np.isnan(low):
        guesses[:] = 0.0
        return 0.0
    least, total, bold = np.inf, 0.0, 0.0
    noise, rounds = mixture.noise[0], mixture.noise[1]
    for e in range(E):
        least = min(least, mixture.recent[e])
    for e in range(E):
        guesses[e] = min(max(guesses[e], low), high)
        share = mixture.prior[e] * _trust(mixture.recent[e] - least, noise, rounds)
        total += share
        bold += share * guesses[e]
    guesses[E] = min(max(bold / total, low), high)  # rounding must not carry it beyond
    Y, middle = 0.5 * (high - low), low + 0.5 * (high - low)
    if not Y > 0.0:
        return float(middle)
    # In units of Y, so that the largest labels do not overflow. Neither sum is 0: guesses lie in
    # [-1, 1] and the best weight is its prior.
    least, below, above = mixture.losses.min(), 0.0, 0.0
    for e in range(E + 1):
        g = (guesses[e] - middle) / Y
        lag = (mixture.losses[e] - least) / Y / Y
        if lag > NOTHING:
            continue
        below += mixture.prior[e] * math.exp(-0.5 * (lag + (1.0 + g) * (1.0 + g)))
        above += mixture.prior[e] * math.exp(-0.5 * (lag + (1.0 - g) * (1.0 - g)))
    return float(middle + 0.5 * Y * (math.log(above) - math.log(below)))


@kernel
def learn(mixture: Mixture, guesses: Floats, y: float) -> None:
    """Charge every expert for its guess (as `predict` left it), and widen the range."""
    if np.isnan(mixture.span[0]):  # the first label tells the units, and is no one's fault
        mixture.span[:] = y
        return
    E, fade = len(mixture.recent), 1.0 - 1.0 / WINDOW
    for e in range(E):
        loss = (y - guesses[e]) * (y - guesses[e])
        mixture.losses[e] += loss
        mixture.recent[e] = fade * mixture.recent[e] + loss
    loss = (y - guesses[E]) * (y - guesses[E])
    mixture.losses[E] += loss
    mixture.span[0] = min(mixture.span[0], y)
    mixture.span[1] = max(mixture.span[1], y)
    # A window that grows with time: weight w becomes (1 - 1/max(WINDOW, SHARE t)) w + 1.
    mixture.noise[1] += 1.0
    mixture.noise[0] += loss
    most = max(WINDOW, SHARE * mixture.noise[2])
    mixture.noise[2] += 1.0
    if mixture.noise[1] > most:
        mixture.noise[0] *= most / mixture.noise[1]
        mixture.noise[1] = most
