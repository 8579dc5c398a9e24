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
}
STUDIED = "auto, after history"
NAMES = (*LEARNERS, *VARIANTS, STUDIED)


def make(name: str, problem: kh.Problem, seed: int) -> Any:
    """A learner by the name it has here."""
    if name in VARIANTS:
        return kh.AutoLearner(problem, seed=seed, **VARIANTS[name])
    if name == STUDIED:
        learner, rng = kh.AutoLearner(problem, seed=seed), np.random.default_rng(seed)
        X = rng.normal(size=(50, problem.d))
        learner.study(kh.streams.ArrayStream(X, X[:, 0] + 0.1 * rng.normal(size=len(X))))
        return learner
    return make_learner(name, problem, seed)
