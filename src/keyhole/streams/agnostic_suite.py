"""Ten streams, from one that is sparse to some that no fixed model fits, to compare learners on.

Each comes with the problem it is played with. All labels lie in [-1, 1], but for those of `iid`
and `iid300`, whose bounded noise may carry them beyond.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from keyhole.errors import one_of
from keyhole.problem import Problem
from keyhole.streams.dependent import dependent
from keyhole.streams.designs import bounded, toeplitz
from keyhole.streams.drift import drifting, leaders, sign_flips, switching
from keyhole.streams.simulate import Simulated
from keyhole.streams.synthetic import dense, needle, nonlinear, realizable


@dataclass(frozen=True, slots=True)
class Case:
    """One stream of the suite: what it is like, what may be read of it, and what makes it."""

    about: str
    problem: Problem
    make: Callable[..., Simulated]  # called with how many rows, and the seed by name

    def simulate(self, n: int, seed: int) -> Simulated:
        """n rows, and the truth behind them."""
        return self.make(n, seed=seed)


_SIGNS = partial(realizable, 30, 2, noise=bounded, noise_sd=0.2)
_ALIKE = partial(realizable, 300, 4, design=toeplitz(0.5), noise=bounded, noise_sd=0.15)

AGNOSTIC_SUITE: dict[str, Case] = {
    "iid": Case("sparse, signs", Problem(30, 2, 12), _SIGNS),
    "dense": Case("every feature matters", Problem(100, 4, 24), partial(dense, 100)),
    "nonlin": Case("a curved rule", Problem(30, 2, 12), partial(nonlinear, 30)),
    "switch": Case("six supports take turns", Problem(100, 4, 24), partial(switching, 100, 4)),
    "drift": Case("four weights rotate", Problem(30, 2, 12), partial(drifting, 30)),
    "flip": Case("strong features change sides", Problem(30, 2, 12), partial(sign_flips, 30)),
    "depn": Case(
        "noise that lingers, labels that feed back", Problem(100, 4, 24), partial(dependent, 100, 4)
    ),
    "needle": Case("labels 1 and -1, weak features", Problem(300, 1, 12), partial(needle, 300)),
    "geo": Case("another leader in every phase", Problem(10, 1, 4), partial(leaders, 10)),
    "iid300": Case("sparse, neighbours alike", Problem(300, 4, 32), _ALIKE),
}


def agnostic_suite(name: str, n: int, *, seed: int = 0) -> Simulated:
    """n rows of a stream of the suite, by its name, with the truth beside it.

    Parameters
    ----------
    name
        A key of `AGNOSTIC_SUITE`, whose value has the `problem` to play it with.
    n, seed
        Rows; seed of everything random.

    Examples
    --------
    >>> stream, truth = agnostic_suite("needle", 100)
    >>> stream.d, AGNOSTIC_SUITE["needle"].problem.budget
    (300, 12)
    """
    return AGNOSTIC_SUITE[one_of("name", name, AGNOSTIC_SUITE)].simulate(n, seed)
