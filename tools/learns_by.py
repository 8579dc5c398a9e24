"""By which round each learner has learnt the easy stream of the conformance suite.

    python -m tools.learns_by [NAME ...]

Sixteen seeds, of stream and learner alike: the first power of two n, from 32 on, such that the loss
in rounds n/2 + 1 to n is at most half of the running mean's. Rows of the registry state twice what
the worst seed took.
"""

from __future__ import annotations

import sys
from itertools import takewhile

import numpy as np

import keyhole as kh
from keyhole.problem import Problem
from keyhole.testing.suite import EASY_LOSS_SHARE, EASY_SHAPE, easy_stream

SEEDS, LONGEST = 16, 1 << 13


def rounds_to_learn(name: str, seed: int) -> int | None:
    """The first such n, None if there is none up to `LONGEST`."""
    d, k, budget = EASY_SHAPE
    row, stream = kh.LEARNERS[name], easy_stream(LONGEST, seed)
    problem = Problem(d, k, d if row.reads_everything else budget)
    errors = (stream.y - kh.play(row(problem, seed=seed), stream).predictions) ** 2
    mean = (stream.y - kh.play(kh.RunningMean(problem), stream).predictions) ** 2
    for n in takewhile(lambda n: n <= LONGEST, (1 << i for i in range(5, 64))):
        late = slice(n // 2, n)
        if np.mean(errors[late]) <= EASY_LOSS_SHARE * np.mean(mean[late]):
            return n
    return None


def main() -> None:
    """Print a line for each learner."""
    for name in sys.argv[1:] or kh.LEARNERS:
        found = [rounds_to_learn(name, seed) for seed in range(SEEDS)]
        times = sorted(n for n in found if n is not None)
        worst = times[-1] if len(times) == SEEDS else None
        middle = times[len(times) // 2] if times else None
        says = kh.LEARNERS[name].learns_by
        sys.stdout.write(f"{name}: median {middle}, worst {worst}; its row says {says}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
