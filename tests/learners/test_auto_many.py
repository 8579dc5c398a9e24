"""AutoLearner over more features than its net works out in full: the same game, however played."""

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem import Floats
from keyhole.saving.api import from_bytes, to_bytes

D, ROUNDS = 1_100, 160


def rows() -> tuple[Floats, Floats]:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((ROUNDS, D))
    return X, X[:, 5] - 0.7 * X[:, 900] + 0.3 * rng.standard_normal(ROUNDS)


def play(learner: kh.Learner, X: Floats, y: Floats) -> list[bytes]:
    """Round by round: what was bought, and what was predicted."""
    played = []
    for x, label in zip(X, y, strict=True):
        ticket = learner.ask()
        seen = ticket.fill(x[ticket.features])
        said = np.float64(learner.predict(seen))
        learner.tell(seen, float(label))
        played.append(ticket.features.tobytes() + said.tobytes())
    return played


def new() -> kh.AutoLearner:
    parts = kh.AutoParts(shortest=4, longest=4)  # many batches in few rounds
    return kh.AutoLearner(kh.Problem(D, 2, 24), seed=9, parts=parts)


@pytest.fixture(scope="module")
def whole() -> list[bytes]:
    return play(new(), *rows())


def test_the_net_draws_by_a_tree() -> None:
    learner = new()
    play(learner, *rows())
    odds = learner._state.space.odds
    assert odds.p.size == 0
    assert np.isfinite(odds.rate).all()
    assert (odds.rate < 1.0).all()  # it was built more than once


@pytest.mark.parametrize("at", [0, 1, 7, 50, 121])
def test_saved_at_any_round_it_plays_the_same_to_the_bit(whole: list[bytes], at: int) -> None:
    (X, y), learner = rows(), new()
    play(learner, X[:at], y[:at])
    again = from_bytes(to_bytes(learner))
    assert play(again, X[at:], y[at:]) == whole[at:]
    assert play(learner, X[at:], y[at:]) == whole[at:]
    assert to_bytes(again) == to_bytes(learner)


def test_a_tree_of_another_state_is_noticed(whole: list[bytes]) -> None:
    """Broken twin: after loading, the tree of an earlier round stands where one must be built."""
    (X, y), early, learner = rows(), new(), new()
    play(early, X[:8], y[:8])
    play(learner, X[:80], y[:80])
    again = from_bytes(to_bytes(learner), kh.AutoLearner)
    for mine, its in zip(again._state.space.odds, learner._state.space.odds, strict=True):
        mine[...] = its
    again._state.space.odds.sums[...] = early._state.space.odds.sums
    assert play(again, X[80:], y[80:]) != whole[80:]


def test_block_play_is_single_rounds_to_the_bit(whole: list[bytes]) -> None:
    (X, y), learner = rows(), new()
    bought = np.empty((ROUNDS, 24), dtype=np.int32)
    said = np.concatenate(
        [learner.advance(X[a:b], y[a:b], bought[a:b]) for a, b in ((0, 33), (33, 100), (100, 160))]
    )
    features = bought.astype(np.int64)
    assert [f.tobytes() + p.tobytes() for f, p in zip(features, said, strict=True)] == whole
