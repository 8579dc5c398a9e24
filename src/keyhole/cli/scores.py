"""Means of games over seeds, with their errors; in words, what they are measured by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keyhole.cli.games import Game, Yardsticks
from keyhole.cli.output import number, say
from keyhole.learners.registry import LEARNERS

ROUNDING = 1e-12  # an error that is less, relative to what was added up, is one of rounding


def scores(games: Sequence[Game], by: Yardsticks) -> dict[str, dict[str, float]]:
    """Mean loss, R2, regret, reads and seconds: means over games, and their standard errors."""
    spread = by.spread
    middles = [(g.regret.low + g.regret.high) / 2 for g in games]
    lost = max((g.loss for g in games), default=0.0)  # regrets are differences of such
    whole = max((g.loss if g.total is None else g.total for g in games), default=0.0)
    r2 = [1 - g.loss / by.mean_loss if by.mean_loss > 0 else math.nan for g in games]
    normalised = [m / spread if spread > 0 else math.nan for m in middles]
    return {
        "mean_loss": mean_error([g.loss / by.rounds for g in games]),
        "r2": mean_error(r2, lost / by.mean_loss if by.mean_loss > 0 else 0.0),
        "regret": mean_error(middles, whole),
        "normalised_regret": mean_error(normalised, whole / spread if spread > 0 else 0.0),
        "reads": mean_error([g.reads for g in games]),
        "spent": mean_error([g.spent for g in games]),
        "seconds": mean_error([g.seconds for g in games]),
        **_of_probabilities(games),
    }


def _of_probabilities(games: Sequence[Game]) -> dict[str, dict[str, float]]:
    """Log loss and AUC, where the target is yes or no."""
    found = [(g.log_loss, g.auc) for g in games if g.log_loss is not None and g.auc is not None]
    if not found:
        return {}
    losses, aucs = zip(*found, strict=True)
    return {"log_loss": mean_error(losses), "auc": mean_error(aucs)}


def mean_error(values: Sequence[float], size: float = 0.0) -> dict[str, float]:
    """Mean and standard error; NaN where there is none, 0 where there is only rounding.

    `size`: of what the values are differences of, if that is larger than they are.

    >>> mean_error([1.0, 3.0]), mean_error([6.7, 6.7, 6.7 + 1e-15])["error"]
    ({'mean': 2.0, 'error': 1.0}, 0.0)
    """
    n = len(values)
    if n == 0:
        return {"mean": math.nan, "error": math.nan}
    mean = float(np.mean(values))
    error = float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    if error <= ROUNDING * max(abs(mean), size):
        error = 0.0
    return {"mean": mean, "error": error}


def plus_minus(mean: float, error: float) -> str:
    """A mean with as many digits as its error lets count.

    >>> plus_minus(12.3456, 0.0214), plus_minus(1234.5, 321.0), plus_minus(0.5, math.nan)
    ('12.346 ± 0.021', '1,234 ± 321', '0.5')
    """
    if not math.isfinite(error) or error == 0:
        return number(mean)
    places = max(0, 1 - math.floor(math.log10(error)))
    return f"{mean:,.{places}f} ± {error:,.{places}f}"


def yardsticks_json(by: Yardsticks) -> dict[str, Any]:
    """What games are measured by, for machines."""
    return {
        "hindsight_cost": by.best.cost,
        "hindsight_total": by.best.total,
        "hindsight_loss": by.best.loss,
        "hindsight_with_past_loss": by.with_past.loss,
        "best_constant_loss": by.best.empty_loss,
        "running_mean_loss": by.mean_loss,
        "last_value_loss": by.last_loss,
    }


def say_who_is_worse(by: Yardsticks, losses: Mapping[str, Mapping[str, float]]) -> None:
    """What is lost without reading, and which learners lost more.

    `losses`: per round, by learner and by budget ("" where there is only one).
    """
    mean, last = by.mean_loss / by.rounds, by.last_loss / by.rounds
    say(
        f"Without any feature: mean loss {number(mean)} by the running mean of the label, "
        f"{number(last)} by its last value."
    )
    for most, what in ((mean, "mean of the labels so far"), (last, "last label")):
        worse = _worse(losses, most)
        if worse:
            said = (f"{name} {_at(places)}".rstrip() for name, places in worse.items())
            say(f"Worse than the {what}: {', '.join(said)}.")
    plain = [name for name in _worse(losses, mean) if not LEARNERS[name].has_intercept]
    if plain:
        say(
            f"Models without an intercept: {', '.join(plain)}; centre and scale columns and "
            "label first (keyhole diagnose)."
        )


def _worse(losses: Mapping[str, Mapping[str, float]], most: float) -> dict[str, list[str]]:
    """Who lost more than that, by more than rounding, and where."""
    found = {
        name: [where for where, loss in of.items() if loss > most * (1 + 1e-9)]
        for name, of in losses.items()
    }
    return {name: places for name, places in found.items() if places}


def _at(places: Sequence[str]) -> str:
    """Budgets in words.

    >>> _at(["4"]), _at(["4", "8", "12"]), _at([""])
    ('with 4', 'with 4, 8 and 12', '')
    """
    *others, last = places
    return f"with {', '.join(others)} and {last}" if others else f"with {last}" if last else ""
