"""Constants of single lemmas and definitions: what the theorems are put together from."""

from __future__ import annotations

import math

from keyhole.analysis.theory.bound import Bound, checked
from keyhole.problem import ProblemError, positive_number, real_number, whole_number


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
    terms = (
        ("feasibility", 2.0 * r * (noise_sd + ratio * L)),
        ("cross", 4.0 * r * L),
        ("square", 2.0 * r * ratio * L),
    )
    formula = "C r (2 (sigma + (d/k0) L) + 4 L + 2 (d/k0) L), r = sqrt(d log(d/delta) / (t k0))"
    return Bound(sum(value for _, value in terms), "lemma:localization", formula, terms)


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
