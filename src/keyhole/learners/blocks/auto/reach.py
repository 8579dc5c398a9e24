"""Implausible values: how far what was seen of a feature, or of the label, reaches.

A typo is one value far beyond all others. It is learnt as the end of what was seen, until it
repeats. The rules, and what they are worth, are in docs/algorithms/auto.md.
"""

from __future__ import annotations

import numpy as np

from keyhole.problem import Floats

LOW, HIGH, NEXT_LOW, NEXT_HIGH, DOUBT, COUNT = range(6)  # of a row of `State.reach`
SIZE = 6
MARGIN = 0.75  # times `far` times the range: a value beyond it by more is far out
