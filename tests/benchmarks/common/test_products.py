"""Products and powers of columns: the right numbers, and played as the rows written out are."""

import numpy as np

import keyhole as kh
from benchmarks.common.files import standardised
from benchmarks.common.products import ProductStream
from keyhole.streams import ArrayStream, collect
from keyhole.testing import check_stream

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((300, 3)) * [1.0, 5.0, 0.1] + 2.0, RNG.standard_normal(300)


def stream() -> ProductStream:
    return ProductStream(X, Y, ("a", "b", "c"))


def test_features_are_what_they_are_called() -> None:
    rows, _ = collect(stream())
    z = dict(zip("abc", standardised(X).T, strict=True))
    names = [stream().label(j) for j in range(stream().d)]
    assert len(set(names)) == len(names) == 3 * 4 // 2 + 4 * 3
    for name, column in zip(names, rows.T, strict=True):
        expected = np.ones(300)
        for factor in name.split():
            value = z[factor[0]]
            power = factor.partition("^")[2]
            root = np.sign(value) * np.sqrt(np.abs(value))
            expected = expected * {"": value, "2": value**2, "1/2": root}[power]
        assert np.allclose(column, expected), name


def test_keeps_to_the_rules_and_plays_alike() -> None:
    check_stream(stream)
    problem = kh.Problem(d=stream().d, k=2, budget=5)
    ours = kh.play(kh.AutoLearner(problem), stream(), audit=1.0)
    theirs = kh.play(kh.AutoLearner(problem), ArrayStream(*collect(stream())))
    assert np.array_equal(ours.predictions, theirs.predictions)
    played = [r.y_hat for r in kh.rounds(kh.AutoLearner(problem), stream())]
    assert played == theirs.predictions.tolist()
