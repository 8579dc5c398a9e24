"""Who is attacked: every learner by its name, AutoLearner as arguments and history make it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

import keyhole as kh
from keyhole.learners.registry import LEARNERS, make_learner

_RESTLESS = kh.AutoParts(
    taus=(math.inf, 6.0),
    threshold=1.0,
    shortest=2,
    longest=7,
    growth=4,
    kinks=(0.0,),
    layer_memory=0.5,
)

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "auto, proper": {"proper": True},
    "auto, proper with the past": {"proper": True, "past": True},
    "auto, no past": {"past": False},
    "auto, no layer": {"past": False, "parts": kh.AutoParts(kinks=None)},
    "auto, a straight line": {"parts": kh.AutoParts(kinks=(), layer_memory=5.0)},
    "auto, restless": {"parts": _RESTLESS},
    "auto, few seats": {"parts": kh.AutoParts(active=9)},
}
STUDIED = "auto, after history"
PRICED: Mapping[str, Mapping[str, Any]] = {
    "priced, a limit": {},
    "priced, an exchange rate": {"worth": 3.0},
    "priced, a purse": {"purse": 4000, "horizon": 300},
    "priced, proper": {"proper": True},
}
NAMES = (*LEARNERS, *VARIANTS, STUDIED, *PRICED)


def make(name: str, problem: kh.Problem, seed: int) -> Any:
    """A learner by the name it has here."""
    if name in PRICED:
        return kh.AutoLearner(priced(problem), seed=seed, **PRICED[name])
    if name in VARIANTS:
        return kh.AutoLearner(problem, seed=seed, **VARIANTS[name])
    if name == STUDIED:
        learner, rng = kh.AutoLearner(problem, seed=seed), np.random.default_rng(seed)
        X = rng.normal(size=(50, problem.d))
        learner.study(kh.streams.ArrayStream(X, X[:, 0] + 0.1 * rng.normal(size=len(X))))
        return learner
    return make_learner(name, problem, seed)


def priced(problem: kh.Problem) -> kh.Problem:
    """The same features at prices: a free one, a panel, odd cents, one computed from others."""
    prices = {j: ["0", "1.25", "0.5", "3"][j % 4] for j in range(problem.d)}
    return kh.Problem(
        problem.d,
        problem.k,
        problem.budget,
        prices=prices,
        panels={"panel": (1, [1, 2])},
        derived={problem.d - 1: [1, 3]},
    )
