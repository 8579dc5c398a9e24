"""What every room of the benchmarks uses: the store of results, names of cells, tables, clocks."""

from typing import Any

Row = dict[str, Any]  # one result: plain values that JSON can hold
