"""Lower bounds of the literature."""

from __future__ import annotations

import math

from keyhole.analysis.theory.bound import Bound, checked


@checked
def lower_bounds(horizon: int, d: int, k: int, *, constant: float = 1.0) -> tuple[Bound, ...]:
    """What no learner can beat, as far as is known; all up to an unknown constant.

    Realizable: log T even when everything is read; k log(T) log(d/k) from how well k of d weights
    can be estimated. Agnostic: sqrt(T), by the bandit argument. Without any assumption on the
    features no polynomial-time learner has regret O(T^(1 - c)) for any c > 0, unless NP is in BPP.

    References
    ----------
    Hazan, Kale (2014), Beyond the regret minimization barrier.
    Foster, Kale, Karloff (2016), Online sparse linear regression.
    Li, Liao, Xu, Nie (2025), COLT, table 3.
    """
    log_T, terms = math.log(horizon), (("C", constant),)
    sparse = constant * k * log_T * math.log(max(d / k, 1.0))
    return (
        Bound(constant * log_T, "hazan-kale-2014", "C log T (realizable)", terms),
        Bound(sparse, "Li et al. 2025", "C k log(T) log(d/k) (realizable)", terms),
        Bound(constant * math.sqrt(horizon), "introduction", "C sqrt(T) (agnostic)", terms),
    )
