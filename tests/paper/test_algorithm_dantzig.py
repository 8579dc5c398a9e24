"""`algorithm:dantzig`: the printed algorithm, slow and line by line, against `DantzigLearner`.

The transcription below keeps X_hat as a t x d matrix and D_hat as printed, and has its programs
solved by scipy: it shares nothing with the learner but the draws of S_t. With
weighting="paper" the tickets must be the same, and the predictions up to what two solvers and two
orders of addition make of the last digits.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import linprog

import keyhole as kh
from keyhole.learners.blocks.draw.sampling import uniform_subset
from keyhole.problem import Floats


@dataclass(frozen=True)
class Game:
    """Numbers of one game: the paper's T, d, k, k0 + k, sigma, delta, C, t0."""

    d: int
    k: int
    budget: int
    seed: int
    T: int = 300
    sigma: float = 0.1
    delta: float = 0.05
    C: float = 0.02
    t0: int = 20

    @property
    def k0(self) -> int:
        return self.d if self.budget == self.d else self.budget - self.k

    def data(self) -> tuple[Floats, Floats]:
        """Correlated features with a density, so that no program has two solutions."""
        stream, _ = kh.streams.realizable(
            self.d, self.k, self.T, design=kh.streams.designs.toeplitz(0.5), seed=self.seed
        )
        X, y = kh.streams.collect(stream)
        return X.astype(np.float64), y

    def learner(self, weighting: str = "paper") -> kh.DantzigLearner:
        return kh.DantzigLearner(
            kh.Problem(self.d, self.k, self.budget),
            seed=self.seed,
            noise_sd=self.sigma,
            threshold_scale=self.C,
            failure_probability=self.delta,
            burn_in=self.t0,
            weighting=weighting,
        )


@dataclass(frozen=True)
class Transcript:
    """What was bought in each round, and what was predicted."""

    tickets: list[list[int]]
    predictions: Floats

    def same_as(self, other: "Transcript") -> bool:
        """Tickets exactly, predictions to 1e-9: labels are of size 1, solvers good to 1e-10."""
        return self.tickets == other.tickets and np.allclose(
            self.predictions, other.predictions, rtol=0, atol=1e-9
        )


@dataclass(frozen=True)
class Printed:
    """Every place where `algorithm:dantzig` is easily got wrong, right as it stands here."""

    solves_at: Callable[[int, int], bool] = lambda t, t0: t > t0 and math.log2(t) % 1 == 0
    rows_known: Callable[[int], int] = lambda t: t - 1
    logarithm: Callable[[int, int, float], float] = lambda t, d, delta: math.log(t * d / delta)
    D_factor: Callable[[int, int], float] = lambda d, k0: 1 - k0 / d


