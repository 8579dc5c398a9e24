"""The files of real data that are known: how they are played, and in which units."""

from __future__ import annotations

import numpy as np

from keyhole.problem import Floats

FILES: dict[str, tuple[int, int, bool]] = {  # k, budget, shuffled
    "nycflights": (4, 16, False),
    "blogfeedback": (4, 16, True),
    "beijing_air": (4, 16, False),
    "supercon_magpie": (8, 24, True),
    "mnist_3v5": (8, 64, True),
    "nhanes_a1c": (4, 16, False),
    "thyroid_cost": (3, 6, False),
    "appliances": (4, 16, False),
    "sp500_track": (4, 8, False),
}


def standardised(X: Floats) -> Floats:
    """Columns of mean 0 and standard deviation 1, where they vary; absent values stay absent."""
    with np.errstate(invalid="ignore"):
        centred: Floats = X - np.nanmean(X, axis=0)
        size = np.sqrt(np.nanmean(centred * centred, axis=0))
    return centred / np.where(size > 0.0, size, 1.0)
