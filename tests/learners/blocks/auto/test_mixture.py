"""The mixture's bound, for every sequence; the bold average is patient and quick."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import keyhole as kh
from keyhole.learners.blocks.auto.mixture import (
    RATES,
    Mixture,
    bold_shares,
    bound,
    learn,
    mix,
    predict,
    shares,
    step,
)


def play(mixture: Mixture, guesses: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """The loss of the mixture, and the part of it in records."""
    loss = records = 0.0
    for g, label in zip(guesses, y.tolist(), strict=True):
        low, high = mixture.span.tolist()
        error = (step(mixture, g, label) - label) ** 2
        loss += error
        if not low <= label <= high:  # also when there was none before
            records += error
    return loss, records


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 100_000),
    st.integers(1, 5),
    st.integers(1, 60),
    st.sampled_from(["uniform", "heavy", "adversarial", "far"]),
)
def test_the_bound_holds_for_every_sequence(seed: int, E: int, T: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    prior = rng.uniform(0.1, 1.0, E)
    y = {
        "uniform": rng.uniform(-1, 1, T),
        "heavy": rng.standard_t(1.5, T),
        "adversarial": np.where(rng.random(T) < 0.5, -1.0, 1.0),
        "far": 1e9 + rng.standard_normal(T),
    }[kind]
    guesses = y[:, None] * rng.uniform(-0.5, 1.5, E) + rng.standard_normal((T, E))
    mixture = mix(prior)
    loss, records = play(mixture, guesses, y)
    for e in range(E + 1):
        limit = float(mixture.losses[e]) + bound(mixture, e) + records
        assert loss <= limit * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("late", [1, 16, 30])
def test_the_bound_is_about_labels_that_come_before_the_next_prediction(late: int) -> None:
    """Of two experts, always +1 and always -1, labels contradict what was predicted last.

    Each expert is right half of the time, and loses 2 a round in the mean. In time (late = 1), the
    mixture predicts about 0 and loses little more. Labels that come in groups of 16 carry the
    weights all the way to one expert before the next group is predicted, which says the opposite.
    """
    T, mixture, ends = 2000, mix([1.0, 1.0]), [1.0, -1.0]
    for y in ends:  # the range is known: no records
        step(mixture, ends, y)
    before, loss = mixture.losses.copy(), 0.0
    for _ in range(T // late):
        guesses = np.append(ends, 0.0)
        prediction = float(predict(mixture, guesses))
        y = -1.0 if prediction > 0.0 else 1.0
        for _ in range(late):
            loss += (prediction - y) ** 2
            learn(mixture, guesses, y)
    beyond = loss - float((mixture.losses - before)[:2].min())
    assert (beyond <= bound(mixture, 0)) == (late == 1)


def test_a_mixture_of_the_wrong_rate_breaks_the_bound() -> None:
    """The broken twin: the weighted mean of the guesses at a quarter of the rate.

    Of two experts one is always right, the other always wrong, labels +-1. The twin has the loss
    sum_t 4 (1 - p_t)^2 with p_t = 1/(1 + exp(-t/2)), which is above 2 log 2.
    """
    T = 200
    y = np.where(np.arange(T) % 2, 1.0, -1.0)
    guesses = np.column_stack([y, -y])
    mixture = mix([1.0, 1.0])
    loss, records = play(mixture, guesses, y)
    # expert 0's own prior is 1/4: bound 2 log 4
    assert loss - records <= float(mixture.losses[0]) + bound(mixture, 0)
    lag, twin = np.zeros(2), 0.0
    for g, label in zip(guesses[2:], y[2:].tolist(), strict=True):
        p = np.exp(-(lag - lag.min()) / 8.0)  # a rate four times too small
        twin += float((p @ g / p.sum() - label) ** 2)
        lag += (g - label) ** 2
    assert twin > 2.0 * np.log(2.0)


def test_the_bold_average_is_bayes_rule_and_a_chance_of_change() -> None:
    """Three rounds against the same sums written over all pairs of rate and expert."""
    prior, y = np.array([0.2, 0.8]), [0.0, 1.0, -0.5, 0.25]
    guesses = np.array([[0.0, 0.0], [0.5, -1.0], [0.1, 0.9], [0.3, -0.4]])
    mixture = mix(prior)
    belief = np.tile(prior / 3, (3, 1))
    loss, low, high = 0.0, y[0], y[0]
    step(mixture, guesses[0], y[0])
    for t, (g, label) in enumerate(zip(guesses[1:], y[1:], strict=True), 1):
        g = g.clip(low, high)
        loss += (label - belief.sum(axis=0) @ g) ** 2
        belief *= stats.t.pdf((label - g) / np.sqrt(loss / t), df=9)
        belief /= belief.sum()
        for r, rate in enumerate(RATES):
            stay = 1.0 - max(rate, 1.0 / (t + 1))
            belief[r] = stay * belief[r] + (1.0 - stay) * belief[r].sum() * prior
        step(mixture, guesses[t], label)
        low, high = min(low, label), max(high, label)
        np.testing.assert_allclose(mixture.belief, belief, atol=3e-6)  # ANEW = 1e-6 a round
        np.testing.assert_allclose(mixture.belief.sum(), 1.0, rtol=1e-12)


def test_the_bold_average_finds_what_is_hardly_better() -> None:
    """Guesses of 0, and some that scatter by 0.05, for labels that scatter by 0.3 around 0.

    A round tells against the second by 0.05^2 / (2 * 0.09) = 0.014, so a change is noticed after
    1/0.014 = 72 rounds, some 150 with their noise. Who believes in one change in t = 2,000 to 4,000
    rounds, as often to either expert, is wrong with probability 150/3,000/2 = 0.025 to 0.05. The
    broken twin weights by losses over 200 rounds: a lag of 2.8 with a deviation of
    2 * 0.05 * 0.3 * sqrt(200) / 0.18 = 2.4, which is a share of 0.16 in the mean.
    """
    n, wrong, twin = 4_000, list[float](), list[float]()
    for seed in range(3):
        rng = np.random.default_rng(seed)
        guesses = np.column_stack([np.zeros(n), 0.05 * rng.standard_normal(n)])
        y = 0.3 * rng.standard_normal(n)
        mixture = mix([1.0, 1.0])
        play(mixture, guesses[:2_000], y[:2_000])
        for t in range(2_000, n):
            wrong.append(bold_shares(mixture)[1])
            lag = np.diff(((y[t - 200 : t, None] - guesses[t - 200 : t]) ** 2).sum(axis=0))
            twin.append(1.0 / (1.0 + np.exp(lag[0] / 0.18)))
            step(mixture, guesses[t], y[t])
    assert np.mean(wrong) < 0.1 < np.mean(twin)


def test_the_bold_average_follows_a_change() -> None:
    """The expert that was right 600 times is wrong from then on. Guesses scatter by 0.1, so a round
    tells against one that is wrong by 5 log(1 + 1/(9 * 0.01)) = 12: a few rounds, ten at most."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(1_200) < 0.5, -1.0, 1.0)
    guesses = np.column_stack([y, np.zeros(1_200)]) + 0.1 * rng.standard_normal((1_200, 2))
    guesses[600:] = guesses[600:, ::-1]
    mixture = mix([1.0, 1.0])
    play(mixture, guesses[:600], y[:600])
    assert bold_shares(mixture)[0] > 0.99
    play(mixture, guesses[600:610], y[600:610])
    assert bold_shares(mixture)[1] > 0.9
    play(mixture, guesses[610:], y[610:])
    assert bold_shares(mixture)[1] > 0.99
    np.testing.assert_allclose(shares(mixture).sum(), 1.0)


