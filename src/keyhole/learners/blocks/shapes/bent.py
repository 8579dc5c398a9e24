"""Features that bend: they explain what is missed, but a line says next to nothing of it."""

from __future__ import annotations

from keyhole.core.functions import c_function
from keyhole.learners.blocks.shapes.seats import Window
from keyhole.problem import Floats, Indices

FEWEST = 64  # values of a feature: fewer say too little


def bent_room(d: int, width: int, rows: int) -> int:
    """How many numbers `find_bent` needs to work in, at most."""
    reads = rows * width
    return 2 * d + 2 * reads + reads // 8 + 7 * (reads // FEWEST) + 5 * FEWEST + 128


@c_function(
    "kh_find_bent",
    "missed[slots] out[n]",
    writes="missed out",
    room="2*d+3*slots*width+512",
)
def find_bent(told: Window, d: int, missed: Floats, out: Indices) -> None:
    """List in `out` the features that bend, the strongest first, -1 beyond.

    `missed` is by slot what a prediction missed of each label; of each feature that is listed what
    its shape explains is taken out of it. With six bins of the values of a feature of which there
    are 64 or more, its worth is what their means explain beyond a line, if that is more than
    chance brings about for any of d features, if older and newer reads agree on a quarter of it at
    least, and if it is more than 4 times what a line explains of the label: by what lines say,
    lines decide. The feature with the largest worth is listed, again and again.
    """
    raise NotImplementedError
