"""What a learner buys and why, in words and numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

WORTH_SAYING = 0.02  # of the squared error; less may be chance


@dataclass(frozen=True, slots=True)
class Line:
    """One feature that is bought now.

    `gain` is the share of the label's variance it takes away (kept) or would take away beyond the
    kept ones, `error` the standard error of that; `weight` is in the user's units, `reads` counts
    its values so far. `price` is what it costs alone, fees of panels included; None without prices.
    """

    name: str
    why: str
    weight: float
    gain: float
    error: float
    reads: int
    price: float | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is bought now and why, and whom the mixture listens to.

    `layer` are the shares of what the last layer mixes: the mixture's prediction as it is, bent,
    and with the past. `past` is what a unit of each input of the past adds to the prediction;
    `past_saves` the share of the squared error of late that a layer without the past would have
    had more. `cost` is what an example costs now; None without prices.

    Examples
    --------
    >>> line = Line("age", "kept", 0.5, 0.31, 0.02, 120)
    >>> print(Explanation(200, (line,), {"memory of all rounds": 1.0}, 0.0))
    after 200 rounds, bought for every example:
      kept        age    weight +0.5   explains 31.0 % ± 2.0 % of the variance   120 reads
    listens to: memory of all rounds 100 %
    """

    round: int
    lines: tuple[Line, ...]
    shares: Mapping[str, float]
    bound: float
    layer: Mapping[str, float] = field(default_factory=dict)
    past: Mapping[str, float] = field(default_factory=dict)
    past_saves: float = 0.0
    cost: float | None = None

    def __str__(self) -> str:
        if not self.lines:
            return "nothing was asked yet, so nothing is bought"
        wide = max(len(line.name) for line in self.lines)
        order = {"kept": 0, "safety net": 1, "explored": 2}
        ranked = sorted(self.lines, key=lambda line: (order[line.why], -line.gain))
        money = "" if self.cost is None else f" for {self.cost:,.10g} together"
        text = [f"after {self.round} rounds, bought for every example{money}:"]
        text += [_sentence(line, wide) for line in ranked]
        text.append(f"listens to: {_percents(self.shares)}")
        if self.layer:
            text.append(f"last layer: {_percents(self.layer)}")
        if self.past:
            text.append(_of_the_past(self.past, self.past_saves))
        return "\n".join(text)


def _percents(shares: Mapping[str, float]) -> str:
    heard = sorted(shares.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in heard if share >= 0.01)


def _of_the_past(weights: Mapping[str, float], saved: float) -> str:
    if saved < WORTH_SAYING:
        return "the past: says nothing of late that is not known without it"
    largest = sorted(weights.items(), key=lambda item: -abs(item[1]))[:3]
    adds = ", ".join(f"{weight:+.2g} × {name}" for name, weight in largest)
    return f"the past: saves {100 * saved:.0f} % of the squared error of late; adds {adds}, ..."


def _sentence(line: Line, wide: int) -> str:
    percent, error = 100.0 * line.gain, 100.0 * line.error
    if line.why == "kept":
        promise = f"weight {line.weight:+.4g}   explains {percent:.1f} % ± {error:.1f} %"
    else:
        promise = f"might explain {100.0 * optimistic(line.gain, line.error):.1f} %"
    about = (
        f"  {line.why:<11} {line.name:<{wide}}    {promise} of the variance   {line.reads} reads"
    )
    if line.price is None:
        return about
    return f"{about}   {f'costs {line.price:,.10g}' if line.price else 'free'}"


def optimistic(gain: float, error: float) -> float:
    """The gain were the correlation two standard errors larger.

    >>> optimistic(0.0, 0.0), optimistic(0.04, 0.01)
    (0.0, 0.0625)
    """
    if gain <= 0.0:
        return error
    # error = 2 sqrt(gain) se, se that of the correlation
    return (math.sqrt(gain) + error / math.sqrt(gain)) ** 2