def test_one_label_far_out_tells_little() -> None:
    """A label of 20 deviations and a guess that is 1 nearer to it. Under normal scatter, the
    broken twin, that would be exp(20) in its favour and undo all 300 rounds before."""
    rng = np.random.default_rng(2)
    y = rng.standard_normal(300)
    mixture = mix([1.0, 1.0])
    play(mixture, np.column_stack([np.zeros(300), np.ones(300)]), y)
    behind = np.log(bold_shares(mixture)[1])
    step(mixture, [0.0, 1.0], 20.0)
    assert behind < np.log(bold_shares(mixture)[1]) < behind + 1.0
    assert bold_shares(mixture)[0] > 0.9
    assert behind + (20.0**2 - 19.0**2) / 2.0 > 10.0


def test_an_expert_of_prior_0_is_never_heard() -> None:
    rng = np.random.default_rng(4)
    y = rng.uniform(-1, 1, 300)
    deaf, alone = mix([1.0, 0.0]), mix([1.0])
    for label in y.tolist():
        right = step(deaf, [0.1, label], label)
        assert right == step(alone, [0.1], label)
    assert bold_shares(deaf)[1] == 0.0 == shares(deaf)[1]
    assert bound(deaf, 1) == np.inf


def test_labels_of_any_size() -> None:
    for unit in (1e-150, 1.0, 1e149):
        rng = np.random.default_rng(1)
        y = rng.uniform(-1, 1, 100)
        mixture = mix([1.0, 1.0])
        loss, _ = play(mixture, unit * np.column_stack([y, -y]), unit * y)
        assert np.isfinite(loss)


