"""The model that the practical Algorithm 1 plays: VAW on a few features, centred and scaled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import LARGEST
from keyhole.problem import Floats, Observation

HUGE = 1e300  # beyond this, products overflow


def standardised(seen: Observation) -> Floats:
    """z = (x - centre) inverse on the support of the ticket's model, 0 if absent; and a final 1."""
    memo = seen.ticket.memo
    x = seen.values[seen.ticket.features.searchsorted(memo["support"])]
    with np.errstate(over="ignore"):
        scaled = (x - memo["centre"]) * memo["inverse"]
    scaled[np.isnan(scaled)] = 0.0
    z = np.ones(len(scaled) + 1)
    z[:-1] = np.minimum(np.maximum(scaled, -LARGEST), LARGEST)
    return z


def forward(P: Floats, theta: Floats, z: Floats) -> tuple[Floats, float, float]:
    """P z, theta.z and 1 + z'P z; the quotient of the last two is VAW's prediction.

    P is positive definite, but after rows of very different sizes its rounded copy may not be: a
    row for which 1 + z'P z is not above 1/2 then, or which is too large for P, teaches nothing (P z
    and z'P z count as 0), and a theta.z that overflows is 0.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        Pz = P @ z
        along, s = float(theta @ z), 1.0 + float(z @ Pz)
    fits = abs(along) < HUGE
    if not (fits and 0.5 < s < HUGE and max(map(abs, Pz.tolist())) < LARGEST):
        return np.zeros_like(z), along if fits else 0.0, 1.0
    return Pz, along, s


def learn(P: Floats, theta: Floats, A: Floats, b: Floats, z: Floats, y: float) -> None:
    """VAW learns a row and its label, less what theta adds to; with P = 0 nothing is adapted."""
    Pz, along, s = forward(P, theta, z)
    with np.errstate(over="ignore"):
        A += z[:, None] * z
        b += y * z
    theta += Pz * ((y - along) / s)
    P -= Pz[:, None] * Pz / s


def predicted(memo: Mapping[str, NDArray[Any]], z: Floats) -> float:
    """The prediction of a ticket's model, kept in the range of the labels before it."""
    _, along, s = forward(memo["P"], memo["theta"], z)
    base, low, high = memo["limits"].tolist()
    return float(min(max(base + along / s, low), high))
