"""Keeping the larger kernels of the Dantzig program whole.

LLVM would copy each of them into every place that calls it, and optimise and translate all those
copies again for every kernel above: a good part of the time of compiling, and nothing gained,
because they run for much longer than a call takes.

It would also have to assume that the arrays of a kernel may overlap, and ask before every loop
whether they do, which takes as long as the loop over a row of a small basis. It is told that no
number written through one argument is read or written through another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from numba import types
from numba.extending import intrinsic


def _apart(typing_context: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.function.attributes.add("noinline")
        for argument in builder.function.args:
            if str(argument.type) == "double*":
                argument.add_attribute("noalias")
        return context.get_dummy_value()

    return types.void(), build


_known: Any = intrinsic
# First line of an inner kernel that is to be called, never copied into its callers. What it writes
# through one array it must not touch through another one: two rows of one matrix are fine.
apart = cast(Callable[[], None], _known(_apart))
