"""The Dantzig program on importance-weighted moments, with a threshold from their probabilities."""

from __future__ import annotations

import math

import numpy as np

from keyhole.errors import one_of
from keyhole.learners.blocks.dantzig.diagnostics import Diagnostics
from keyhole.learners.blocks.dantzig.solve import DantzigBasis, solve
from keyhole.learners.blocks.dantzig.threshold import compatibility_threshold
from keyhole.learners.weighted_sums import WEIGHTINGS, WeightedSums
from keyhole.problem import Floats, ProblemError, real_number


class WeightedDantzig:
    """Sums of what was read, and w = argmin |w|_1 s.t. |b - G w| <= lam, solved on demand.

    lam = C gamma, with gamma the `compatibility_threshold` of the rows so far, at the noise level
    if one is given. Else G and b are first brought to units in which the features and the labels
    have mean square 1 (|w|_1 means something only in some units), and sigma = 1: the noise cannot
    be more than the labels.

    Sums: `sums`. Derived, as of the last program: its solution `w` and `units`, whose product are
    the `weights` of the features as they came; `means`, `basis`, `diagnostics`.

    Parameters
    ----------
    d
        How many features there are.
    threshold_scale, noise_sd, failure_probability
        C, sigma (None: not known) and delta.
    weighting
        That of `WeightedSums.estimate`.
    """

    SAVED = ("sums", "w", "units", "means", "basis", "diagnostics")

    basis: DantzigBasis | None

    def __init__(
        self,
        d: int,
        *,
        threshold_scale: float,
        noise_sd: float | None = None,
        failure_probability: float = 0.05,
        weighting: str = "ratio",
    ) -> None:
        self.threshold_scale = real_number("threshold_scale", threshold_scale, 0.0)
        self.noise_sd = None if noise_sd is None else real_number("noise_sd", noise_sd, 0.0)
        self.failure_probability = real_number("failure_probability", failure_probability, 0.0, 1.0)
        if self.failure_probability in (0.0, 1.0):
            raise ProblemError(
                f"failure_probability must lie between 0 and 1, got {failure_probability}"
            )
        self.weighting = one_of("weighting", weighting, WEIGHTINGS)
        self.sums = WeightedSums(d)
        self.w: Floats = np.zeros(d)
        self.units: Floats = np.ones(d)
        self.means: Floats = np.zeros(d)
        self.basis = None
        self.diagnostics = Diagnostics()

    @property
    def weights(self) -> Floats:
        """The solution, for the features and labels as they came."""
        weights: Floats = self.w * self.units
        return weights

    def settings(self) -> dict[str, float | str | None]:
        """The arguments it was made with, beside d."""
        names = ("threshold_scale", "noise_sd", "failure_probability", "weighting")
        return {name: getattr(self, name) for name in names}

    def solve(self, t: int) -> bool:
        """Solve the program before round t; False if w stays, for want of rows or of a solution."""
        if not self.sums.n:
            return False
        estimate = self.sums.estimate(self.weighting)
        gamma = compatibility_threshold(
            self.sums.n,
            self.sums.d,
            *self.sums.spread,
            noise_sd=1.0 if self.noise_sd is None else self.noise_sd,
            failure_probability=self.failure_probability,
            scale=self.threshold_scale,
        )
        scale, scale_y = np.ones(self.sums.d), 1.0
        if self.noise_sd is None:
            scale = np.sqrt(np.maximum(np.diag(estimate.G), 0.0))
            scale[scale == 0.0] = 1.0
            scale_y = math.sqrt(max(estimate.c, 0.0)) or 1.0
        G, b = estimate.G / scale[:, np.newaxis] / scale, estimate.b / scale / scale_y
        answer = solve(G, b, gamma, start=self.basis)
        self.diagnostics = self.diagnostics.after(answer, t, gamma)
        self.basis = None
        if answer.status != "optimal":
            return False
        self.w, self.units, self.basis = answer.w, scale_y / scale, answer.basis
        self.means = self.sums.means
        return True
