"""Variants of Algorithm 2: as it is printed, and as it works in practice."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from keyhole.learners.blocks.greedy.budgeted_experts import (
    OwnSubsets,
    Rate,
    Scheme,
    SharedReads,
    anytime,
    equal_shares,
    second_order,
)
from keyhole.learners.blocks.greedy.minibatch import Memory, Restart, RestartAndCarry
from keyhole.problem import Floats


@dataclass(frozen=True, slots=True)
class Variant:
    """What Algorithm 2 is put together from; PAPER and PRACTICAL are two ways to do it.

    `scheme(d, slots, budget)` draws what is played and read; `rate` is the experts' learning rate;
    `losses(levels, gains)` is what they are fed, levels[i] = g(V_i), gains[i, j] =
    g(V_i) - g(V_i + j); `memory(d, ridge)` is what VAW starts a batch from.
    """

    scheme: Callable[[int, int, int], Scheme]
    rate: Rate
    losses: Callable[[Floats, Floats], Floats]
    memory: Callable[[int, float], Memory]


def theorem_sizes(d: int, k: int, k0: int, kappa: float, T: int) -> tuple[float, float]:
    """B = (k0 T / (kappa^2 d k))^(1/3) and k1 = kappa^2 k log(T) / 3 (`theorem:adv`), unrounded."""
    return (k0 * T / (kappa**2 * d * k)) ** (1 / 3), kappa**2 * k * math.log(T) / 3


def own_subsets(d: int, slots: int, budget: int) -> OwnSubsets:
    """Every slot reads budget/slots features for itself; the first slots get what is left over."""
    return OwnSubsets(d, equal_shares(budget, slots))


def shared_reads(d: int, slots: int, budget: int) -> SharedReads:
    """Every slot learns from everything that is read."""
    return SharedReads(d, slots, budget)


def printed_losses(levels: Floats, gains: Floats) -> Floats:
    """g(V + j): the loss the paper passes to BEXP."""
    losses: Floats = levels[:, np.newaxis] - gains
    return losses


def negative_gains(levels: Floats, gains: Floats) -> Floats:
    """g(V + j) - g(V): the same comparison between experts, without the noise of g(V)."""
    return -gains


PAPER = Variant(own_subsets, anytime, printed_losses, Restart)
PRACTICAL = Variant(shared_reads, second_order, negative_gains, RestartAndCarry)
VARIANTS = {"paper": PAPER, "practical": PRACTICAL}  # what a file can speak of
