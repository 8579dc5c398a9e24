"""Scores of games: means over the seeds with standard errors, and baselines to compare with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keyhole.cli.games import GameResult, Yardsticks
from keyhole.cli.output import number, say
from keyhole.learners.registry import LEARNERS

DIGITS = 7  # of a mean, at most
SQUARED, BRIER = "mean squared loss", "Brier score"  # the same, of probabilities
ROUNDING = 1e-12  # an error that is less, relative to what was added up, is one of rounding


def scores(games: Sequence[GameResult], by: Yardsticks) -> dict[str, Any]:
    """Mean loss, R2, regret, reads and seconds: means over games, and their standard errors.

    Under "after_first" the same without what was lost in the first round.
    """
    later = max(by.rounds - 1, 1)
    taken_off = 1.0 if by.best.worth is None else by.best.worth  # of the first loss, in regret
    without = [(g.later_loss / later, g.first_loss * taken_off) for g in games]
    plain = ("first_loss", "last_tenth_loss", "reads", "spent", "seconds")
    return {
        **_of_losses(games, by, [(g.loss / by.rounds, 0.0) for g in games]),
        "after_first": _of_losses(games, by, without),
        **{name: mean_error([getattr(g, name) for g in games]) for name in plain},
        **_of_probabilities(games),
    }


def _of_losses(
    games: Sequence[GameResult], by: Yardsticks, counted: Sequence[tuple[float, float]]
) -> dict[str, Any]:
    """Mean loss, R2 and regret of games; `counted`: loss per round, what regret does not count."""
    spread, variance = by.spread, by.best.variance
    pairs = list(zip(games, counted, strict=True))
    middles = [(g.regret.low + g.regret.high) / 2 - first for g, (_, first) in pairs]
    # Regrets are differences of such sums: what is less than their rounding is none.
    whole = max((g.loss if g.total is None else g.total for g in games), default=0.0)
    lost = max((mean for mean, _ in counted), default=0.0)
    normalised = [m / spread if spread > 0 else math.nan for m in middles]
    return {
        "mean_loss": mean_error([mean for mean, _ in counted]),
        "r2": mean_error(
            [by.best.r2_of(mean) for mean, _ in counted], lost / variance if variance > 0 else 0.0
        ),
        "regret": mean_error(middles, whole),
        "normalised_regret": mean_error(normalised, whole / spread if spread > 0 else 0.0),
    }


def _of_probabilities(games: Sequence[GameResult]) -> dict[str, dict[str, float]]:
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
    """A mean with as many digits as its error lets count: two of the error, seven in all at most.

    An error below the last of these digits is not told.

    >>> plus_minus(12.3456, 0.0214), plus_minus(1234.5, 321.0), plus_minus(0.5, math.nan)
    ('12.346 ± 0.021', '1,230 ± 320', '0.5')
    >>> plus_minus(6.56708457626653352, 6.3e-16), plus_minus(6.5670845, 2.13e-4)
    ('6.567', '6.56708 ± 0.00021')
    """
    if not math.isfinite(error) or not math.isfinite(mean) or error <= 0:
        return number(mean)
    places = 1 - math.floor(math.log10(error))
    if mean and places + math.floor(math.log10(abs(mean))) + 1 > DIGITS:
        return number(mean)
    shown = [f"{round(value, places):,.{max(places, 0)}f}" for value in (mean, error)]
    return " ± ".join(shown)


def yardsticks_json(by: Yardsticks) -> dict[str, Any]:
    """What games are measured by, for machines."""
    return {
        "hindsight_cost": by.best.cost,
        "hindsight_total": by.best.total,
        "hindsight_loss": by.best.loss,
        "hindsight_with_past_loss": by.with_past.loss,
        "best_constant_loss": by.best.empty_loss,
        "label_variance": by.best.variance,
        "running_mean_loss": by.mean.loss,
        "last_value_loss": by.last.loss,
        "full_loss": None if by.full is None else by.full.loss,
        "known": {
            name: {
                "loss": known.loss,
                "first_loss": known.first_loss,
                "mean_loss_after_first": known.later_mean(by.rounds),
                "r2_after_first": by.best.r2_of(known.later_mean(by.rounds)),
                "last_tenth_loss": known.last_tenth,
            }
            for name, known in (("full", by.full), ("running_mean", by.mean), ("last", by.last))
            if known is not None
        },
    }


def squared_words(by: Yardsticks) -> str:
    """What the mean squared loss is called: of probabilities it is the Brier score."""
    return BRIER if by.calibrated else SQUARED


def say_who_is_worse(by: Yardsticks, losses: Mapping[str, Mapping[str, float]]) -> None:
    """What everybody knows loses, and which learners lost more.

    `losses`: per round, the first left out, by learner and by budget ("" where there is only one).
    """
    told = [
        f"{number(known.later_mean(by.rounds))} by {who}"
        f" ({number(known.last_tenth)} in the last tenth)"
        for who, known in by.known.items()
    ]
    squared, lost = squared_words(by), number(by.mean.first_loss)
    say(f"For comparison, {squared} {', '.join(told)}.")
    say(f"R2 is 1 - {squared} / {number(by.best.variance)}, the variance of the label.")
    if by.calibrated:
        say(f"The first round, in which {lost} is lost, is in log loss and AUC alone.")
        say("All of them are calibrated: they predict probabilities of yes.")
    else:
        none = "The first round is in none of these figures"
        say(f"{none}: {lost} is lost in it by predicting 0.")
    mean, last = (known.later_mean(by.rounds) for known in (by.mean, by.last))
    for most, what in ((mean, "mean of the labels so far"), (last, "last label")):
        worse = _worse(losses, most)
        if worse:
            said = (f"{name} {_at(places)}".rstrip() for name, places in worse.items())
            say(f"Worse than the {what}: {', '.join(said)}.")
    plain = [name for name in _worse(losses, mean) if not LEARNERS[name].has_intercept]
    if plain:
        say(
            f"Models without an intercept: {', '.join(plain)}; they need columns and labels that "
            "are centred and scaled."
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
