"""Inner steps of `blocks/mixture.py`."""

from __future__ import annotations

import math

import numpy as np

from keyhole.blocks.kernels.jit import inner, kernel
from keyhole.blocks.mixture import BOLD, FREEDOM, POWER, RATES, Mixture
from keyhole.problem import Floats

WINDOW = 200.0  # rounds that `recent` looks back, and the bold average for its own mean loss
SHARE = 0.25  # of all rounds, over which that mean is taken once they are more
NOTHING = 100.0  # a lag: exp(-50) of the best is below the last bit of any sum with it
ANEW = 1e-6  # the chance per round that the rate of change itself is drawn again


@kernel
def predict(mixture: Mixture, guesses: Floats) -> float:
    """Cut the guesses off at the range, fill in the bold one (last), and aggregate."""
    E, low, high = len(mixture.recent), mixture.span[0], mixture.span[1]
    if np.isnan(low):
        guesses[:] = 0.0
        return 0.0
    bold, least = 0.0, np.inf
    for e in range(E):
        guesses[e] = min(max(guesses[e], low), high)
        share = 0.0
        for r in range(len(RATES)):
            share += mixture.belief[r, e]
        bold += share * guesses[e]
    for e in range(E + 1):
        if mixture.prior[e] > 0.0:
            least = min(least, mixture.losses[e])
    guesses[E] = min(max(bold, low), high)  # rounding must not carry it beyond
    Y, middle = 0.5 * (high - low), low + 0.5 * (high - low)
    if not Y > 0.0:
        return float(middle)
    # In units of Y, so that the largest labels do not overflow. Neither sum is 0: guesses lie in
    # [-1, 1] and the best weight is its prior.
    below, above = 0.0, 0.0
    for e in range(E + 1):
        g = (guesses[e] - middle) / Y
        lag = (mixture.losses[e] - least) / Y / Y
        if lag > NOTHING or mixture.prior[e] == 0.0:
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
    _believe(mixture, guesses, y)


@inner
def _believe(mixture: Mixture, guesses: Floats, y: float) -> None:
    # Bayes' rule, then the chance of a change: from every expert to one drawn from the prior.
    belief, prior, E = mixture.belief, mixture.prior, len(mixture.recent)
    scale = FREEDOM * mixture.noise[0] / mixture.noise[1]
    if not scale > 0.0:  # nobody has lost anything
        return
    least, total = np.inf, 0.0
    for e in range(E):
        if prior[e] > 0.0:
            least = min(least, (y - guesses[e]) * (y - guesses[e]))
    for e in range(E):
        if prior[e] > 0.0:
            loss = (y - guesses[e]) * (y - guesses[e])
            ratio, likely = (scale + least) / (scale + loss), 1.0
            for _ in range(POWER):  # faster than **
                likely *= ratio
            for r in range(len(RATES)):
                belief[r, e] *= likely
                total += belief[r, e]
    for r in range(len(RATES)):
        mass = 0.0
        for e in range(E):
            belief[r, e] /= total
            mass += belief[r, e]
        change = max(RATES[r], 1.0 / (mixture.noise[2] + 1.0))
        stay, move = (1.0 - ANEW) * (1.0 - change), (1.0 - ANEW) * change * mass
        fresh = (move + ANEW / len(RATES)) / (1.0 - BOLD)
        for e in range(E):
            belief[r, e] = stay * belief[r, e] + fresh * prior[e]
