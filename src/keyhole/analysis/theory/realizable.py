"""Constants and bounds of the realizable part: Algorithm 1, `theorem:realizable` and its lemmas."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keyhole.analysis.theory.bound import Bound, checked
from keyhole.learners.blocks.dantzig.threshold import printed_threshold
from keyhole.problem import ProblemError

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
    value = printed_threshold(
        rounds,
        d,
        exploration,
        noise_sd=noise_sd,
        failure_probability=failure_probability,
        scale=constant,
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

    Printed without the C it needs. The proof has sigma sqrt(t0 log(1/delta)) in the middle.
    """
    ratio, log_T = d / exploration, math.log(horizon)
    waiting = constant * burn_in
    noise = constant * math.sqrt(burn_in * math.log(1 / failure_probability))
    logarithm = math.log(d * max(log_T, 1.0) / failure_probability)
    learning = constant * k**2 * ratio * logarithm * (noise_sd + ratio) ** 2 * log_T
    formula = (
        "C (t0 + sqrt(t0 log(1/delta)) + k^2 (d/k0) log(d log(T)/delta) (sigma + d/k0)^2 log T)"
    )
    terms = (("waiting", waiting), ("noise", noise), ("learning", learning))
    total = waiting + noise + learning
    return Bound(total, "equation:regret-realizable", formula, terms)
