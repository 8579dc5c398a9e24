"""How large an error will be, by what was bought: a factor that is known before the label.

`core/c/error_sizes.c` is how it is learnt, with the constants that nobody needs outside of it.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from keyhole.core.functions import c_function
from keyhole.errors import LARGEST
from keyhole.problem import Floats, Indices
from keyhole.problem.fields import MANY, Holds

FARTHEST_Z = 4.0
LARGEST_SIZE = 6.0  # an error counts at most so many times the mean
LARGEST_WEIGHT = 3.0
LEAST_FACTOR, LARGEST_FACTOR = 0.1, 10.0
WAYS, CENTRED = 4, 2  # in which a feature can matter; the first two less their means


class ErrorSizes(NamedTuple):
    """What the sizes of errors have to do with the features that were bought for them.

    The factor of a round is exp(sum of weight_jw phi_jw), from 0.1 to 10, over the features j that
    arrived and the prediction itself, which counts as one more, the last. With z_j the value less
    its mean, in standard deviations, the four ways w are phi = z_j (errors grow with the value),
    |z_j| and log(0.5 + |z_j|), each less its mean (they grow towards both ends, fast or slowly),
    and 1 less the share of rounds in which it arrived (they are larger or smaller where it is
    known).

    Each way is tested by itself: e phi is summed up, where e is |error| as a share of the mean of
    the last few, less its own mean. From four standard errors on the way has a weight; below two it
    has none. Weights of all ways then follow the gradient of the likelihood of an error whose mean
    size is the factor (Laplace), so features that say the same share what there is to say.

    A label costs as much as was bought for it. Nothing here has to be right: see `Trackers`.

    Sums, fading with the reads of a feature, a row for each and one for predictions: `reads`,
    `mean` and `variance` of what was read, `centres` (of |z| and its logarithm), `product`
    (of e phi), `square` (of their squares). Followed label by label: `weight`. Of all labels:
    `labels` (sum and count of |error|, fading; how many were told), `usual` (the mean of e).
    """

    reads: Annotated[Floats, Holds(least=0.0, most=MANY), "places"]
    mean: Annotated[Floats, Holds(least=-LARGEST, most=LARGEST), "places"]
    variance: Annotated[Floats, Holds(least=0.0, most=4.0 * LARGEST**2), "places"]
    centres: Annotated[Floats, Holds(least=-1.0, most=FARTHEST_Z), "places 2"]
    product: Annotated[Floats, Holds(least=-1e9, most=1e9), "places 4"]
    square: Annotated[Floats, Holds(least=0.0, most=1e9), "places 4"]
    weight: Annotated[Floats, Holds(least=-LARGEST_WEIGHT, most=LARGEST_WEIGHT), "places 4"]
    labels: Annotated[Floats, Holds(least=0.0, most=1e200), "3"]
    usual: Annotated[Floats, Holds(least=-LARGEST_SIZE, most=LARGEST_SIZE), "1"]


def new_sizes(d: int) -> ErrorSizes:
    """Before the first label: every factor is 1.

    >>> factor_of(new_sizes(3), np.array([0, 2]), np.array([5.0, np.nan]), 1.0)
    1.0
    """
    product, square, weight = (np.zeros((d + 1, WAYS)) for _ in range(3))
    reads, mean, variance = (np.zeros(d + 1) for _ in range(3))
    centres, labels, usual = np.zeros((d + 1, CENTRED)), np.zeros(3), np.zeros(1)
    return ErrorSizes(reads, mean, variance, centres, product, square, weight, labels, usual)


@c_function("kh_error_factor", "features[width] values[width]")
def factor_of(s: ErrorSizes, features: Indices, values: Floats, prediction: float) -> float:
    """How much larger than others an error is likely to be; nothing changes.

    Parameters
    ----------
    s
        As they are now.
    features, values
        What was bought: numbers of features, ascending, -1 for none; NaN did not arrive.
    prediction
        What was predicted from it.
    """
    raise NotImplementedError


@c_function(
    "kh_error_factors",
    "features[rows,width] values[rows,width] predictions[rows] errors[rows] factors[rows]",
    writes="factors",
    room="4*width+4",
)
def factors_of(
    s: ErrorSizes,
    features: Indices,
    values: Floats,
    predictions: Floats,
    errors: Floats,
    factors: Floats,
) -> None:
    """`factor_of` each row in turn, its error being learnt after it; `factors` gets them."""
    raise NotImplementedError
