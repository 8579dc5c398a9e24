"""Ten streams, from one that is sparse to some that no fixed model fits, to compare learners on.

Each comes with the problem it is played with. All labels lie in [-1, 1], but for those of `iid`
and `iid300`, whose bounded noise may carry them beyond.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from keyhole.problem import Problem, ProblemError, nearest
from keyhole.streams.dependent import dependent
from keyhole.streams.designs import bounded, toeplitz
from keyhole.streams.drift import drifting, leaders, sign_flips, switching
from keyhole.streams.simulate import Simulated
from keyhole.streams.synthetic import dense, needle, nonlinear, realizable


@dataclass(frozen=True, slots=True)
class Case:
    """One stream of the suite: what it is like, what may be read of it, and how it is made.

    `simulate(n, seed)` makes n rows and the truth behind them.
    """

    about: str
    problem: Problem
    simulate: Callable[[int, int], Simulated]


AGNOSTIC_SUITE: dict[str, Case] = {
    "iid": Case(
        "sparse, signs",
        Problem(30, 2, 12),
        lambda n, seed: realizable(30, 2, n, noise=bounded, noise_sd=0.2, seed=seed),
    ),
    "dense": Case(
        "every feature matters",
        Problem(100, 4, 24),
        lambda n, seed: dense(100, n, seed=seed),
    ),
    "nonlin": Case(
        "a curved rule",
        Problem(30, 2, 12),
        lambda n, seed: nonlinear(30, n, seed=seed),
    ),
    "switch": Case(
        "six supports take turns",
        Problem(100, 4, 24),
        lambda n, seed: switching(100, 4, n, seed=seed),
    ),
    "drift": Case(
        "four weights rotate",
        Problem(30, 2, 12),
        lambda n, seed: drifting(30, n, seed=seed),
    ),
    "flip": Case(
        "strong features change sides",
        Problem(30, 2, 12),
        lambda n, seed: sign_flips(30, n, seed=seed),
    ),
    "depn": Case(
        "noise that lingers, labels that feed back",
        Problem(100, 4, 24),
        lambda n, seed: dependent(100, 4, n, seed=seed),
    ),
    "needle": Case(
        "labels 1 and -1, weak features",
        Problem(300, 1, 12),
        lambda n, seed: needle(300, n, seed=seed),
    ),
    "geo": Case(
        "another leader in every phase",
        Problem(10, 1, 4),
        lambda n, seed: leaders(10, n, seed=seed),
    ),
    "iid300": Case(
        "sparse, neighbours alike",
        Problem(300, 4, 32),
        lambda n, seed: realizable(
            300, 4, n, design=toeplitz(0.5), noise=bounded, noise_sd=0.15, seed=seed
        ),
    ),
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
    if name not in AGNOSTIC_SUITE:
        names = list(AGNOSTIC_SUITE)
        raise ProblemError(
            f"name must be one of {', '.join(names)}, got {name!r}{nearest(name, names)}"
        )
    return AGNOSTIC_SUITE[name].simulate(n, seed)
