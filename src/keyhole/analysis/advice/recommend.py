"""From a curve to a recommendation: a rule for the sparsity, one for the budget, the words."""

from __future__ import annotations

import numpy as np

from keyhole.learners.blocks.auto.parts import USUAL
from keyhole.problem import Floats, Problem

CLOSE = 0.03  # of what the best explains: less than this is not worth more features
NET = 6  # the least budget at which AutoLearner has a safety net


def enough(explained: Floats, behind_error: Floats) -> int:
    """The recommended sparsity: the smallest k that is as good as the best, or nearly.

    Nearly: within one standard error of its difference to the best (a paired one: both are tested
    on the same rows), or within 3% of what the best explains. With many rows the error alone would
    have features bought for the last tenth of a percent; with few rows the share alone would have
    them bought for noise. 0 if the best is within two errors of explaining nothing.

    >>> enough(np.array([0.0, 0.5, 0.69, 0.70, 0.698]), np.full(5, 0.002))
    2
    >>> enough(np.array([0.0, 0.01, 0.02]), np.array([0.03, 0.01, 0.0]))
    0
    """
    best = explained.max()
    if best <= 2.0 * behind_error[0]:
        return 0
    slack = np.maximum(behind_error, CLOSE * best)
    return int(np.flatnonzero(explained >= best - slack)[0])


def knee(explained: Floats, k: int) -> int:
    """Where the curve up to k bends most: the size that is highest above the line from 0 to k.

    >>> knee(np.array([0.0, 0.5, 0.6, 0.62, 0.64]), 4)
    1
    """
    if k == 0:
        return 0
    rise = explained[: k + 1] / explained[k] - np.arange(k + 1) / k
    return int(rise.argmax())


def reads_for(k: int, d: int) -> int:
    """The recommended budget for models of k features: the least of which AutoLearner keeps k.

    It explores too, and its safety net reads: of a budget of 8 it keeps 5, of 21 it keeps 17. And
    at least 6: below that it has no safety net, and one read per example to explore with.

    >>> reads_for(2, d=100), reads_for(5, d=100), reads_for(17, d=100), reads_for(17, d=18)
    (6, 7, 21, 18)
    >>> reads_for(1, d=4), reads_for(0, d=100)
    (4, 0)
    """
    if k == 0:
        return 0
    return next(b for b in range(min(max(k, NET), d), d + 1) if kept(b, d) >= k)


def kept(budget: int, d: int) -> int:
    """How many features AutoLearner keeps of a budget, what it explores with left out.

    >>> kept(8, d=100), kept(8, d=8)
    (5, 8)
    """
    return USUAL.sizes(Problem(d, 1, budget)).pool


def words(explained: Floats, error: Floats, k: int, d: int) -> str:
    """The recommendation as a sentence or two."""
    most, best, bend = len(explained) - 1, int(explained.argmax()), knee(explained, k)
    if k == 0:
        return (
            f"No number of features up to {most} is seen to explain anything of the label, within "
            "the error: buy nothing, look at more rows, or ask whether the relation is linear."
        )
    told = f"{features(k)} {'explains' if k == 1 else 'explain'} {percent(explained[k], error[k])}"
    if best != k:
        told += f"; {best} would explain {percent(explained[best], error[best])}"
    if best == most < d:
        told += f", and more than {most} were not tried"
    elif best == k < most:
        told += "; more would not explain more"
    if 1 < bend <= k:
        less = percent(explained[bend - 1], error[bend - 1])
        told += f"; below {bend} it falls quickly ({bend - 1}: {less})"
    return f"{told}."


def features(k: float) -> str:
    """So many features.

    >>> features(1), features(8)
    ('1 feature', '8 features')
    """
    return f"{k} feature{'' if k == 1 else 's'}"


def percent(share: float, error: float) -> str:
    """A share and its error, with as many digits as count.

    >>> percent(0.7123, 0.0123), percent(0.7123, 0.0012), percent(0.3, 0.0)
    ('71% ± 1%', '71.2% ± 0.1%', '30.0% ± 0.0%')
    """
    places = 0 if error >= 0.005 else 1
    return f"{share:.{places}%} ± {error:.{places}%}"
