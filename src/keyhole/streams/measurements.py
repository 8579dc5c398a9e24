"""Labels that come from a few of many linear measurements of a Gaussian row."""

from __future__ import annotations

import numpy as np

from keyhole.problem import Floats, real_number, sparsity, whole_number
from keyhole.streams.designs import Rows, gaussian
from keyhole.streams.simulate import TRUTH, Simulated, Truth, follow, keyed


def standard_normal(d: int, rng: np.random.Generator) -> Rows:
    """Independent standard Gaussian values, not cut off anywhere.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> standard_normal(3, rng)(5, rng).shape
    (5, 3)
    """
    return lambda n, rng: rng.standard_normal((n, d))


def linear_measurements(
    d: int, k: int, n: int, *, measurements: int = 100, noise_sd: float = 1.0, seed: int = 0
) -> Simulated:
    """The generator of Ito et al. 2018: w = A u with a sparse u, rows and noise Gaussian.

    A is d x measurements, standard Gaussian with every row scaled to length 1; the first k entries
    of u are standard Gaussian, the others 0; y = <x, A u> + noise. A column of A is what one
    measurement weighs the features by, so the label is a weighted sum of k measurements <a_i, x>;
    in the features themselves it is dense: every w_j is Gaussian with variance about
    k / measurements.

    Parameters
    ----------
    d, k, n
        Features, measurements that matter, rows.
    measurements
        Columns of A, at least k.
    noise_sd
        Standard deviation of the noise.
    seed
        Random seed.

    Guarantee
    ---------
    E (y | x) = <x, truth.weights>, exactly. Neither rows nor labels are bounded.

    Deviations
    ----------
    The paper says that A is normalised and not how. Rows of length 1 give the size of regret it
    reports for k = 8 (columns of length 1 would give ten times that).

    Examples
    --------
    >>> stream, truth = linear_measurements(d=10, k=4, n=5000)
    >>> stream.d, stream.rounds, len(truth.support), truth.noise_sd
    (10, 5000, 10, 1.0)

    References
    ----------
    Ito, Hatano, Sumita, Yabe, Fukunaga, Kakimura, Kawarabayashi 2018, Online regression with
    partial information: generalization and linear projection, AISTATS.
    """
    d, m = whole_number("d", d, 1), whole_number("measurements", measurements, 1)
    k = sparsity(k, m)
    noise_sd = real_number("noise_sd", noise_sd, 0.0)
    w = measured_weights(d, k, m, keyed(seed, TRUTH))
    truth = Truth(w, np.arange(d), 0.0, noise_sd)
    return follow(truth, n, design=standard_normal, noise=gaussian, seed=seed)


def measured_weights(d: int, k: int, m: int, rng: np.random.Generator) -> Floats:
    """A u, with rows of A of length 1 and k standard Gaussian entries in u."""
    A = rng.standard_normal((d, m))
    A /= np.sqrt((A * A).sum(axis=1, keepdims=True))
    # Only the columns that u weighs; a plain sum, so that no BLAS decides how it is rounded.
    w: Floats = (A[:, :k] * rng.standard_normal(k)).sum(axis=1)
    return w
