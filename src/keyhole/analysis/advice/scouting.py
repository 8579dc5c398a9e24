"""A random share of the rows of a stream, looked at completely; the others are not looked at."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from keyhole.learners.blocks.draw.sampling import uniforms
from keyhole.problem import BlockStream, Floats, real_number
from keyhole.streams.arrays import GeneratedStream

PURPOSE = 0x5C07  # separates these draws from those of learners with the same seed


class Scout(GeneratedStream):
    """The rows that a draw keyed by (seed, round) picks, each with chance `share`.

    `passed` counts the rows of the last pass that was finished, looked at or not.
    """

    def __init__(self, stream: BlockStream, share: float, seed: int) -> None:
        share = real_number("scout", share, 0.0, 1.0)
        self.passed = 0

        def chunks() -> Iterator[tuple[NDArray[np.floating], Floats]]:
            t = 0
            for X, y in stream.blocks():
                picked = np.array(
                    [
                        uniforms(seed, t + i, 1, purpose=PURPOSE)[0] < share
                        for i in range(1, len(y) + 1)
                    ]
                )
                t += len(y)
                if picked.any():
                    yield X[picked], y[picked]
            self.passed = t

        super().__init__(stream.d, None, chunks, stream.names)
