"""The mixture's bound, for every sequence; the bold mixture follows changes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keyhole as kh
from keyhole.blocks.mixture import Mixture, bold_shares, bound, mix, shares, step


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


@settings(max_examples=300, deadline=None)
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


def test_the_bold_mixture_follows_a_change_within_its_window() -> None:
    rng = np.random.default_rng(0)
    y = rng.uniform(-1, 1, 1_200)
    guesses = np.column_stack([y, np.zeros(1_200)])
    guesses[600:] = guesses[600:, ::-1]
    mixture = mix([1.0, 1.0])
    play(mixture, guesses[:600], y[:600])
    assert bold_shares(mixture)[0] > 0.99
    play(mixture, guesses[600:], y[600:])
    assert bold_shares(mixture)[1] > 0.99
    np.testing.assert_allclose(shares(mixture).sum(), 1.0)


def test_labels_of_any_size() -> None:
    for unit in (1e-150, 1.0, 1e149):
        rng = np.random.default_rng(1)
        y = rng.uniform(-1, 1, 100)
        mixture = mix([1.0, 1.0])
        loss, _ = play(mixture, unit * np.column_stack([y, -y]), unit * y)
        assert np.isfinite(loss)


def test_a_prior_must_be_positive() -> None:
    with pytest.raises(kh.ProblemError, match="positive"):
        mix([0.5, 0.0])
