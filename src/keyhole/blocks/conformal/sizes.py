"""How large an error will be, by what was bought: a factor that is known before the label."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.errors import LARGEST
from keyhole.fields import MANY, Holds
from keyhole.problem import Floats, Indices

FADE = 0.5 ** (1 / 10)  # what an error counts one label later, in the mean they are compared with
LOOKBACK = 4096.0  # the half-life of everything else, in reads of a feature
KEEP = 0.5 ** (1 / LOOKBACK)
STEP = 0.15
ENTER, LEAVE = 4.0, 2.0  # standard errors from 0 at which a weight begins and ends
ENOUGH = 30.0  # reads of a feature before it counts
LARGEST_SIZE = 6.0  # an error counts at most so many times the mean
OUTLIER, FREE = 20.0, 10.0  # and moves that mean by at most so many, once so many were seen
FARTHEST_Z = 4.0
LARGEST_WEIGHT = 3.0
LEAST_FACTOR, LARGEST_FACTOR = 0.1, 10.0

NEAREST = 0.5  # added to |z| before its logarithm is taken

FAR, NEAR, VALUE, ARRIVED = 0, 1, 2, 3  # the ways in which a feature can matter
WAYS, CENTRED = 4, 2  # the first two less their means
SUM, COUNT, TOLD = 0, 1, 2  # in `ErrorSizes.labels`
ONLY = 0  # the place in an array of one number


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

    reads: Annotated[Floats, Holds(least=0.0, most=MANY)]
    mean: Annotated[Floats, Holds(least=-LARGEST, most=LARGEST)]
    variance: Annotated[Floats, Holds(least=0.0, most=4.0 * LARGEST**2)]
    centres: Annotated[Floats, Holds(least=-1.0, most=FARTHEST_Z)]
    product: Annotated[Floats, Holds(least=-1e9, most=1e9)]
    square: Annotated[Floats, Holds(least=0.0, most=1e9)]
    weight: Annotated[Floats, Holds(least=-LARGEST_WEIGHT, most=LARGEST_WEIGHT)]
    labels: Annotated[Floats, Holds(least=0.0, most=1e200)]
    usual: Annotated[Floats, Holds(least=-LARGEST_SIZE, most=LARGEST_SIZE)]


def new_sizes(d: int) -> ErrorSizes:
    """Before the first label: every factor is 1.

    >>> factor_of(new_sizes(3), np.array([0, 2]), np.array([5.0, np.nan]), 1.0)
    1.0
    """
    product, square, weight = (np.zeros((d + 1, WAYS)) for _ in range(3))
    reads, mean, variance = (np.zeros(d + 1) for _ in range(3))
    centres, labels, usual = np.zeros((d + 1, CENTRED)), np.zeros(3), np.zeros(1)
    return ErrorSizes(reads, mean, variance, centres, product, square, weight, labels, usual)


@inner
def _ways(s: ErrorSizes, j: int, x: float, ways: Floats) -> None:
    """How a value of feature j matters, each way."""
    ways[:] = 0.0
    if s.variance[j] > 0.0:
        z = (x - s.mean[j]) / math.sqrt(s.variance[j])
        z = min(max(z, -FARTHEST_Z), FARTHEST_Z)
        ways[VALUE] = z
        ways[FAR] = abs(z) - s.centres[j, FAR]
        ways[NEAR] = math.log(NEAREST + abs(z)) - s.centres[j, NEAR]
    ways[ARRIVED] = 1.0 - min(s.reads[j] / (s.labels[TOLD] + 1.0), 1.0)


@inner
def _explained(s: ErrorSizes, j: int, x: float, ways: Floats) -> float:
    """What a value adds to the logarithm of the factor."""
    _ways(s, j, x, ways)
    added = 0.0
    for way in range(WAYS):
        added += s.weight[j, way] * ways[way]
    return added


@inner
def _factor(
    s: ErrorSizes, features: Indices, values: Floats, prediction: float, ways: Floats
) -> float:
    last = len(s.reads) - 1
    log = _explained(s, last, prediction, ways[len(features)])
    for i in range(len(features)):
        if features[i] >= 0 and values[i] == values[i]:
            log += _explained(s, features[i], values[i], ways[i])
    return min(max(math.exp(log), LEAST_FACTOR), LARGEST_FACTOR)


@inner
def _take(s: ErrorSizes, j: int, x: float, ways: Floats, e: float, pull: float) -> None:
    """Learn one value: its tests and weights, then its mean and variance."""
    for way in range(WAYS):
        phi, weight = ways[way], s.weight[j, way]
        product = KEEP * s.product[j, way] + e * phi
        square = KEEP * s.square[j, way] + (e * phi) ** 2
        s.product[j, way], s.square[j, way] = product, square
        # Both squared: a root for every number that is read would cost as much as all the rest.
        found, chance = product * product, max(square, 1.0)
        if found < LEAVE**2 * chance:
            s.weight[j, way] = 0.0
        elif s.reads[j] > ENOUGH and (found > ENTER**2 * chance or weight != 0.0):
            weight += STEP / math.sqrt(chance) * pull * phi
            s.weight[j, way] = min(max(weight, -LARGEST_WEIGHT), LARGEST_WEIGHT)
    s.reads[j] += 1.0
    share = max(1.0 / s.reads[j], 1.0 / LOOKBACK)
    if s.variance[j] > 0.0:
        for way in range(CENTRED):
            s.centres[j, way] += share * ways[way]
    off = x - s.mean[j]
    s.mean[j] += share * off
    s.variance[j] = (1.0 - share) * (s.variance[j] + share * off * off)


@inner
def _learn(
    s: ErrorSizes,
    features: Indices,
    values: Floats,
    prediction: float,
    error: float,
    ways: Floats,
) -> float:
    """The factor as it is now, and then learn the error."""
    factor = _factor(s, features, values, prediction, ways)
    size, e, pull = abs(error), 0.0, 0.0
    if s.labels[SUM] > 0.0:
        mean = s.labels[SUM] / s.labels[COUNT]
        e = min(size / mean, LARGEST_SIZE) - 1.0
        pull = min(size / mean / factor, LARGEST_SIZE) - 1.0
        share = max(1.0 / (s.labels[TOLD] + 1.0), 1.0 / LOOKBACK)
        s.usual[ONLY] += share * (e - s.usual[ONLY])
        e -= s.usual[ONLY]
        if s.labels[TOLD] > FREE:
            size = min(size, OUTLIER * mean)
    for i in range(len(features)):
        if features[i] >= 0 and values[i] == values[i]:
            _take(s, features[i], values[i], ways[i], e, pull)
    _take(s, len(s.reads) - 1, prediction, ways[len(features)], e, pull)
    s.labels[SUM] = FADE * s.labels[SUM] + size
    s.labels[COUNT] = FADE * s.labels[COUNT] + 1.0
    s.labels[TOLD] += 1.0
    return factor


@kernel
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
    return _factor(s, features, values, prediction, np.empty((len(features) + 1, WAYS)))


@kernel
def factors_of(
    s: ErrorSizes,
    features: Indices,
    values: Floats,
    predictions: Floats,
    errors: Floats,
    factors: Floats,
) -> None:
    """`factor_of` each row in turn, its error being learnt after it; `factors` gets them."""
    ways = np.empty((features.shape[1] + 1, WAYS))
    for row in range(len(errors)):
        factors[row] = _learn(s, features[row], values[row], predictions[row], errors[row], ways)
