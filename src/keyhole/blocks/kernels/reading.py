"""How a compiled round reads its row: at the features it buys, and nowhere else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.kernels.jit import inner
from keyhole.errors import LARGEST
from keyhole.problem import Floats, Indices


@inner
def read(
    row: NDArray[np.floating], features: Indices, values: Floats, bought: NDArray[np.int32]
) -> bool:
    """Whether the values at the features, written to `values`, can all be squared or are absent.

    `bought` receives the features, then -1.
    """
    for a in range(len(features)):
        values[a] = row[features[a]]
        if abs(values[a]) > LARGEST:  # NaN is absent and passes
            return False
        bought[a] = features[a]
    bought[len(features) :] = -1
    return True