@pytest.mark.parametrize("prior", [[], [0.0, 0.0], [0.5, -0.1], [np.nan], [np.inf], [[1.0]]])
def test_a_prior_must_be_numbers_some_of_them_positive(prior: list[float]) -> None:
    with pytest.raises(kh.ProblemError, match="at least one positive"):
        mix(prior)


def test_recent_losses_fade_and_the_bound_is_the_printed_one() -> None:
    """recent = sum (1 - 1/200)^age (y - guess)^2; bound = 2 Y^2 log(1/prior), prior by hand."""
    mixture, labels = mix([1.0, 3.0], bold=0.6), [1.0, -3.0, 0.0, 2.0, -1.0]
    guesses = [[9.0, 9.0], [1.0, 1.0], [0.5, -1.0], [2.0, 1.0], [-9.0, 0.0]]
    cut = [[1.0, 1.0], [1.0, 1.0], [0.5, -1.0], [1.0, 1.0], [-3.0, 0.0]]  # at the labels before
    for y, guess in zip(labels, guesses, strict=True):
        step(mixture, guess, y)
    recent, losses = np.zeros(2), np.zeros(2)
    for y, guess in zip(labels[1:], cut[1:], strict=True):  # the first label is charged to no one
        recent = 0.995 * recent + (y - np.array(guess)) ** 2
        losses += (y - np.array(guess)) ** 2
    np.testing.assert_allclose(mixture.recent, recent)
    np.testing.assert_allclose(mixture.losses[:2], losses)
    Y = (2.0 + 3.0) / 2
    assert bound(mixture, 0) == pytest.approx(2 * Y**2 * np.log(1 / (0.4 * 0.25)))
    assert bound(mixture, 1) == pytest.approx(2 * Y**2 * np.log(1 / (0.4 * 0.75)))
    assert bound(mixture, 2) == pytest.approx(2 * Y**2 * np.log(1 / 0.6))
    assert bound(mix([1.0, 0.0]), 1) == np.inf
    level = mix([1.0, 1.0])
    step(level, [0.0, 0.0], 4.0)
    assert bound(level, 0) == 0.0


def test_shares_are_by_loss_in_units_of_the_range() -> None:
    """prior exp(-L / (2 Y^2)) over all, the bold average's part by its own belief."""
    mixture = mix([1.0, 3.0, 0.0], bold=0.5)
    mixture.losses[:] = [2.0, 5.0, 0.0, 3.0]
    mixture.span[:] = -1.0, 3.0
    mixture.belief[:] = np.array([0.25, 0.75, 0.0]) / len(RATES)
    weight = np.array([0.125, 0.375, 0.0, 0.5]) * np.exp(-mixture.losses / 8.0)
    weight /= weight.sum()
    expected = weight[:3] + weight[3] * np.array([0.25, 0.75, 0.0])
    np.testing.assert_allclose(shares(mixture), expected)
    np.testing.assert_allclose(bold_shares(mixture), [0.25, 0.75, 0.0])
    mixture.span[:] = 2.0, 2.0  # no range yet: as the prior says
    np.testing.assert_allclose(shares(mixture), [0.25, 0.75, 0.0])


def test_experts_far_behind_are_not_heard_and_predictions_are_the_formula() -> None:
    """y_hat = middle + (Y/2) (log sum p e^(-(lag + (1-g)^2)/2) - log sum p e^(-(lag + (1+g)^2)/2)).

    A lag above 100 (in units of Y^2) is left out, which the last bits do not notice.
    """
    mixture = mix([1.0, 1.0, 2.0], bold=0.2)
    mixture.losses[:] = [50.0, 58.0, 1e9, 51.0]
    mixture.span[:] = -3.0, 5.0
    guesses = np.array([1.0, -9.0, 4.0, 0.0])
    cut = np.array([1.0, -3.0, 4.0])
    bold = float(np.array([0.25, 0.25, 0.5]) @ cut)
    g, lag = (np.append(cut, bold) - 1.0) / 4.0, (mixture.losses - 50.0) / 16.0
    prior = np.array([0.2, 0.2, 0.4, 0.2])
    above = float((prior * np.exp(-0.5 * (lag + (1 - g) ** 2))).sum())
    below = float((prior * np.exp(-0.5 * (lag + (1 + g) ** 2))).sum())
    expected = 1.0 + 2.0 * np.log(above / below)
    assert predict(mixture, guesses) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(guesses, [1.0, -3.0, 4.0, bold])
