"""When learners have learnt the easy stream of conformance: python -m tests.helpers.learns_by.

Prints, for each, the round from which on the worst of 16 seeds stays below half of the loss of the
running mean, and twice that, which is what `learns_by` in learners/registry.py promises.
"""

import sys

import keyhole as kh
from keyhole.testing.learning import EASY, ENOUGH, late_shares

ENDS = [2**i + half * 2 ** (i - 1) for i in range(4, 13) for half in (0, 1)] + [2**13]
SEEDS = 16


def measured(name: str) -> tuple[int | None, list[float]]:
    """The first round of ENDS from which on all seeds stay below, and the worst share at each."""
    d, k, budget = EASY
    problem = kh.Problem(d, k, d if kh.LEARNERS[name].reads_everything else budget)
    shares = [late_shares(kh.LEARNERS[name](problem, seed=s), s, ENDS) for s in range(SEEDS)]
    worst = [max(column) for column in zip(*shares, strict=True)]
    late = [i for i, share in enumerate(worst) if not share < ENOUGH]
    first = late[-1] + 1 if late else 0
    return (ENDS[first] if first < len(ENDS) else None), worst


if __name__ == "__main__":
    for name in sys.argv[1:] or kh.LEARNERS:
        found, worst = measured(name)
        promised = None if found is None else 2 * found
        last = ", ".join(f"{share:.2f}" for share in worst[-6:])
        print(f"{name:16} from {found}, learns_by={promised}; worst at the end: {last}")  # noqa: T201