def conv_prog(X_hat: Floats, Y: Floats, game: Game, printed: Printed) -> Floats:
    """`equation:conv.prog`, with t the number of rows."""
    t, d, k0 = len(Y), game.d, game.k0
    D_hat = printed.D_factor(d, k0) * np.diag(np.diag(X_hat.T @ X_hat))  # equation:diag.bias
    A = (X_hat.T @ X_hat - D_hat) / t
    b = X_hat.T @ Y / t
    logarithm = printed.logarithm(t, d, game.delta)
    right = game.C * math.sqrt(d * logarithm / (t * k0)) * (game.sigma + d / k0)
    # w = p - m with p, m >= 0; |b - A w| <= right is A w <= right + b and -A w <= right - b.
    answer = linprog(
        np.ones(2 * d),
        A_ub=np.block([[A, -A], [-A, A]]),
        b_ub=np.concatenate([right + b, right - b]),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert answer.status == 0, answer.message
    p_and_m: Floats = np.array(answer.x, dtype=np.float64)
    return p_and_m[:d] - p_and_m[d:]


def algorithm_dantzig(game: Game, printed: Printed | None = None) -> Transcript:
    """`algorithm:dantzig` for OSLR: beside S_t the support of w_t is queried."""
    printed = printed or Printed()
    X, y = game.data()
    d, k, k0 = game.d, game.k, game.k0
    X_hat, w = np.zeros((game.T, d)), np.zeros(d)
    sets = [uniform_subset(game.seed, t, d, k0) for t in range(1, game.T + 1)]
    tickets, predictions = [], []
    for t in range(1, game.T + 1):
        S, x = sets[t - 1], X[t - 1]
        X_hat[t - 1, S] = d / k0 * x[S]  # equation:unbiased-estimate
        if printed.solves_at(t, game.t0):
            n = printed.rows_known(t)
            # "We define w_hat_1 = 0".
            w_hat = conv_prog(X_hat[:n], y[:n], game, printed) if n else np.zeros(d)
            order = sorted(range(d), key=lambda i: (-abs(w_hat[i]), i))
            S_tilde = order[:k]
            w = np.zeros(d)
            w[S_tilde] = w_hat[S_tilde]  # equation:top-k-coordinates
        tickets.append(sorted({*S.tolist(), *np.flatnonzero(w).tolist()}))
        predictions.append(float(w @ x))
    return Transcript(tickets, np.array(predictions))


def by_rounds(game: Game, learner: kh.DantzigLearner) -> Transcript:
    rounds = list(kh.rounds(learner, kh.streams.ArrayStream(*game.data())))
    return Transcript([r.features.tolist() for r in rounds], np.array([r.y_hat for r in rounds]))


def by_blocks(game: Game, learner: kh.DantzigLearner) -> Transcript:
    """Blocks cut at random places, which are not the learner's own."""
    X, y = game.data()
    cuts = np.sort(np.random.default_rng(game.seed).choice(game.T, 7, replace=False))
    tickets: list[list[int]] = []
    predictions = []
    for rows in np.split(np.arange(game.T), cuts):
        bought = np.full((len(rows), game.budget), -1, dtype=np.int32)
        predictions.append(learner.advance(X[rows], y[rows], bought))
        tickets += [[j for j in row if j >= 0] for row in bought.tolist()]
    return Transcript(tickets, np.concatenate(predictions))


GAMES = [
    Game(d=8, k=2, budget=5, seed=1),
    Game(d=12, k=3, budget=9, seed=2),
    Game(d=20, k=2, budget=12, seed=3, T=600),
    Game(d=10, k=1, budget=4, seed=4, t0=32, delta=0.2),
    Game(d=6, k=2, budget=6, seed=5, t0=0),  # everything is read: k0 = d, D_hat = 0
    Game(d=9, k=3, budget=4, seed=6),  # k0 = 1: off the diagonal there is nothing
    Game(d=7, k=7, budget=7, seed=7, sigma=0.3),
]


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_the_transcript_is_that_of_the_printed_algorithm(game: Game) -> None:
    expected = algorithm_dantzig(game)
    learner = game.learner()
    singly = by_rounds(game, learner)
    assert singly.same_as(expected)
    # Something was learnt, more than k coordinates were cut down to k, no program was infeasible.
    log = learner.diagnostics
    assert log.solves == sum(t & (t - 1) == 0 for t in range(max(game.t0, 1) + 1, game.T + 1))
    assert (log.infeasible, log.unsolved) == (0, 0)
    assert expected.predictions.any()
    assert not expected.predictions[: game.t0].any()

    blocks = by_blocks(game, game.learner())
    assert blocks.tickets == singly.tickets
    np.testing.assert_array_equal(blocks.predictions, singly.predictions)  # to the last bit

    X, y = game.data()
    ledger = kh.play(game.learner(), kh.streams.ArrayStream(X, y))
    np.testing.assert_array_equal(ledger.predictions, singly.predictions)
    reads = np.bincount([j for ticket in expected.tickets for j in ticket], minlength=game.d)
    np.testing.assert_array_equal(ledger.reads, reads)
    assert ledger.most_reads <= game.budget


def test_truncation_had_something_to_cut() -> None:
    assert any(g.learner().problem.k < _nonzeros(g) for g in GAMES)


def _nonzeros(game: Game) -> int:
    learner = game.learner()
    learner.advance(*game.data())
    return learner.diagnostics.nonzeros


TWINS = {
    "solves at t0 already": Printed(
        solves_at=lambda t, t0: t == t0 or (t > t0 and t & (t - 1) == 0)
    ),
    "knows the round it is about to predict": Printed(rows_known=lambda t: t),
    "log(d/delta)": Printed(logarithm=lambda t, d, delta: math.log(d / delta)),
    "the factor of D for that of D_hat": Printed(D_factor=lambda d, k0: d / k0 - 1),
    "no D_hat": Printed(D_factor=lambda d, k0: 0.0),
}


@pytest.mark.parametrize("twin", TWINS)
def test_broken_twins_have_another_transcript(twin: str) -> None:
    for game in GAMES[:4]:
        wrong = algorithm_dantzig(game, TWINS[twin])
        assert not wrong.same_as(by_rounds(game, game.learner()))


@pytest.mark.parametrize("game", GAMES[:4], ids=str)
def test_the_exact_weighting_has_another_transcript(game: Game) -> None:
    assert not by_rounds(game, game.learner("exact")).same_as(algorithm_dantzig(game))
