"""Algorithm 2 as it comes, as it is printed, and step by step in between, on eight streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import keyhole as kh
from benchmarks.common import Row
from keyhole.learners.blocks.greedy.budgeted_experts import second_order
from keyhole.learners.blocks.greedy.minibatch import RestartAndCarry
from keyhole.learners.blocks.greedy.variants import PAPER, Variant, negative_gains, shared_reads
from keyhole.streams.simulate import Simulated

Maker = Callable[[kh.Problem, int, int], kh.Learner]  # by problem, seed, rounds
SMALL, LARGE = kh.Problem(d=30, k=2, budget=12), kh.Problem(d=100, k=4, budget=24)

STREAMS: dict[str, tuple[kh.Problem, Callable[[int, int], Simulated]]] = {
    "sparse": (SMALL, lambda n, seed: kh.streams.realizable(30, 2, n, noise_sd=0.1, seed=seed)),
    "dense": (LARGE, lambda n, seed: kh.streams.dense(100, n, seed=seed)),
    "nonlinear": (SMALL, lambda n, seed: kh.streams.nonlinear(30, n, seed=seed)),
    "switching": (LARGE, lambda n, seed: kh.streams.switching(100, 4, n, seed=seed)),
    "drifting": (SMALL, lambda n, seed: kh.streams.drifting(30, n, seed=seed)),
    "sign_flips": (SMALL, lambda n, seed: kh.streams.sign_flips(30, n, seed=seed)),
    "needle": (
        kh.Problem(d=300, k=1, budget=12),
        lambda n, seed: kh.streams.needle(300, n, seed=seed),
    ),
    "leaders": (
        kh.Problem(d=10, k=1, budget=4),
        lambda n, seed: kh.streams.leaders(10, n, seed=seed),
    ),
}


def printed(parts: Variant) -> Maker:
    """Batches of 50 rounds and the default number of slots, put together from the given parts."""
    return lambda problem, seed, n: kh.OnlineGreedyLearner(
        problem,
        seed=seed,
        batch_size=50,
        slots=max(problem.k, min(3 * problem.k, problem.reads // 2)),
        horizon=n,
        parts=parts,
    )


RATE = replace(PAPER, rate=second_order)
GAINS = replace(RATE, losses=negative_gains)
SHARED = replace(GAINS, scheme=shared_reads)

LEARNERS: dict[str, Maker] = {
    "as it comes": lambda problem, seed, n: kh.OnlineGreedyLearner(problem, seed=seed),
    "printed, theorem's B and k1": lambda problem, seed, n: kh.OnlineGreedyLearner(
        problem, seed=seed, kappa=1.2, horizon=n
    ),
    "printed, B = 50": printed(PAPER),
    "+ second-order rate": printed(RATE),
    "+ gains": printed(GAINS),
    "+ shared reads": printed(SHARED),
    "+ carried VAW": printed(replace(SHARED, memory=RestartAndCarry)),
    "predict 0": lambda problem, seed, n: kh.Zero(problem),
}


def run_losses(name: str, seed: int, n: int) -> Row:
    """Rounds of the checkpoints, and losses there of every learner and of the best model."""
    problem, make = STREAMS[name]
    stream = kh.streams.ArrayStream(*kh.streams.collect(make(n, seed).stream))
    losses: Row = {}
    for label, learner in LEARNERS.items():
        ledger = kh.play(learner(problem, seed, n), stream, keep_predictions=False)
        marks = [c for c in ledger.checkpoints if c.round >= 64]
        losses[label] = [c.loss for c in marks]
    rounds = [c.round for c in marks]
    best = kh.hindsight_curve(stream, problem.k, rounds, seconds=60, intercept=False)
    return {
        "stream": name,
        "seed": seed,
        "rounds": rounds,
        "losses": losses,
        "best": [model.loss.high for model in best],
    }
