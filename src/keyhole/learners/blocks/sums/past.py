"""What the labels told so far say about the next one: inputs that cost nothing."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from keyhole.core.functions import c_function
from keyhole.problem import Floats, Indices
from keyhole.problem.fields import AT_LEAST_0

LABELS = 2  # how many of the last labels are inputs
HALF_LIVES = (3.0, 20.0, 100.0)  # rounds after which a label counts half in a faded mean
INPUTS = LABELS + len(HALF_LIVES)
NAMES: tuple[str, ...] = (
    *("last label", "label before last", *(f"label {i} rounds ago" for i in range(3, 99)))[:LABELS],
    *(f"mean of labels, half-life {half_life:g}" for half_life in HALF_LIVES),
)
ONLY = 0  # the place of the number in an array of length 1


class Past(NamedTuple):
    """The labels told so far: the last ones, the latest first, and faded sums.

    A label told late is the latest one when it is told. Sums: `faded`, with the label of age a
    counted 2^(-a / half-life) times, `weight` those counts, `told`; `last` are labels.

    Examples
    --------
    >>> past, row = no_past(), np.empty(INPUTS)
    >>> for y in (1.0, 3.0, 8.0):
    ...     remember(past, y)
    >>> inputs(past, row)
    >>> row.round(2)
    array([8.  , 3.  , 4.54, 4.08, 4.02])
    """

    last: Annotated[Floats, "2"]
    faded: Annotated[Floats, "3"]
    weight: Annotated[Floats, AT_LEAST_0, "3"]
    told: Annotated[Indices, "1"]


def no_past() -> Past:
    """Before the first label."""
    many = len(HALF_LIVES)
    return Past(np.zeros(LABELS), np.zeros(many), np.zeros(many), np.zeros(1, dtype=np.int64))


@c_function("kh_past_inputs", "out[5]", writes="out")
def inputs(past: Past, out: Floats) -> None:
    """Write the last labels and the faded means, in the units of the label; NaN where unknown."""
    raise NotImplementedError


@c_function("kh_remember_label")
def remember(past: Past, y: float) -> None:
    """Take in a label."""
    raise NotImplementedError
