"""How many rounds are played: limits inside a block, at its end, beyond the stream."""

from collections.abc import Iterator

import numpy as np
import pytest

import keyhole as kh
from keyhole.streams.arrays import Block
from keyhole.testing.tools import RowsOnly

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2_500, 6))
Y = X[:, 2] + RNG.standard_normal(2_500)
PROBLEM = kh.Problem(d=6, k=2, budget=3)


class Blocks(kh.streams.ArrayStream):
    """Rows in blocks of 700, so that limits fall inside of blocks and at their ends."""

    def blocks(self, rows: int | None = None) -> Iterator[Block]:
        """Blocks of 700 rows."""
        return super().blocks(700)


@pytest.mark.parametrize("rounds", [0, 1, 699, 700, 701, 1000, 1400, 2500, 9999])
def test_a_limit_is_kept_by_blocks_and_by_rows(rounds: int) -> None:
    expected = min(rounds, 2_500)
    for stream in (Blocks(X, Y), RowsOnly(Blocks(X, Y))):
        learner = kh.RunningMean(PROBLEM)
        ledger = kh.play(learner, stream, rounds=rounds)
        assert (ledger.rounds, learner.round) == (expected, expected)
        before = np.append(0.0, np.cumsum(Y) / np.arange(1, 2_501))[:expected]
        np.testing.assert_allclose(ledger.predictions, before, atol=1e-12)
        loss = float(((Y[:expected] - before) ** 2).sum())
        assert ledger.loss == pytest.approx(loss, rel=1e-9)


def test_a_limit_counts_the_rounds_of_this_game_alone() -> None:
    learner = kh.RunningMean(PROBLEM)
    kh.play(learner, Blocks(X, Y), rounds=300)
    later = kh.play(learner, Blocks(X, Y), rounds=1000)
    assert (later.first_round, later.rounds, learner.round) == (301, 1000, 1300)
