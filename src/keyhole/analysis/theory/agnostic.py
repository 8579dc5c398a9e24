"""Constants and bounds of the agnostic part: Algorithm 2, `theorem:adv` and its lemmas."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keyhole.analysis.theory.bound import Bound, check, checked
from keyhole.learners.blocks.greedy.parts import theorem_sizes
from keyhole.problem import ProblemError, whole_number


@dataclass(frozen=True, slots=True)
class AgnosticParameters:
    """k1 and B as `theorem:adv` sets them, and why they cannot be used, if so.

    `slots` is k1, `batch_size` B (both not rounded), `per_expert` the k0 / k1 features that each of
    the k1 expert algorithms may look at.
    """

    slots: float
    batch_size: float
    per_expert: float
    reasons: tuple[str, ...]
    label: str = "theorem:adv"

    @property
    def usable(self) -> bool:
        """Whether an algorithm can be run with these numbers and learn something."""
        return not self.reasons


def bexp_regret(rounds: int, experts: int, budget: float) -> Bound:
    """Expected regret of experts with a budget (`theorem:bexp`), for losses in [0, 1].

        2 sqrt(d log(d) T / k)


    >>> round(bexp_regret(1000, 20, 4).value, 1)
    244.8
    """
    check(d=experts, exploration=budget, rounds=rounds)
    value = 2 * math.sqrt(experts * math.log(experts) / budget * rounds)
    return Bound(value, "theorem:bexp", "2 sqrt(d log(d) T / k)")


def vaw_regret(
    batch_size: int,
    slots: int,
    *,
    ridge: float = 1.0,
    comparator_norm: float = 1.0,
    label_size: float = 1.0,
) -> Bound:
    """Regret of Vovk-Azoury-Warmuth on k1 features within a batch (`lem:vaw`).

        ridge |u|^2 + k1 Y^2 log(1 + B / ridge)     against any u, for |x|_inf <= 1, |y| <= Y

    The paper prints O(k1 log B) against the unbounded best u of the batch: |u| has to be bounded
    by something, here by you. RIP gives |u| <= 1/(1 - epsilon); BBRCNP alone gives no bound.

    >>> round(vaw_regret(100, 5).value, 2)
    24.08

    References
    ----------
    Cesa-Bianchi, Lugosi (2006), theorem 11.8. Gaillard, Gerchinovitz, Huard, Stoltz (2019).
    """
    whole_number("batch_size", batch_size, 1)
    whole_number("slots", slots, 1)
    if not ridge > 0:
        raise ProblemError(f"ridge must be positive, got {ridge}")
    penalty = ridge * comparator_norm**2
    learning = slots * label_size**2 * math.log(1 + batch_size / ridge)
    formula = "ridge |u|^2 + k1 Y^2 log(1 + B/ridge)"
    terms = (("penalty", penalty), ("learning", learning))
    return Bound(penalty + learning, "lem:vaw", formula, terms)


@checked
def online_greedy_gap(
    horizon: int, d: int, k: int, exploration: int, *, slots: int, batch_size: int, kappa: float
) -> Bound:
    """Sum over batches of g_b(V_b) - g_b(V), at most (`lem:online-greedy`).

        (T/B) (1 - 1/(kappa^2 k))^k1 + 2 kappa^2 k sqrt(d k1 log(d) T / (k0 B))

    with g_b(empty) - g_b(V) <= 1, as labels in [-1, 1] give. In expectation.
    """
    batches = horizon / whole_number("batch_size", batch_size, 1)
    greedy = batches * (1 - 1 / (kappa**2 * k)) ** whole_number("slots", slots, 1)
    experts = 2 * kappa**2 * k * math.sqrt(d * slots * math.log(d) * batches / exploration)
    formula = "(T/B) (1 - 1/(kappa^2 k))^k1 + 2 kappa^2 k sqrt(d k1 log(d) T/(k0 B))"
    terms = (("greedy", greedy), ("experts", experts))
    return Bound(greedy + experts, "lem:online-greedy", formula, terms)


@checked
def agnostic_parameters(
    horizon: int, d: int, k: int, exploration: int, *, kappa: float, burn_in: int = 0
) -> AgnosticParameters:
    """k1 = kappa^2 k log(T) / 3 and B = (k0 T / (kappa^2 d k))^(1/3) (`theorem:adv`).

    `burn_in` is the t0 of BBRCNP, which B must reach.

    >>> print(*agnostic_parameters(100_000, 100, 5, 50, kappa=1.2).reasons, sep="\\n")
    B = 19.1 < k1 = 27.6: in a batch with fewer rows than features every model fits perfectly
    >>> agnostic_parameters(100_000, 20, 2, 10, kappa=1.2).per_expert < 1
    True
    """
    B, k1 = theorem_sizes(d, k, exploration, kappa, horizon)
    per_expert = exploration / k1 if k1 > 0 else math.inf
    reasons = []
    if k1 > B:
        reasons.append(
            f"B = {B:.3g} < k1 = {_number(k1)}: in a batch with fewer rows than features every "
            "model fits perfectly"
        )
    if per_expert < 1:
        reasons.append(
            f"k0/k1 = {per_expert:.2g} < 1: an expert cannot look at even the one feature it plays"
        )
    if k1 > d:
        reasons.append(f"k1 = {_number(k1)} > d = {d}: more features are played than there are")
    elif k1 + k > d:
        reasons.append(
            f"k1 + k = {_number(k1 + k)} > d = {d}: BBRCNP is asked for more features than there "
            "are"
        )
    if burn_in > B:
        reasons.append(f"B = {B:.3g} < t0 = {burn_in}: a batch is shorter than BBRCNP needs")
    return AgnosticParameters(k1, B, per_expert, tuple(reasons))


@checked
def agnostic_regret(
    horizon: int, d: int, k: int, exploration: int, *, kappa: float, constant: float = 1.0
) -> Bound:
    """Expected regret of Algorithm 2, logarithms left out (`theorem:adv`).

    C (kappa^8 d k^4 / k0)^(1/3) T^(2/3)
    """
    value = constant * (kappa**8 * d * k**4 / exploration) ** (1 / 3) * horizon ** (2 / 3)
    formula = "C (kappa^8 d k^4/k0)^(1/3) T^(2/3), up to logarithms"
    return Bound(value, "theorem:adv", formula, (("C", constant),))


@checked
def agnostic_regret_full(
    horizon: int, d: int, k: int, exploration: int, *, slots: int, batch_size: int, kappa: float
) -> Bound:
    """Expected regret of Algorithm 2 for any k1 and B (`eq:adv-regret-bound`), constants included.

    T exp(-k1/(kappa^2 k)) for greedy's approximation, B times the experts' term of
    `lem:online-greedy`, T/B times `lem:vaw` with ridge 1 and comparators of norm 1.
    """
    gap = online_greedy_gap(
        horizon, d, k, exploration, slots=slots, batch_size=batch_size, kappa=kappa
    )
    greedy = horizon * math.exp(-slots / (kappa**2 * k))
    experts = batch_size * dict(gap.terms)["experts"]
    fitting = horizon / batch_size * vaw_regret(batch_size, slots).value
    terms = (("greedy", greedy), ("experts", experts), ("fitting", fitting))
    formula = "T exp(-k1/(kappa^2 k)) + 2 kappa^2 k sqrt(d k1 log(d) B T/k0) + (T/B) vaw"
    return Bound(greedy + experts + fitting, "eq:adv-regret-bound", formula, terms)


def _number(x: float) -> str:
    return f"{x:,.0f}" if x >= 1000 else f"{x:.3g}"
