"""Every constant and bound of the paper as a function that cites its LaTeX label.

A bound of the form O(...) names no constant. Such functions take `constant=1.0`, and 1 is a
placeholder, not a claim: use them to see how a bound moves when a number changes, or relative to
each other, never as a promise of so much regret. Bounds without that parameter hold as they are.

`exploration` is the paper's k0, the features read to explore: `budget - k` for Algorithm 1, the
whole budget for Algorithm 2.
"""

from keyhole.analysis.theory.agnostic import (
    AgnosticParameters,
    agnostic_parameters,
    agnostic_regret,
    agnostic_regret_full,
    bexp_regret,
    online_greedy_gap,
    vaw_regret,
)
from keyhole.analysis.theory.bound import Bound
from keyhole.analysis.theory.lemmas import (
    bbrcnp_t0,
    greedy_factor,
    localization,
    rip_condition_number,
    rip_rows,
    supermodularity,
    truncation_error,
)
from keyhole.analysis.theory.lower import lower_bounds
from keyhole.analysis.theory.realizable import (
    RIP_REALIZABLE,
    Rates,
    concentration,
    dantzig_error_factor,
    estimation_rates,
    first_nonzero,
    realizable_regret,
    realizable_regret_full,
    t0,
    threshold,
    wstar_regret,
)

__all__ = [
    "RIP_REALIZABLE",
    "AgnosticParameters",
    "Bound",
    "Rates",
    "agnostic_parameters",
    "agnostic_regret",
    "agnostic_regret_full",
    "bbrcnp_t0",
    "bexp_regret",
    "concentration",
    "dantzig_error_factor",
    "estimation_rates",
    "first_nonzero",
    "greedy_factor",
    "localization",
    "lower_bounds",
    "online_greedy_gap",
    "realizable_regret",
    "realizable_regret_full",
    "rip_condition_number",
    "rip_rows",
    "supermodularity",
    "t0",
    "threshold",
    "truncation_error",
    "vaw_regret",
    "wstar_regret",
]
