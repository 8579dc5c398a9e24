"""What calibration did so far: log losses of the forecasters and of their mixture, its regret."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from keyhole.learners.calibrator import EXPERTS, ROUNDS, Forecasters


@dataclass(frozen=True, slots=True)
class Calibration:
    """How well scores became probabilities: what `YesNoLearner.calibration()` returns.

    Parameters
    ----------
    rounds
        Labels learnt in rounds; those of history are not among them.
    loss
        Log loss of the probabilities, in nats, all rounds together.
    losses
        The same by forecaster.
    shares
        How much each forecaster counts in the next probability; together 1.
    bound
        ln(E T): what `regret` is at most, whatever the data.
    """

    rounds: int
    loss: float
    losses: Mapping[str, float]
    shares: Mapping[str, float]
    bound: float

    @property
    def best(self) -> str:
        """The forecaster with the least log loss so far."""
        return min(self.losses, key=lambda name: self.losses[name])

    @property
    def regret(self) -> float:
        """Log loss beyond that of the best forecaster, in nats; often below 0."""
        return self.loss - self.losses[self.best]

    @property
    def log_loss(self) -> float:
        """Mean log loss of a round; NaN before the first."""
        return self.loss / self.rounds if self.rounds else math.nan

    def __str__(self) -> str:
        if not self.rounds:
            return "no label was learnt yet"
        lines = [f"log loss {self.log_loss:.4f} per round in {self.rounds:,} rounds; by forecaster"]
        for name, loss in self.losses.items():
            share = f"{self.shares[name]:.0%} of the next probability"
            lines.append(f"  {name:<20} {loss / self.rounds:.4f}  {share}")
        lines.append(
            f"regret against {self.best}: {self.regret:+.1f} nats in all, "
            f"proven to be at most {self.bound:.1f}"
        )
        return "\n".join(lines)


def calibration_of(forecasters: Forecasters) -> Calibration:
    """The figures of a calibrator."""
    *losses, own = forecasters.losses
    return Calibration(
        rounds=int(forecasters.told[ROUNDS]),
        loss=own,
        losses=dict(zip(EXPERTS, losses, strict=True)),
        shares=dict(zip(EXPERTS, forecasters.share, strict=True)),
        bound=forecasters.bound,
    )
