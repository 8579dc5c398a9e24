"""What every simulated stream promises: bounds, the same rows every time, a prefix that stays."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from keyhole.problem import Floats, ProblemError
from keyhole.streams.arrays import GeneratedStream, LabelledRows, collect, take
from keyhole.streams.clinic import clinic
from keyhole.streams.designs import (
    binary,
    bounded,
    factor,
    gaussian,
    heavy_tailed,
    student,
    toeplitz,
)
from keyhole.streams.drift import drifting, leaders, sign_flips, switching
from keyhole.streams.simulate import CHUNK, Simulated, Truth, keyed, linear, room
from keyhole.streams.synthetic import (
    dense,
    ill_conditioned,
    needle,
    nonlinear,
    padded_hard,
    realizable,
)

Maker = Callable[[int, int], Simulated]  # (n, seed)

AGNOSTIC: dict[str, Maker] = {
    "dense": lambda n, seed: dense(12, n, seed=seed),
    "nonlinear": lambda n, seed: nonlinear(12, n, seed=seed),
    "needle": lambda n, seed: needle(12, n, seed=seed),
    "ill_conditioned": lambda n, seed: ill_conditioned(12, 2, n, seed=seed),
    "switching": lambda n, seed: switching(24, 4, n, seed=seed),
    "drifting": lambda n, seed: drifting(12, n, seed=seed),
    "sign_flips": lambda n, seed: sign_flips(12, n, seed=seed),
    "leaders": lambda n, seed: leaders(12, n, seed=seed),
}
ALL: dict[str, Maker] = {
    **AGNOSTIC,
    "realizable": lambda n, seed: realizable(12, 3, n, seed=seed),
    "realizable toeplitz": lambda n, seed: realizable(12, 3, n, design=toeplitz(0.5), seed=seed),
    "realizable factor": lambda n, seed: realizable(12, 3, n, design=factor(0.4), seed=seed),
    "realizable heavy": lambda n, seed: realizable(
        12, 3, n, design=heavy_tailed(spread=10.0), noise=student(3), seed=seed
    ),
    "linear": lambda n, seed: linear([0.5, 0, 0.5], n, intercept=0.5, design=binary(), seed=seed),
    "padded_hard": lambda n, seed: padded_hard(12, 3, 1100, n - 1100, seed=seed),
    "clinic": lambda n, seed: clinic(n, seed=seed),
}


def same(a: LabelledRows, b: LabelledRows) -> None:
    np.testing.assert_array_equal(a[0], b[0])
    np.testing.assert_array_equal(a[1], b[1])


@pytest.mark.parametrize("name", ALL)
def test_every_pass_gives_the_same_rows_in_blocks_of_any_size(name: str) -> None:
    stream = ALL[name](1300, 3).stream
    whole = collect(stream)
    assert whole[0].shape == (1300, stream.d)
    assert stream.rounds == len(whole[1]) == 1300
    same(whole, collect(stream))
    same(whole, collect(ALL[name](1300, 3).stream))
    for rows in (7, 1024, 5000):
        blocks = list(stream.blocks(rows))
        assert max(len(y) for _, y in blocks) <= rows
        same(
            whole, (np.concatenate([X for X, _ in blocks]), np.concatenate([y for _, y in blocks]))
        )
    single = list(stream)
    same(whole, (np.array([x for x, _ in single]), np.array([y for _, y in single])))


@pytest.mark.parametrize("name", ALL)
def test_two_passes_at_once_do_not_disturb_each_other(name: str) -> None:
    stream = ALL[name](1200, 3).stream
    for (x1, y1), (x2, y2) in zip(stream, stream, strict=True):
        assert y1 == y2
        np.testing.assert_array_equal(x1, x2)


@pytest.mark.parametrize("name", ALL)
def test_the_first_rows_do_not_depend_on_how_many_follow(name: str) -> None:
    short, long = ALL[name](1500, 3).stream, ALL[name](4100, 3).stream
    same(collect(short), collect(take(long, 1500)))


@pytest.mark.parametrize("name", ALL)
def test_the_seed_matters(name: str) -> None:
    X1, y1 = collect(ALL[name](1200, 0).stream)
    X2, y2 = collect(ALL[name](1200, 1).stream)
    assert not np.array_equal(X1, X2)
    assert not np.array_equal(y1, y2)
    assert not np.array_equal(X1[:100], X1[CHUNK : CHUNK + 100]), "chunks must not repeat"


@pytest.mark.parametrize("name", [name for name in ALL if name != "clinic"])
def test_features_are_bounded_and_the_truth_is_well_formed(name: str) -> None:
    stream, truth = ALL[name](3000, 3)
    X, y = collect(stream)
    assert np.abs(X).max() <= 1.0
    assert np.isfinite(y).all()
    assert truth.weights.shape == (stream.d,)
    assert (np.diff(truth.support) > 0).all()
    outside = np.delete(truth.weights, truth.support)
    assert not outside.any()
    if name != "ill_conditioned":
        assert np.abs(truth.weights).sum() <= 1.0 + 1e-12
    with pytest.raises(ValueError, match="read-only"):
        truth.weights[0] = 5.0


@pytest.mark.parametrize("name", AGNOSTIC)
def test_labels_of_agnostic_streams_stay_in_range(name: str) -> None:
    for seed in range(5):
        _, y = collect(AGNOSTIC[name](3000, seed).stream)
        assert np.abs(y).max() <= 1.0


def test_a_long_stream_costs_nothing_until_it_is_read() -> None:
    stream = realizable(10, 2, 10**12).stream
    X, _ = next(iter(stream.blocks()))
    assert len(X) == CHUNK


def test_the_truth_knows_the_weights_of_every_round() -> None:
    a, b = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    changing = Truth((a + b) / 2, np.arange(2), 0.0, 0.0, ((1, a), (5, b)))
    assert [changing.at(t) is b for t in (1, 4, 5, 100)] == [False, False, True, True]
    fixed = Truth(a, np.arange(1), 0.0, 0.0)
    assert fixed.at(7) is a


def test_one_seed_gives_one_truth_whatever_the_design() -> None:
    a = realizable(30, 4, 10, seed=5).truth.weights
    b = realizable(30, 4, 10, design=toeplitz(0.5), noise_sd=0.0, seed=5).truth.weights
    np.testing.assert_array_equal(a, b)


def test_keys_are_independent() -> None:
    draws = {keyed(*key).random() for key in [(0,), (1,), (0, 0), (0, 1), (0, 0, 0), (0, 2, 1)]}
    assert len(draws) == 6


def check_noise(stream: GeneratedStream, truth: Truth) -> None:
    """The residuals of the truth have mean 0 and the standard deviation it says."""
    X, y = collect(stream)
    e = (y - truth.intercept - X @ truth.weights) / truth.noise_sd
    # Gaussian, n = 2^15, L = ln(4 / 1e-6): |mean| <= sqrt(2 L / n) = 0.030, and for the mean square
    # (Laurent and Massart) |mean square - 1| <= 2 sqrt(L / n) + 2 L / n = 0.044.
    n, log = len(y), math.log(4 / 1e-6)
    assert abs(e.mean()) < math.sqrt(2 * log / n)
    assert abs((e**2).mean() - 1.0) < 2 * math.sqrt(log / n) + 2 * log / n


def variance_for_sd(n: int, rng: np.random.Generator) -> Floats:
    return 0.2 * gaussian(n, rng)


def test_the_noise_is_as_loud_as_it_says() -> None:
    check_noise(*linear([0.5, -0.5], 2**15, intercept=0.3, noise_sd=0.2))
    with pytest.raises(AssertionError):
        check_noise(*linear([0.5, -0.5], 2**15, noise_sd=0.2, noise=variance_for_sd))


def test_room_is_what_uniform_noise_leaves() -> None:
    loudest = np.abs(bounded(10**5, np.random.default_rng(0))).max()
    assert room(0.2) + 0.2 * loudest <= 1.0
    assert room(0.2) + 0.2 * loudest > 0.999


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: realizable(0, 1, 10), "d must be at least 1, got 0"),
        (lambda: realizable(5, 6, 10), "k must be at most d = 5, got 6"),
        (lambda: realizable(5, 2, 0), "n must be at least 1, got 0"),
        (lambda: realizable(5, 2, 1.5), "n must be a whole number, got 1.5"),  # type: ignore[arg-type]
        (lambda: realizable(5, 2, 10, noise_sd=-1), "noise_sd must be at least 0"),
        (lambda: realizable(5, 2, 10, seed=-1), "seed must be at least 0, got -1"),
        (lambda: linear([], 10), "weights must be a flat list of finite numbers"),
        (lambda: linear([[1.0]], 10), "weights must be a flat list"),
        (lambda: linear([math.nan], 10), "weights must be a flat list of finite"),
        (lambda: linear([1.0], 10, intercept=math.inf), "intercept must be finite, got inf"),
        (lambda: linear([1.0], 10, seed=-2), "seed must be at least 0, got -2"),
    ],
)
def test_senseless_arguments_are_refused_at_once(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        make()


def test_linear_streams_have_a_little_noise_and_no_constant_unless_told() -> None:
    stream, truth = linear([0.5, 0.0], 40, seed=3)
    assert (truth.noise_sd, truth.intercept, truth.support.tolist()) == (0.1, 0.0, [0])
    told, _ = linear([0.5, 0.0], 40, seed=3, noise_sd=0.1, intercept=0.0)
    assert [y for _, y in stream] == [y for _, y in told]
