"""Streams of any width whose values are made when they are read, from seed, round and feature."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

import keyhole as kh
from keyhole.problem import Floats, Indices

_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_STEP, _SPAN = np.uint64(0x9E3779B97F4A7C15), 2.0**-53


def normals(seed: int, rows: NDArray[np.integer], columns: NDArray[np.integer]) -> Floats:
    """Independent standard normal numbers, rows x columns, each a function of (seed, row, column).

    >>> one = normals(0, np.array([3]), np.array([7]))
    >>> bool(normals(0, np.arange(5), np.array([7]))[3, 0] == one[0, 0])
    True
    """
    with np.errstate(over="ignore"):
        z = rows.astype(np.uint64)[:, None] * _STEP + np.uint64(seed + 1)
        for part in (np.uint64(0), columns.astype(np.uint64)[None, :] + np.uint64(1)):
            z = z + part * _STEP
            for shift, factor in zip((30, 27), _MIX, strict=True):
                z = (z ^ (z >> np.uint64(shift))) * factor
            z = z ^ (z >> np.uint64(31))
    numbers: Floats = ndtri(((z >> np.uint64(11)).astype(np.float64) + 0.5) * _SPAN)
    return numbers


@dataclass(frozen=True)
class Columns:
    """k of d features matter, with weights +-1/sqrt(k); values are normal, in blocks of `block`
    with a correlation of `rho` to one another; no two that matter are in one block.
    """

    d: int
    k: int
    seed: int
    noise: float = 0.5
    rho: float = 0.0
    block: int = 10
    support: Indices = field(init=False)
    weights: Floats = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        blocks = rng.choice(self.d // self.block, self.k, replace=False)
        support = np.sort(blocks * self.block + rng.integers(self.block, size=self.k))
        signs = rng.choice([-1.0, 1.0], self.k)
        object.__setattr__(self, "support", support)
        object.__setattr__(self, "weights", signs / np.sqrt(self.k))

    def values(self, rounds: Indices, features: Indices) -> Floats:
        """rounds x features."""
        own = normals(4 * self.seed, rounds, features)
        if self.rho == 0.0:
            return own
        shared = normals(4 * self.seed + 1, rounds, features // self.block)
        mixed: Floats = np.sqrt(1.0 - self.rho) * own + np.sqrt(self.rho) * shared
        return mixed

    def labels(self, rounds: Indices) -> Floats:
        """One for each round."""
        error = normals(4 * self.seed + 2, rounds, np.array([0]))[:, 0]
        labels: Floats = self.values(rounds, self.support) @ self.weights + self.noise * error
        return labels


class Game:
    """A learner and a stream: batches are played with the columns they read, and no others.

    `seconds` is the processor time that the learner took.
    """

    def __init__(self, learner: kh.AutoLearner, columns: Columns) -> None:
        self.learner, self.columns, self.round = learner, columns, 0
        self._rows = np.zeros((learner.parts.longest, columns.d))
        self.loss, self.seconds = 0.0, 0.0

    def batch(self) -> Indices:
        """Play a batch; what it read."""
        begun = time.process_time()
        entry = self.learner._open()  # the features of the batch, which `advance` then reads
        self.seconds += time.process_time() - begun
        S, size = np.array(entry.content.S), entry.size - entry.asked
        rounds = np.arange(self.round, self.round + size)
        self._rows[:size, S] = self.columns.values(rounds, S)
        y = self.columns.labels(rounds)
        begun = time.process_time()
        predictions = self.learner.advance(self._rows[:size], y)
        self.seconds += time.process_time() - begun
        self.loss += float(((predictions - y) ** 2).sum())
        self.round += size
        return S

    def kept(self) -> set[int]:
        """What the current batch keeps."""
        content = self.learner._batches.current
        assert content is not None
        return set(content.content.S[content.content.why == 0].tolist())


def found_after(game: Game, most: int, lasting: int = 8) -> list[int]:
    """For each feature that matters the round from which on it was kept `lasting` batches in a
    row; -1 if that is not so by round `most`.
    """
    support = game.columns.support.tolist()
    since, held = dict.fromkeys(support, -1), dict.fromkeys(support, 0)
    while game.round < most and any(held[j] < lasting for j in support):
        begun = game.round
        game.batch()
        kept = game.kept()
        for j in support:
            if held[j] >= lasting:
                continue
            since[j] = begun if held[j] == 0 and j in kept else since[j]
            held[j] = held[j] + 1 if j in kept else 0
    return [since[j] if held[j] >= lasting else -1 for j in support]
