"""Rules of simulated streams on a few rows: what a label must be, given its row and the truth."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from keyhole import streams
from keyhole.problem import ProblemError
from keyhole.streams.clinic import TESTS
from keyhole.streams.designs import uniform
from keyhole.streams.simulate import Truth


def firsts(truth: Truth) -> list[int]:
    return [first for first, _ in truth.path]


@pytest.mark.parametrize(("n", "changes"), [(1, [1]), (4, [1]), (5, [1, 5]), (6, [1, 5])])
def test_a_change_that_is_due_in_the_last_round_is_on_the_path(n: int, changes: list[int]) -> None:
    assert firsts(streams.sign_flips(6, n, period=4).truth) == changes
    assert firsts(streams.drifting(6, n, hold=4).truth) == changes
    assert firsts(streams.leaders(6, n, first_phase=4).truth) == changes


def test_segments_of_one_round_change_in_every_round() -> None:
    assert firsts(streams.switching(4, 1, 7, supports=2, mean_length=1).truth) == list(range(1, 8))
    assert firsts(streams.leaders(4, 7, first_phase=1, growth=1.0).truth) == list(range(1, 8))


def test_weights_rotate_by_the_round_and_not_by_the_place_on_the_path() -> None:
    """w_t = c/m cos(2 pi t / period + phase): the phase of the first entry gives all others."""
    truth = streams.drifting(5, 60, periods=(24.0,), hold=5, noise_sd=0.1, seed=3).truth
    size, j = 1.0 - math.sqrt(3.0) * 0.1, truth.support[0]
    w = np.array([weights[j] for _, weights in truth.path])
    # cos a and cos(a + h) determine the sine of a: cos(a + h) = cos a cos h - sin a sin h.
    step = 2.0 * math.pi * 5 / 24
    cosine = w[0] / size
    sine = (cosine * math.cos(step) - w[1] / size) / math.sin(step)
    assert cosine**2 + sine**2 == pytest.approx(1.0)
    angles = math.atan2(sine, cosine) + step * np.arange(len(w))
    np.testing.assert_allclose(w, size * np.cos(angles), atol=1e-9)


def test_a_needle_of_correlation_1_is_the_label() -> None:
    stream, truth = streams.needle(6, 200, correlations=[1.0], seed=2)
    X, y = streams.collect(stream)
    (j,) = truth.support
    np.testing.assert_array_equal(y, X[:, j] * truth.weights[j])
    assert truth.noise_sd == 0.0


def test_needles_may_add_up_to_1_and_to_no_more() -> None:
    sizes = (0.7, 0.2, 0.1)
    truth = streams.needle(3, 1, correlations=sizes).truth
    assert sorted(np.abs(truth.weights)) == sorted(sizes)
    assert truth.noise_sd == pytest.approx(math.sqrt(1.0 - 0.54))
    assert truth.intercept == 0.0
    with pytest.raises(ProblemError, match="add up to at most 1"):
        streams.needle(3, 1, correlations=(0.7, 0.2, 0.1 + 1e-9))


def test_a_needle_that_sways_nothing_is_a_fair_coin() -> None:
    """2,000 fair signs: |mean| < sqrt(2 ln(2e6) / 2000) = 0.12 but for 1e-6 (Hoeffding)."""
    _, y = streams.collect(streams.needle(2, 2000, correlations=[0.0], seed=1).stream)
    assert abs(y.mean()) < 0.12
    assert set(y.tolist()) == {-1.0, 1.0}


def test_the_curved_rule_is_as_written() -> None:
    """Without noise the label is the rule of five features, in one of their 120 orders."""
    stream, truth = streams.nonlinear(7, 40, design=uniform, noise_sd=0.0, seed=4)
    X, y = streams.collect(stream)

    def rule(a: int, b: int, c: int, d: int, e: int) -> bool:
        steep = 0.4 * np.tanh(3.0 * X[:, a]) + 0.3 * np.sin(math.pi * X[:, b] / 2.0)
        curved = 0.2 * X[:, c] * X[:, d] + 0.1 * (2.0 * np.abs(X[:, e]) - 1.0)
        return bool(np.allclose(y, steep + curved, rtol=0.0, atol=1e-12))

    orders = [o for o in itertools.permutations(truth.support.tolist()) if rule(*o)]
    assert len(orders) == 2  # c and d may change places
    # Its line: weights where the rule has a slope, a constant where it has none. Over uniform x,
    # cov(tanh 3x, x) / var(x) is an integral; the product and |x| have no slope. 20,000 rows
    # leave errors of about 0.3 / sqrt(20,000) = 0.002; six of that.
    a, b, c, d, e = orders[0]
    x = (np.arange(100_000) + 0.5) / 50_000 - 1.0
    steep = 0.4 * 3.0 * float(np.mean(np.tanh(3.0 * x) * x))
    wave = 0.3 * 3.0 * float(np.mean(np.sin(math.pi * x / 2.0) * x))
    np.testing.assert_allclose(
        truth.weights[[a, b, c, d, e]], [steep, wave, 0.0, 0.0, 0.0], atol=0.012
    )
    assert abs(truth.intercept) < 0.012


def test_the_clinic_has_4000_patients_unless_told() -> None:
    stream, _ = streams.clinic()
    assert stream.rounds == 4000
    assert stream.d == len(TESTS)
    first, y = next(iter(stream))
    others = next(iter(streams.clinic(1, seed=0).stream))
    np.testing.assert_array_equal(first, others[0])
    assert y == others[1]


def test_days_in_hospital_are_the_weights_and_uniform_noise() -> None:
    """Where no test failed, the label is off by at most sqrt(3) noise_sd, and nearly by that."""
    stream, truth = streams.clinic(1000)
    X, y = streams.collect(stream)
    whole = ~np.isnan(X).any(axis=1)
    off = y[whole] - truth.intercept - X[whole] @ truth.weights
    most = math.sqrt(3.0) * truth.noise_sd
    # Some 500 uniform numbers: all within 95 % of the most with probability 0.95^500 < 1e-11.
    assert 0.95 * most < np.abs(off).max() <= most + 1e-9
    assert whole.sum() > 300


def test_hard_rounds_come_first_and_padding_after() -> None:
    stream, truth = streams.padded_hard(9, 3, 4, 3, set_size=2, noise_sd=0.0, seed=5)
    X, y = streams.collect(stream)
    assert stream.rounds == 7
    np.testing.assert_allclose(y, X @ truth.weights, atol=1e-15)
    assert (np.abs(X[:4, truth.support]).sum(axis=1) == 1.0).all()
    np.testing.assert_array_equal(np.abs(X[4:]), 1.0)
    np.testing.assert_allclose(truth.weights[truth.support], 1.0 / 3.0)
