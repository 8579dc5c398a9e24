"""The bounds of the paper: values worked out by hand, how they scale, when they are unusable."""

import math
from collections.abc import Callable

import pytest

import keyhole as kh
from keyhole import theory


def test_estimation_rates_by_hand() -> None:
    rates = theory.estimation_rates(400, 16, 4, 4, noise_sd=1.0, failure_probability=16 / math.e**4)
    # sqrt(4 * 4 * 4 / 400) (1 + 4) = 0.4 * 5
    assert rates.l2 == pytest.approx(2.0)
    assert rates.l1 == pytest.approx(4.0)
    assert rates.label == "lemma:dantzig"
    assert "l2=" in repr(rates)


def test_the_threshold_is_the_learners() -> None:
    learner = kh.DantzigLearner(kh.Problem(10, 2, 6), seed=0, noise_sd=0.3, burn_in=0)
    stream, _ = kh.streams.realizable(10, 2, 64)
    kh.play(learner, stream)
    expected = theory.threshold(63, 10, 4, noise_sd=0.3)
    assert learner.diagnostics.threshold == expected.value
    assert expected.label == "equation:conv.prog"


def test_first_nonzero_is_where_the_threshold_falls_below_the_signal() -> None:
    t = theory.first_nonzero(50, 10, signal=0.2, noise_sd=0.1, constant=0.1)
    assert theory.threshold(t, 50, 10, noise_sd=0.1, constant=0.1).value < 0.2
    assert theory.threshold(t // 2, 50, 10, noise_sd=0.1, constant=0.1).value >= 0.2


def test_realizable_regret_both_forms() -> None:
    short = theory.realizable_regret(10_000, 50, 3, 15, failure_probability=0.01)
    assert short.value == pytest.approx(9 * math.log(5000) * (50 / 15) ** 3 * math.log(10_000))
    full = theory.realizable_regret_full(
        10_000, 50, 3, 15, noise_sd=0.5, burn_in=100, failure_probability=0.01
    )
    terms = dict(full.terms)
    assert terms["waiting"] == 100
    assert terms["noise"] == pytest.approx(math.sqrt(100 * math.log(100)))
    inside = math.log(50 * math.log(10_000) / 0.01)
    assert terms["learning"] == pytest.approx(
        9 * 50 / 15 * inside * (0.5 + 50 / 15) ** 2 * math.log(10_000)
    )
    assert full.value == pytest.approx(sum(terms.values()))
    assert full.label == "equation:regret-realizable"


@pytest.mark.parametrize("factor", [0.1, 7.0])
def test_unknown_constants_only_scale(factor: float) -> None:
    calls: list[Callable[[float], float]] = [
        lambda c: theory.t0(20, 2, 1000, constant=c).value,
        lambda c: theory.threshold(100, 20, 5, noise_sd=0.1, constant=c).value,
        lambda c: theory.estimation_rates(100, 20, 2, 5, noise_sd=0.1, constant=c).l1,
        lambda c: theory.realizable_regret(100, 20, 2, 5, constant=c).value,
        lambda c: (
            theory.realizable_regret_full(100, 20, 2, 5, noise_sd=0.1, burn_in=9, constant=c).value
        ),
        lambda c: theory.agnostic_regret(100, 20, 2, 5, kappa=1.5, constant=c).value,
        lambda c: theory.concentration(100, 20, 5, constant=c)[0].value,
        lambda c: theory.lower_bounds(100, 20, 2, constant=c)[1].value,
    ]
    for call in calls:
        assert call(factor) == pytest.approx(factor * call(1.0))


def test_agnostic_parameters_by_hand() -> None:
    # k1 = 1.44 * 5 * log(10^5) / 3, B = (50 * 10^5 / (1.44 * 100 * 5))^(1/3)
    found = theory.agnostic_parameters(100_000, 100, 5, 50, kappa=1.2)
    assert found.slots == pytest.approx(27.63, abs=0.01)
    assert found.batch_size == pytest.approx(19.08, abs=0.01)
    assert found.per_expert == pytest.approx(50 / found.slots)
    assert not found.usable


@pytest.mark.parametrize(
    ("arguments", "kappa", "reason"),
    [
        ((100_000, 100, 5, 50), 1.2, "B = 19.1 < k1 = 27.6"),
        ((100_000, 20, 2, 10), 1.2, "k0/k1 = 0.9"),
        ((1_000_000, 20, 5, 20), 2.0, "k1 = 92.1 > d = 20"),
    ],
)
def test_why_they_are_unusable(
    arguments: tuple[int, int, int, int], kappa: float, reason: str
) -> None:
    found = theory.agnostic_parameters(*arguments, kappa=kappa)
    assert any(reason in r for r in found.reasons), found.reasons


def test_a_long_stream_can_use_them() -> None:
    assert theory.agnostic_parameters(10**12, 40, 3, 40, kappa=1.0).usable


def test_more_reasons() -> None:
    found = theory.agnostic_parameters(10**12, 30, 3, 30, kappa=1.0, burn_in=10**6)
    assert any("k1 + k = 30.6 > d = 30" in r for r in found.reasons)
    assert any("< t0 = 1000000" in r for r in found.reasons)


def test_the_agnostic_choice_balances_the_full_bound() -> None:
    """B of `theorem:adv` makes the experts' and the fitting term the same up to logarithms."""
    d, k, k0, kappa = 100, 2, 100, 1.1
    for T in (10**9, 10**12):
        p = theory.agnostic_parameters(T, d, k, k0, kappa=kappa)
        full = theory.agnostic_regret_full(
            T, d, k, k0, slots=round(p.slots), batch_size=round(p.batch_size), kappa=kappa
        )
        short = theory.agnostic_regret(T, d, k, k0, kappa=kappa).value
        logs = math.log(T) * math.log(T)
        for term in dict(full.terms).values():
            assert term <= 3 * logs * short
        assert dict(full.terms)["greedy"] == pytest.approx(T ** (2 / 3), rel=0.5)


def test_bexp_vaw_and_greedy_by_hand() -> None:
    assert theory.bexp_regret(100, 4, 2).value == pytest.approx(
        2 * math.sqrt(4 * math.log(4) / 2 * 100)
    )
    vaw = theory.vaw_regret(10, 3, ridge=2.0, comparator_norm=3.0, label_size=2.0)
    assert vaw.value == pytest.approx(2 * 9 + 3 * 4 * math.log(6))
    gap = theory.online_greedy_gap(1000, 16, 2, 8, slots=4, batch_size=10, kappa=1.0)
    assert dict(gap.terms)["greedy"] == pytest.approx(100 / 16)
    assert dict(gap.terms)["experts"] == pytest.approx(
        2 * 2 * math.sqrt(16 * 4 * math.log(16) * 100 / 8)
    )


def test_wstar_regret_does_not_know_the_horizon_and_is_below_the_printed_form() -> None:
    bound = theory.wstar_regret(30, 3, noise_sd=2.0, failure_probability=0.1)
    m, x = 6, 2 * 3 * math.log(30 / 0.1)
    assert bound.value < 4.0 * (m + 2 * math.sqrt(m * x) + 2 * x)
    assert theory.wstar_regret(4, 3, noise_sd=1.0).terms[0] == ("m", 4.0)


def test_lower_bounds_are_below_upper_bounds() -> None:
    for bound in theory.lower_bounds(10_000, 50, 3):
        assert bound.value < theory.realizable_regret(10_000, 50, 3, 50).value
        assert bound.value < theory.agnostic_regret(10_000, 50, 3, 50, kappa=1.0).value


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(kh.ProblemError, match="k must be at most d = 3"):
        theory.t0(3, 4, 10)
    with pytest.raises(kh.ProblemError, match="exploration"):
        theory.realizable_regret(10, 3, 1, 4)
    with pytest.raises(kh.ProblemError, match="noise_sd"):
        theory.estimation_rates(10, 3, 1, 2, noise_sd=-1.0)
    with pytest.raises(kh.ProblemError, match="failure_probability"):
        theory.wstar_regret(3, 1, noise_sd=1.0, failure_probability=1.0)
    with pytest.raises(kh.ProblemError, match="kappa"):
        theory.agnostic_regret(10, 3, 1, 2, kappa=0.9)
    with pytest.raises(kh.ProblemError, match="constant"):
        theory.t0(3, 1, 10, constant=0.0)
    with pytest.raises(kh.ProblemError, match="signal"):
        theory.first_nonzero(3, 2, signal=0.0, noise_sd=0.1)
    with pytest.raises(kh.ProblemError, match="ridge"):
        theory.vaw_regret(3, 2, ridge=0.0)


def test_localization_by_hand() -> None:
    # d/k0 = 4, log(d/delta) = 4, t = 400: r = sqrt(4 * 4 / 400) = 0.2, with C = 3 it is 0.6.
    found = theory.localization(
        400,
        16,
        4,
        noise_sd=1.0,
        weights_l1=0.5,
        failure_probability=16 / math.e**4,
        constant=3.0,
    )
    # 2 (1 + 4 * 0.5) = 6, 4 * 0.5 = 2, 2 * 4 * 0.5 = 4
    assert dict(found.terms) == pytest.approx({"feasibility": 3.6, "cross": 1.2, "square": 2.4})
    assert found.value == pytest.approx(7.2)
    assert found.value <= 8 * 0.6 * (1.0 + 4 * 0.5)  # the printed form


def test_constants_of_single_lemmas_by_hand() -> None:
    assert theory.truncation_error(5.0).value == pytest.approx(5.0 * 1.7320508075688772)
    assert theory.truncation_error(5.0).label == "lemma:sparse"
    assert theory.greedy_factor(4.0, 5).value == pytest.approx(0.95)
    assert theory.greedy_factor(1.0, 1).value == 0.0
    assert theory.supermodularity(3.0).value == 9.0
    assert theory.rip_condition_number(1 / 3).value == pytest.approx(2.0)
    # k = d: log(e d/k) = 1
    assert theory.rip_rows(7, 7, epsilon=0.5, constant=2.0).value == pytest.approx(56.0)
    # log(e^3) + 2 log(e^4 rounded) by hand
    found = theory.bbrcnp_t0(55, 2, 20, constant=10.0).value
    assert found == pytest.approx(10.0 * (2.995732 + 2 * 4.007333), rel=1e-6)


def test_what_no_lemma_is_about_is_refused() -> None:
    with pytest.raises(kh.ProblemError, match="epsilon must be below 1, got 1"):
        theory.rip_condition_number(1.0)
    with pytest.raises(kh.ProblemError, match="alpha must be at least 1"):
        theory.greedy_factor(0.5, 2)
    with pytest.raises(kh.ProblemError, match="error must be at least 0"):
        theory.truncation_error(-1.0)


def test_the_concentration_bounds_by_hand() -> None:
    """log(20/0.05) = log 400; C sqrt(20^3 log 400 / (100 5^3)) and C sqrt(20 log 400 / (100 5))."""
    square, single = theory.concentration(100, 20, 5, failure_probability=0.05, constant=3.0)
    logarithm = math.log(400.0)
    assert square.value == pytest.approx(3.0 * math.sqrt(8000.0 * logarithm / 12_500.0))
    assert single.value == pytest.approx(3.0 * math.sqrt(20.0 * logarithm / 500.0))
    assert square.value == pytest.approx(5.8746, abs=1e-4)  # 3 sqrt(0.64 * 5.99146)
    assert single.value == pytest.approx(1.4686, abs=1e-4)  # 3 sqrt(0.04 * 5.99146)
