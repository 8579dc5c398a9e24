"""A few of very many features: the subset that working space for all of them would give."""

import numpy as np
import pytest

from keyhole.learners.blocks.draw.philox import complement, few_outside, scratch


@pytest.mark.parametrize(("d", "m"), [(5, 0), (9, 3), (40, 6), (300, 17), (300, 250), (5_000, 20)])
def test_few_outside_is_the_complement(d: int, m: int) -> None:
    """Where len(out)^2 is below d, and where it is above and working space is made."""
    rng, drawn = np.random.default_rng(d + m), set()
    for t in range(1, 26):
        support = np.sort(rng.choice(d, rng.integers(0, min(4, d - m) + 1), replace=False))
        expected, found = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
        complement(3, t, 7, d, support, expected, scratch(d))
        few_outside(3, t, 7, d, support, found)
        assert found.tolist() == expected.tolist()
        assert not set(found.tolist()) & set(support.tolist())
        drawn.add(found.tobytes())
    assert len(drawn) > 1 or m == 0
