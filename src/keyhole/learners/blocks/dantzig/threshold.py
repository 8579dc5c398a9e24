"""Thresholds of the Dantzig program: the printed ones of Algorithm 1 and of DS-OSLRC."""

from __future__ import annotations

import math


def printed_threshold(
    t: int,
    d: int,
    k0: int,
    *,
    noise_sd: float,
    failure_probability: float,
    scale: float = 1.0,
) -> float:
    """The right-hand side of `equation:conv.prog` after t rounds, as printed.

        C sqrt(d log(t d / delta) / (t k0)) (sigma + d / k0)

    Parameters
    ----------
    t, d, k0
        Rounds learnt from, features, exploration budget.
    noise_sd, failure_probability, scale
        The paper's sigma, delta and C.

    Examples
    --------
    >>> round(printed_threshold(1000, 20, 5, noise_sd=0.1, failure_probability=0.05), 3)
    0.931
    """
    logarithm = math.log(t * d / failure_probability)
    return scale * math.sqrt(d * logarithm / (t * k0)) * (noise_sd + d / k0)


def compatibility_threshold(
    s: int,
    d: int,
    single: float,
    pair: float,
    *,
    noise_sd: float,
    failure_probability: float,
    scale: float = 1.0,
) -> float:
    """The threshold of Li, Liao, Xu and Nie (2025) after s explored rounds.

        C ((8/3 + 2 sigma) (g/s) L + (6.9 + 1.2 sigma) sqrt(r L/s) + 2 sqrt(3 g L/s))

    with L = log(d / delta), r >= 1/P[i] and g >= 1/P[i, j] for the probabilities with which a
    feature and a pair are read: (d-1)/(k-1) and (d-1)(d-2)/((k-1)(k-2)) for k of d. The last term
    is the paper's nu_s as long as s <= s0; the schedule by which it shrinks from there on takes a
    compatibility constant that nobody knows.

    Parameters
    ----------
    s, d
        Rounds explored, features.
    single, pair
        r and g.
    noise_sd, failure_probability, scale
        sigma and delta; C, which is 1 as printed.

    Examples
    --------
    At T = 10^6, where 1,000 rounds have explored 10 of 50 features, it is still above 1, which no
    moment of numbers below 1 exceeds, so that the program returns w = 0:

    >>> g = 49 * 48 / (9 * 8)
    >>> small = {"noise_sd": 0.1, "failure_probability": 0.05}
    >>> round(compatibility_threshold(1000, 50, 49 / 9, g, **small), 2)
    3.65
    """
    L = math.log(d / failure_probability)
    linear = (8.0 / 3.0 + 2.0 * noise_sd) * pair * L / s
    root = (6.9 + 1.2 * noise_sd) * math.sqrt(single * L / s)
    return scale * (linear + root + 2.0 * math.sqrt(3.0 * pair * L / s))
