"""What may come of bad input, and what must not."""

from __future__ import annotations

from typing import Any

import numpy as np

FINE = ("refused", "played")  # a KeyholeError with nothing changed, or a game as any other


class ChangedError(Exception):
    """A refusal changed the learner."""


class NotFiniteError(Exception):
    """A prediction, a weight or a loss is not a finite number."""


def finite(numbers: Any) -> None:
    """NotFiniteError unless all of them are."""
    if not np.isfinite(numbers).all():
        raise NotFiniteError(f"{numbers}")
