"""The paper's theory: every constant and bound as a function that cites its LaTeX label.

A bound of the form O(...) names no constant. Such functions take `constant=1.0`, and 1 is a
placeholder, not a claim: use them to see how a bound moves when a number changes, or relative to
each other, never as a promise of so much regret. Bounds without that parameter hold as they are.

`exploration` is the paper's k0, the features read to explore: `budget - k` for Algorithm 1, the
whole budget for Algorithm 2."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from keyhole.learners.blocks.dantzig.threshold import printed_threshold
from keyhole.learners.blocks.greedy.variants import theorem_sizes
from keyhole.problem import ProblemError, positive_number, real_number, whole_number

__all__ = [
    "RIP_REALIZABLE",
    "AgnosticParameters",
    "Bound",
    "Rates",
    "agnostic_parameters",
    "agnostic_regret",
    "agnostic_regret_full",
    "bbrcnp_t0",
    "bexp_regret",
    "concentration",
    "dantzig_error_factor",
    "estimation_rates",
    "first_nonzero",
    "greedy_factor",
    "localization",
    "lower_bounds",
    "online_greedy_gap",
    "realizable_regret",
    "realizable_regret_full",
    "rip_condition_number",
    "rip_rows",
    "supermodularity",
    "t0",
    "threshold",
    "truncation_error",
    "vaw_regret",
    "wstar_regret",
]

P = ParamSpec("P")
R = TypeVar("R")

# What a number must be, given d, beside being whole.
_RULES: dict[str, tuple[Callable[[float, float], bool], str]] = {
    "k": (lambda k, d: k <= d, "at most d = {d}"),
    "exploration": (lambda k0, d: 0 < k0 <= d, "more than 0 and at most d = {d}"),
    "noise_sd": (lambda sigma, d: 0 <= sigma < math.inf, "at least 0 and finite"),
    "failure_probability": (lambda delta, d: 0 < delta < 1, "between 0 and 1"),
    "constant": (lambda C, d: 0 < C < math.inf, "positive"),
    "kappa": (lambda kappa, d: 1 <= kappa < math.inf, "at least 1 and finite"),
}


@dataclass(frozen=True, slots=True)
class Bound:
    """A number, where it comes from, and what it is made of.

    >>> print(Bound(30.0, "theorem:bexp", "a + b", (("a", 10.0), ("b", 20.0))))
    30 (theorem:bexp)
      a + b
      a = 10
      b = 20
    """

    value: float
    label: str
    formula: str
    terms: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.value:.6g} ({self.label})", f"  {self.formula}"]
        return "\n".join([*lines, *(f"  {name} = {value:.6g}" for name, value in self.terms)])


def _total(label: str, formula: str, **terms: float) -> Bound:
    """The bound that is the sum of its terms."""
    return Bound(sum(terms.values()), label, formula, tuple(terms.items()))


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function refuse numbers that make no sense, known by the names of its parameters.

    >>> @checked
    ... def half(d: int) -> float:
    ...     return d / 2
    >>> half(0)
    Traceback (most recent call last):
    keyhole.errors.ProblemError: d must be at least 1, got 0
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def refusing(*given: P.args, **named: P.kwargs) -> R:
        check(**signature.bind(*given, **named).arguments)
        return function(*given, **named)

    return refusing


def check(**numbers: Any) -> None:
    """Refuse numbers that make no sense, by name; a name that is not known passes."""
    for name in ("d", "k", "horizon", "rounds"):
        whole_number(name, numbers.get(name, 1), 1)
    d = numbers.get("d", math.inf)
    for name, (fine, rule) in _RULES.items():
        if name in numbers and not fine(numbers[name], d):
            raise ProblemError(f"{name} must be {rule.format(d=d)}, got {numbers[name]}")


@checked
def localization(
    rounds: int,
    d: int,
    exploration: int,
    *,
    noise_sd: float,
    weights_l1: float = 1.0,
    failure_probability: float = 0.05,
    constant: float = 1.0,
) -> Bound:
    """|X'X (w_hat - w*) / t|_inf, at most (`lemma:localization`), constants of the proof included.

        C r (2 (sigma + (d/k0) L) + 4 L + 2 (d/k0) L),   r = sqrt(d log(d/delta) / (t k0))

    with L = |w*|_1 and C the constant of `lemma:concentration-inequality`: twice the threshold,
    twice each cross term, and the square term. That is at most 8 C r (sigma + (d/k0) L), which is
    the printed form.

    >>> print(localization(400, 16, 4, noise_sd=1.0, failure_probability=16 / math.e**4))
    4.4 (lemma:localization)
      C r (2 (sigma + (d/k0) L) + 4 L + 2 (d/k0) L), r = sqrt(d log(d/delta) / (t k0))
      feasibility = 2
      cross = 0.8
      square = 1.6
    """
    L = real_number("weights_l1", weights_l1, 0.0)
    ratio = d / exploration
    r = constant * math.sqrt(ratio * math.log(d / failure_probability) / rounds)
    feasibility = 2.0 * r * (noise_sd + ratio * L)
    cross, square = 4.0 * r * L, 2.0 * r * ratio * L
    formula = "C r (2 (sigma + (d/k0) L) + 4 L + 2 (d/k0) L), r = sqrt(d log(d/delta) / (t k0))"
    terms = {"feasibility": feasibility, "cross": cross, "square": square}
    return _total("lemma:localization", formula, **terms)


def truncation_error(error: float) -> Bound:
    """|w_hat cut to its k largest - w*|_2 for a k-sparse w* (`lemma:sparse`): sqrt(3) the error.

    >>> round(truncation_error(2.0).value, 6)
    3.464102
    """
    value = math.sqrt(3.0) * real_number("error", error, 0.0)
    return Bound(value, "lemma:sparse", "sqrt(3) |w_hat - w*|_2")


def greedy_factor(alpha: float, size: int) -> Bound:
    """The share of g(empty) - g(V) that one greedy step leaves (`lemma:greedy-modular`).

    1 - 1/(alpha |V|) for a weakly supermodular g with parameter alpha and |V| = `size`.

    >>> greedy_factor(2.0, 5).value
    0.9
    """
    alpha, size = real_number("alpha", alpha, 1.0), whole_number("size", size, 1)
    value = 1.0 - 1.0 / (alpha * size)
    return Bound(value, "lemma:greedy-modular", "1 - 1/(alpha |V|)")


@checked
def supermodularity(kappa: float) -> Bound:
    """The alpha of least squares as a set function (`lemma:RIP.modu`): kappa^2.

    kappa is the restricted condition number.

    >>> supermodularity(1.5).value
    2.25
    """
    return Bound(kappa**2, "lemma:RIP.modu", "kappa^2")


def rip_condition_number(epsilon: float) -> Bound:
    """The largest restricted condition number under RIP: (1 + epsilon) / (1 - epsilon).

    Said after `definition:restricted-condition-number`.

    >>> round(rip_condition_number(0.2).value, 6)
    1.5
    """
    epsilon = real_number("epsilon", epsilon, 0.0)
    if epsilon >= 1.0:
        raise ProblemError(f"epsilon must be below 1, got {epsilon:g}: RIP says nothing from 1 on")
    value = (1.0 + epsilon) / (1.0 - epsilon)
    return Bound(value, "definition:restricted-condition-number", "(1 + epsilon) / (1 - epsilon)")


@checked
def rip_rows(d: int, k: int, *, epsilon: float, constant: float = 1.0) -> Bound:
    """Rows of an isotropic sub-Gaussian design after which RIP (epsilon, k) is likely.

    C epsilon^-2 k log(e d / k), said after `definition:RIP`.

    >>> round(rip_rows(100, 6, epsilon=0.2).value)
    572
    """
    epsilon = positive_number("epsilon", epsilon)
    value = constant * k * math.log(math.e * d / k) / epsilon**2
    return Bound(value, "definition:RIP", "C epsilon^-2 k log(e d/k)", (("C", constant),))


@checked
def bbrcnp_t0(d: int, k: int, horizon: int, *, constant: float = 1.0) -> Bound:
    """The t0 of BBRCNP for isotropic sub-Gaussian rows, with high probability.

    C (log T + k log d), said after `definition:block-BRCNP`; C depends on kappa.

    >>> round(bbrcnp_t0(100, 5, 100_000).value, 1)
    34.5
    """
    value = constant * (math.log(horizon) + k * math.log(d))
    return Bound(value, "definition:block-BRCNP", "C (log T + k log d)", (("C", constant),))


@checked
def lower_bounds(horizon: int, d: int, k: int, *, constant: float = 1.0) -> tuple[Bound, ...]:
    """What no learner can beat, as far as is known; all up to an unknown constant.

    Realizable: log T even when everything is read; k log(T) log(d/k) from how well k of d weights
    can be estimated. Agnostic: sqrt(T), by the bandit argument. Without any assumption on the
    features no polynomial-time learner has regret O(T^(1 - c)) for any c > 0, unless NP is in BPP.

    References
    ----------
    Hazan, Kale (2014), Beyond the regret minimization barrier.
    Foster, Kale, Karloff (2016), Online sparse linear regression.
    Li, Liao, Xu, Nie (2025), COLT, table 3.
    """
    log_T, terms = math.log(horizon), (("C", constant),)
    sparse = constant * k * log_T * math.log(max(d / k, 1.0))
    return (
        Bound(constant * log_T, "hazan-kale-2014", "C log T (realizable)", terms),
        Bound(sparse, "Li et al. 2025", "C k log(T) log(d/k) (realizable)", terms),
        Bound(constant * math.sqrt(horizon), "introduction", "C sqrt(T) (agnostic)", terms),
    )


RIP_REALIZABLE = 0.2  # epsilon that `theorem:realizable` asks for, at sparsity 3 k


@dataclass(frozen=True, slots=True)
class Rates:
    """Estimation error of w_hat in the Euclidean and in the l1 norm (`lemma:dantzig`)."""

    l2: float
    l1: float
    label: str = "lemma:dantzig"


@checked
def t0(d: int, k: int, horizon: int, *, constant: float = 1.0) -> Bound:
    """Rounds before Algorithm 1 plays weights (`theorem:realizable`): C k log d log T.

    >>> round(t0(100, 3, 10_000).value)
    127
    """
    value = constant * k * math.log(d) * math.log(horizon)
    return Bound(value, "theorem:realizable", "t0 = C k log d log T", (("C", constant),))


@checked
def threshold(
    rounds: int,
    d: int,
    exploration: int,
    *,
    noise_sd: float,
    failure_probability: float = 0.05,
    constant: float = 1.0,
) -> Bound:
    """The right-hand side of the program after t rounds (`equation:conv.prog`), as printed.

    The logarithm is log(t d / delta) there, and log(d / delta) in the lemmas.

    >>> round(threshold(1000, 20, 5, noise_sd=0.1).value, 3)
    0.931
    """
    delta = failure_probability
    value = printed_threshold(
        rounds, d, exploration, noise_sd=noise_sd, failure_probability=delta, scale=constant
    )
    formula = "C sqrt(d log(t d/delta) / (t k0)) (sigma + d/k0)"
    return Bound(value, "equation:conv.prog", formula, (("C", constant),))


@checked
def first_nonzero(
    d: int,
    exploration: int,
    *,
    signal: float,
    noise_sd: float,
    failure_probability: float = 0.05,
    constant: float = 1.0,
) -> int:
    """The first power of two at which w = 0 no longer satisfies `equation:conv.prog`.

    `signal` is the largest |E x_j y|. Until then Algorithm 1 predicts 0.

    >>> [first_nonzero(20, 5, signal=1 / 3, noise_sd=0.1, constant=C) for C in (1.0, 0.1)]
    [16384, 64]
    """
    if not signal > 0:
        raise ProblemError(f"signal must be positive, got {signal}")
    free = {"failure_probability": failure_probability, "constant": constant}
    t = 1
    while threshold(t, d, exploration, noise_sd=noise_sd, **free).value >= signal:
        t *= 2
    return t


@checked
def concentration(
    rounds: int,
    d: int,
    exploration: int,
    *,
    failure_probability: float = 0.05,
    constant: float = 1.0,
) -> tuple[Bound, Bound]:
    """The two bounds of `lemma:concentration-inequality`: of X_hat' X_hat, then of X' X_hat.

    The first one is false as printed for sets of a fixed size (docs/errata.md); with exact pair
    weights it holds for the estimated second moments.
    """
    logarithm = math.log(d / failure_probability)
    label = "lemma:concentration-inequality"
    square = constant * math.sqrt(d**3 * logarithm / (rounds * exploration**3))
    single = constant * math.sqrt(d * logarithm / (rounds * exploration))
    terms = (("C", constant),)
    return (
        Bound(square, label, "C sqrt(d^3 log(d/delta) / (t k0^3))", terms),
        Bound(single, label, "C sqrt(d log(d/delta) / (t k0))", terms),
    )


@checked
def estimation_rates(
    rounds: int,
    d: int,
    k: int,
    exploration: int,
    *,
    noise_sd: float,
    failure_probability: float = 0.05,
    constant: float = 1.0,
) -> Rates:
    """How near w_hat is to w* after t rounds under RIP (1/5, 3k) (`lemma:dantzig`).

        |w_hat - w*|_2 <= C sqrt((d/k0) k log(d/delta) / t) (sigma + d/k0),   |.|_1: sqrt(k) more

    >>> a, b = (estimation_rates(t, 20, 2, 5, noise_sd=0.1) for t in (1000, 4000))
    >>> round(a.l2 / b.l2, 6)
    2.0
    """
    ratio = d / exploration
    root = math.sqrt(ratio * k * math.log(d / failure_probability) / rounds)
    l2 = constant * root * (noise_sd + ratio)
    return Rates(l2, math.sqrt(k) * l2)


def dantzig_error_factor(k: int, epsilon: float) -> float:
    """|w_hat - w*|_2 <= factor |X'X (w_hat - w*) / t|_inf, by the proof of `lemma:dantzig`.

    sqrt(2) sqrt(2k) / ((1 - epsilon)^2 - 2 epsilon) for RIP (epsilon, 3k), if w* is feasible:
    nothing universal is hidden in it. Infinite from epsilon = 2 - sqrt(3) = 0.268 on.

    >>> round(dantzig_error_factor(1, 0.2), 6)
    8.333333
    """
    left = (1 - epsilon) ** 2 - 2 * epsilon
    return 2 * math.sqrt(k) / left if left > 0 and epsilon < 1 else math.inf


@checked
def wstar_regret(d: int, k: int, *, noise_sd: float, failure_probability: float = 0.05) -> Bound:
    """By how much w* can lose to the best k-sparse model in hindsight (`lem:wstart_reg`).

    With probability 1 - delta at most sigma^2 (m + 2 sqrt(m x) + 2 x), m = min(2k, d),
    x = log(C(d, m) / delta): the proof's chi-squared tail, union over the m-subsets. The
    printed form, O(sigma^2 k log(d/delta)), takes x = 2k log(d/delta). Independent of T.

    >>> print(wstar_regret(20, 2, noise_sd=1.0))
    40.5166 (lem:wstart_reg)
      sigma^2 (m + 2 sqrt(m x) + 2 x)
      m = 4
      x = 11.4814
    """
    m = min(2 * k, d)
    x = math.log(math.comb(d, m) / failure_probability)
    value = noise_sd**2 * (m + 2 * math.sqrt(m * x) + 2 * x)
    terms = (("m", float(m)), ("x", x))
    return Bound(value, "lem:wstart_reg", "sigma^2 (m + 2 sqrt(m x) + 2 x)", terms)


@checked
def realizable_regret(
    horizon: int,
    d: int,
    k: int,
    exploration: int,
    *,
    failure_probability: float = 0.05,
    constant: float = 1.0,
) -> Bound:
    """Regret of Algorithm 1 for noise of order 1 (`theorem:realizable`, the short form).

        C k^2 log(d/delta) (d/k0)^3 log T

    >>> realizable_regret(10_000, 50, 3, 15).value < realizable_regret(20_000, 50, 3, 15).value
    True
    """
    logs = math.log(d / failure_probability) * math.log(horizon)
    value = constant * k**2 * logs * (d / exploration) ** 3
    formula = "C k^2 log(d/delta) (d/k0)^3 log T"
    return Bound(value, "theorem:realizable", formula, (("C", constant),))


@checked
def realizable_regret_full(
    horizon: int,
    d: int,
    k: int,
    exploration: int,
    *,
    noise_sd: float,
    burn_in: float,
    failure_probability: float = 0.05,
    constant: float = 1.0,
) -> Bound:
    """Regret of Algorithm 1 for any t0 and sigma (`equation:regret-realizable`), as printed.

        C (t0 + sqrt(t0 log(1/delta)) + k^2 (d/k0) log(d log(T)/delta) (sigma + d/k0)^2 log T)

    Printed without the C it needs. The proof has sigma sqrt(t0 log(1/delta)) in the middle. With
    the logarithm of the printed program, log(t d/delta), the proof gives log^2 T: see the errata.
    """
    ratio, log_T = d / exploration, math.log(horizon)
    waiting = constant * burn_in
    noise = constant * math.sqrt(burn_in * math.log(1 / failure_probability))
    logarithm = math.log(d * max(log_T, 1.0) / failure_probability)
    learning = constant * k**2 * ratio * logarithm * (noise_sd + ratio) ** 2 * log_T
    formula = (
        "C (t0 + sqrt(t0 log(1/delta)) + k^2 (d/k0) log(d log(T)/delta) (sigma + d/k0)^2 log T)"
    )
    terms = {"waiting": waiting, "noise": noise, "learning": learning}
    return _total("equation:regret-realizable", formula, **terms)


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
    return _total("lem:vaw", formula, penalty=penalty, learning=learning)


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
    return _total("lem:online-greedy", formula, greedy=greedy, experts=experts)


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
    formula = "T exp(-k1/(kappa^2 k)) + 2 kappa^2 k sqrt(d k1 log(d) B T/k0) + (T/B) vaw"
    terms = {"greedy": greedy, "experts": experts, "fitting": fitting}
    return _total("eq:adv-regret-bound", formula, **terms)


def _number(x: float) -> str:
    return f"{x:,.0f}" if x >= 1000 else f"{x:.3g}"
