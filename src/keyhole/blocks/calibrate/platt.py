"""Platt scaling, online: logistic regression on the log-odds of the score, by Newton steps."""

from __future__ import annotations

import math

from keyhole.blocks.jit.decorators import inner
from keyhole.problem import Floats

SUREST = 0.01  # a score is cut off this far from 0 and 1 before its log-odds are taken
START = (0.0, 1.0)  # constant and slope: the score as it is
PRECISION = (1.0, 0.0, 1.0)  # of the start: 11, 12, 22 of a matrix


@inner
def log_odds(score: float) -> float:
    """ln(s / (1 - s)) of the score, cut off at `SUREST` and 1 - `SUREST`."""
    s = min(max(score, SUREST), 1.0 - SUREST)
    return math.log(s / (1.0 - s))


@inner
def sigmoid(a: float) -> float:
    """1 / (1 + exp(-a)); no exponential overflows."""
    if a >= 0.0:
        return 1.0 / (1.0 + math.exp(-a))
    e = math.exp(a)
    return e / (1.0 + e)


@inner
def scaled(theta: Floats, precision: Floats, score: float) -> float:
    """The probability of a yes, less sure of itself the less is known of theta at this score.

    That is sigmoid(theta.x) averaged over the Gaussian of theta, by MacKay's approximation.
    """
    z, (a, b, c) = log_odds(score), (precision[0], precision[1], precision[2])
    spread = (c - 2.0 * b * z + a * z * z) / (a * c - b * b)  # x' precision^-1 x with x = (1, z)
    return sigmoid((theta[0] + theta[1] * z) / math.sqrt(1.0 + math.pi / 8.0 * spread))


@inner
def learn(theta: Floats, precision: Floats, score: float, y: float) -> None:
    """A Newton step for the log loss of this label: the curvature is added up, theta moves."""
    z = log_odds(score)
    p = sigmoid(theta[0] + theta[1] * z)
    w = p * (1.0 - p)
    precision[0] += w
    precision[1] += w * z
    precision[2] += w * z * z
    a, b, c = precision[0], precision[1], precision[2]
    step = (y - p) / (a * c - b * b)
    theta[0] += step * (c - b * z)
    theta[1] += step * (a * z - b)
