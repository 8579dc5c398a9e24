"""Rounds 1, 4, 9, 16, ...: when learners explore that spend the other rounds on their model."""

from __future__ import annotations

import math


def is_square(t: int) -> bool:
    """Whether round t is a square.

    >>> [t for t in range(1, 30) if is_square(t)]
    [1, 4, 9, 16, 25]
    """
    root = int(math.sqrt(t) + 0.5)
    return root * root == t
