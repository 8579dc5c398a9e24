"""Who sits, and how their values are looked at: columns of a curve, cuts for trees."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.problem import Floats, Indices
from keyhole.problem.state import Holds

KNOTS = 5
COLUMNS = KNOTS + 3  # of a curve
FORM = 3 + KNOTS + 2 * COLUMNS  # the middle, the width, the mode; knots; means, sizes
CUTS = 31
SAMPLE, LOOKED = 256, 1024  # values, and rows, that shapes are made from, at most
NOBODY = -1

Shorts = NDArray[np.int32]
Bytes = NDArray[np.int8]


class Window(NamedTuple):
    """The last rows told: features ascending, -1 where there are fewer, values, and the label.

    Row i, counted from 0, stands in slot i modulo their number. Of the `told` so far the last
    `many` are looked at. Of absent values NaN is kept.
    """

    features: Annotated[Shorts, "slots width"]
    values: Annotated[Floats, "slots width"]
    labels: Annotated[Floats, "slots"]
    told: int
    many: int


class Seated(NamedTuple):
    """The features read most of late, and how their values are looked at.

    `who`: the feature in each seat, or NOBODY. `made`: how many values it had when it was last
    looked at. `forms`, of the first seats: what columns are made with, see `make_form`. `cuts` and
    `many`: of the feature in each seat, and last of the prediction, where trees may cut it.
    `codes`: the same inputs of each row held, see `code`.
    """

    who: Annotated[Indices, Holds(least=NOBODY, below="d"), "sitting"]
    made: Annotated[Indices, "sitting+1"]
    forms: Annotated[Floats, Holds(nan=True), f"curves {FORM}"]
    cuts: Annotated[Floats, f"sitting+1 {CUTS}"]
    many: Annotated[Indices, Holds(most=CUTS), "sitting+1"]
    codes: Annotated[Bytes, Holds(least=0, most=CUTS + 1), "held sitting+1"]


def empty_seats(rows: int, seats: int, curves: int) -> Seated:
    """Seats in which no one sits; the first `curves` have a curve."""
    return Seated(
        np.full(seats, NOBODY, dtype=np.int64),
        np.zeros(seats + 1, dtype=np.int64),
        np.zeros((curves, FORM)),
        np.zeros((seats + 1, CUTS)),
        np.zeros(seats + 1, dtype=np.int64),
        np.zeros((rows, seats + 1), dtype=np.int8),
    )


@c_function("kh_make_form", f"sample[n] form[{FORM}]", writes="form")
def make_form(sample: Floats, form: Floats) -> None:
    """What a curve is made with, from an ascending sample of at most 256 values.

    With median m, w = max(q75 - q25, 0.3 sd) and knots t_1 < t_2 < ... the columns are

        (x - m) / w,   sign(x - m) log(1 + |x - m| / w),   max(0, (x - t_i) / w),   [x != mode],

    each less its mean, over its standard deviation. One that does not vary has size 0, and there is
    none of it. Knots are the quantiles i/6 that lie within the range, each once; of a sample that
    is the mode by more than 30 %, those of the rest. The mode has a column if 5 % are it. Of two
    different values there is the line alone, of one nothing.
    """
    raise NotImplementedError


@c_function("kh_columns", f"form[{FORM}] out[{COLUMNS}]", writes="out")
def columns(form: Floats, value: float, out: Floats) -> None:
    """The columns at a value, cut off at 5 standard deviations; all 0 if it is absent (NaN)."""
    raise NotImplementedError


@c_function("kh_make_cuts", f"sample[n] cuts[{CUTS}]", writes="cuts")
def make_cuts(sample: Floats, cuts: Floats) -> int:
    """Where an input may be cut, from an ascending sample; how many cuts.

    Half-way between neighbours if at most 32 are different, else at the quantiles i/32 below the
    largest value, each once.
    """
    raise NotImplementedError


@c_function("kh_code", f"cuts[{CUTS}]")
def code(cuts: Floats, many: int, value: float) -> int:
    """0 for an absent value, else 1 and the number of cuts below it."""
    raise NotImplementedError


@c_function("kh_sample", f"out[{SAMPLE}]", writes="out", room=f"{LOOKED}+4*{SAMPLE}")
def sample(rows: Window, j: int, out: Floats) -> int:
    """An ascending sample of the values of feature j in the last 1,024 rows; how many there are.

    Of n values, newest first, more than 256: those at n i // 256.
    """
    raise NotImplementedError


@c_function("kh_take_seats", "counts[d]", writes="counts", room="2*d+2*sitting+slots*width")
def take_seats(seated: Seated, rows: Window, d: int, counts: Floats) -> None:
    """Let those sit that were read most in the last 1,024 rows.

    A read a rows ago counts exp(-a / 500). Who sits already counts a quarter more; 16 values are
    needed. Those who stay keep their seats; who comes has `made` 0. `counts`: how many values there
    are of each feature met.
    """
    raise NotImplementedError
