"""Sums of x x^T and counts of pairs over partially seen rows: three ways, the same bits.

Every way adds to any one sum in the order of the rows, one product after the other (a product with
an unseen value is a zero, and adding a zero changes no bit), so which way is taken is a matter of
speed alone. A library's matrix product is up to twice as fast as the block here, but adds in an
order of its own, which depends on shapes, processors and threads.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from keyhole.core.functions import c_function
from keyhole.learners.blocks.sums.rows import Gathered, Rows
from keyhole.problem import Floats, Indices

# Both crossings are measured by `make bench` (benchmarks/speed/products.py); C has them too.
SHARE, OVERHEAD = 0.35, 20.0  # rows that see more than SHARE d + OVERHEAD features go as a block
CACHED = 300  # up to this d the sums stay in the cache, wherever one jumps


class PairSums(NamedTuple):
    """What is added to: `sums` begins with the triangle of x x^T, `pairs` is that of the counts."""

    d: int
    sums: Annotated[Floats, "."]
    pairs: Annotated[Indices, "."]


@c_function("kh_by_row", long=True)
def by_row(rows: Rows, first: int, last: int, into: PairSums) -> None:
    """Rows first, ..., last - 1 one after the other: O(seen^2) each, best while all is cached."""
    raise NotImplementedError


@c_function("kh_by_feature", long=True)
def by_feature(rows: Rows, first: int, last: int, into: PairSums, room: Gathered) -> None:
    """The same, gone through one row of the triangle after the other."""
    raise NotImplementedError


@c_function("kh_as_block", room="65*d+8192", long=True)
def as_block(rows: Rows, first: int, last: int, into: PairSums) -> None:
    """The same as a product of blocks with zeros where nothing was seen: O(d^2) per row.

    Z^T Z for 64 rows Z at a time, tile by tile of its columns, two rows i and i + 1 of the
    triangle at a time from column i + 2 on; what is left of it goes one by one.
    """
    raise NotImplementedError
