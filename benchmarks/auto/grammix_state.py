"""What the recipe in `grammix.py` keeps: memories, a net of experts, VAWs, the set it buys."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keyhole.problem import Floats, Indices

TAUS = np.array([1e300, 512.0, 64.0])  # rounds the memories look back


class Sums(NamedTuple):
    """Of one memory: x xT, x y and reads by feature, y^2, rounds."""

    G: Floats
    c: Floats
    n: Floats
    yy: float
    rounds: float


class Found(NamedTuple):
    """What forward selection finds: features, then residual and variance of all; and its rows."""

    chosen: Indices
    r: Floats
    D: Floats
    L: Floats


class Memories(NamedTuple):
    """Sums by memory, to be multiplied by `scale`, and what was found in them."""

    G: Floats
    c: Floats
    n: Floats
    yy: Floats
    rounds: Floats
    scale: Floats
    chosen: Indices
    picked: Indices
    r: Floats
    D: Floats
    s2: Floats
    L: Floats


class Net(NamedTuple):
    """Budgeted experts, a slot each: losses and control variates by feature, draws, gains."""

    loss: Floats
    mu: Floats
    seen: Floats
    squares: Floats
    largest: Floats
    p: Floats
    played: Indices
    gains: Floats


class Experts(NamedTuple):
    """VAWs on parts of the batch's set, and their weights.

    Memories on their own support, then on the net's; the net cold; 0.
    """

    weights: Floats
    guesses: Floats
    P: Floats
    theta: Floats
    at: Indices
    size: Indices
    Px: Floats
    along: Floats
    lift: Floats


class Bought(NamedTuple):
    """Features of the batch, their places in it or -1, and how often each was ever read."""

    S: Indices
    place: Indices
    reads: Floats


class State(NamedTuple):
    """All of it; `most` features are for what was selected."""

    memories: Memories
    net: Net
    experts: Experts
    bought: Bought
    most: int


def new_state(d: int, budget: int, net: bool) -> State:
    """Before the first round."""
    M, slots = len(TAUS), max(1, budget // 4) if net and budget >= 4 else 0
    most, E = max(1, budget - (2 * slots if slots else 1)), 2 * M + 2

    def zeros(*shape: int) -> Floats:
        return np.zeros(shape)

    def whole(*shape: int) -> Indices:
        return np.zeros(shape, dtype=np.int64)

    return State(
        Memories(
            G=zeros(M, d, d), c=zeros(M, d), n=zeros(M, d), yy=zeros(M), rounds=zeros(M),
            scale=np.ones(M), chosen=whole(M, most), picked=whole(M), r=zeros(M, d), D=zeros(M, d),
            s2=zeros(M), L=zeros(most, d),
        ),
        Net(
            loss=zeros(slots, d), mu=zeros(slots, d), seen=zeros(slots, d), squares=zeros(slots),
            largest=zeros(slots), p=zeros(slots, d), played=whole(slots),
            gains=zeros(slots, budget),
        ),
        Experts(
            weights=np.full(E, 1.0 / E), guesses=zeros(E), P=zeros(E, budget, budget),
            theta=zeros(E, budget), at=whole(E, budget), size=whole(E), Px=zeros(E, budget),
            along=zeros(E), lift=np.ones(E),
        ),
        Bought(S=whole(budget), place=whole(d), reads=zeros(d)),
        most,
    )  # fmt: skip
