"""Features that bend, by value: which are listed, and which never are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from keyhole.learners.blocks.shapes.bent import find_bent
from keyhole.learners.blocks.shapes.seats import Window
from keyhole.problem import Floats
from tests.helpers import bent_transcription

D, ROWS = 8, 900


def listed(
    X: Floats, missed: Floats, room: int = 4, d: int = D, y: Floats | None = None
) -> list[int]:
    """What is found in complete rows, NaN where a value is absent; labels are `missed` or y."""
    features = np.tile(np.arange(X.shape[1], dtype=np.int32), (len(X), 1))
    out = np.zeros(room, dtype=np.int64)
    window = Window(features, X, missed if y is None else y, len(X), len(X))
    find_bent(window, d, missed.copy(), out)
    found = [j for j in out.tolist() if j >= 0]
    assert out.tolist() == found + [-1] * (room - len(found))
    return found


def rows(seed: int, n: int = ROWS) -> tuple[Floats, Floats, np.random.Generator]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    X[:, 5], X[:, 6], X[:, 7] = 3.0, rng.random(n) < 0.5, 2.0
    return X, rng.standard_normal(n), rng


def test_the_strongest_comes_first_and_lines_do_not_bend() -> None:
    X, noise, _ = rows(0)
    missed = noise + 2.0 * np.abs(X[:, 3]) + X[:, 1] ** 2 / 2.0 + 3.0 * X[:, 2] + 2.0 * X[:, 6]
    assert listed(X, missed) == [3, 1]
    assert listed(X, missed, room=1) == [3]
    assert listed(X, noise + 3.0 * X[:, 2]) == []


def test_by_what_a_line_says_lines_decide() -> None:
    X, noise, _ = rows(0)
    missed = noise + 2.0 * np.abs(X[:, 3])
    assert listed(X, missed, y=missed + 0.3 * X[:, 3]) == [3]
    assert listed(X, missed, y=missed + 3.0 * X[:, 3]) == []


def test_a_copy_is_not_listed_twice() -> None:
    """What the first explains is taken out; most of a feature that goes with it is gone then."""
    X, noise, rng = rows(1)
    X[:, 0] = X[:, 3] + 0.05 * rng.standard_normal(ROWS)
    assert len(listed(X, noise + np.abs(X[:, 3]))) == 1


def test_noise_is_seldom_taken_for_a_shape() -> None:
    """Of 8 features of which 5 may bend, in 200 windows: fewer than 5 times, as z > 3 is rare."""
    false = sum(len(listed(X, noise)) for X, noise, _ in map(rows, range(200)))
    assert false < 5


def test_what_older_and_newer_reads_do_not_agree_on_is_chance() -> None:
    X, noise, _ = rows(2)
    curve = 2.0 * np.abs(X[:, 3])
    assert listed(X, noise + curve) == [3]
    curve[: ROWS // 2] *= -1.0
    assert listed(X, noise + curve - curve.mean()) == []


def test_a_frequent_value_has_a_bin_of_its_own() -> None:
    """Nine in ten are 0, and 0 lies amid the others: nothing but [x = 0] matters."""
    X, noise, rng = rows(3)
    X[:, 4] = np.where(rng.random(ROWS) < 0.6, 0.0, X[:, 4])
    assert listed(X, noise + 2.0 * (X[:, 4] == 0.0)) == [4]


@pytest.mark.parametrize("n", [63, 64])
def test_so_many_values_are_needed(n: int) -> None:
    X, _, rng = rows(4, n)
    missed = 5.0 * np.abs(X[:, 3]) + 0.01 * rng.standard_normal(n)
    assert listed(X, missed) == ([3] if n == 64 else [])


@pytest.mark.parametrize("scale", [0.0, 1e-140, 1e140, 1e300])
@pytest.mark.parametrize("size", [0.0, 1e-140, 1e140, 1e300])
def test_no_scale_does_harm(scale: float, size: float) -> None:
    X, noise, _ = rows(5)
    found = listed(scale * X, size * (noise + 2.0 * np.abs(X[:, 3])))
    assert set(found) <= {3}


def games() -> Iterator[tuple[Floats, Floats, Floats]]:
    """Values, what is missed, labels: curves, lines, a frequent value, copies, rows far off."""
    for seed in range(8):
        X, noise, rng = rows(seed)
        X[:, 4] = np.where(rng.random(ROWS) < 0.6, 0.3, X[:, 4])
        X[:, 0] = X[:, 3] + 0.3 * rng.standard_normal(ROWS)
        missed = noise + 3.0 * np.abs(X[:, 3]) + X[:, 1] ** 2 / 4.0 + 1.2 * (X[:, 4] == 0.3)
        missed += np.where(rng.random(ROWS) < 0.01, 9.0, 0.0) + X[:, 6]
        missed += 0.4 * (seed % 4) * np.sign(np.arange(ROWS) - 300) * np.abs(X[:, 2])
        labels = missed + (seed % 2) * 3.0 * X[:, 3]
        missed = missed + X[:, 2]
        X[rng.random(X.shape) < 0.2 * (seed % 3)] = np.nan
        labels[np.isnan(labels)] = missed[np.isnan(missed)] = 0.0
        yield X, missed, labels


def by_the_rules(X: Floats, missed: Floats, labels: Floats, bug: str = "") -> list[int]:
    there = [{j: v for j, v in enumerate(row) if v == v} for row in X[::-1].tolist()]
    told = there, missed[::-1].tolist(), labels[::-1].tolist()
    return bent_transcription.find_bent(*told, D, 4, bug)


def test_they_are_those_of_the_rules() -> None:
    found = [listed(X, missed, y=y) for X, missed, y in games()]
    assert found == [by_the_rules(*game) for game in games()]
    assert sum(map(bool, found)) >= 4


@pytest.mark.parametrize("bug", bent_transcription.BUGS)
def test_a_mistake_in_the_rules_is_noticed(bug: str) -> None:
    found = [listed(X, missed, y=y) for X, missed, y in games()]
    assert found != [by_the_rules(*game, bug) for game in games()]
