"""Kernels stand for what numba makes of them: they find what they call, and can be copied."""

import copy
import pickle
from typing import Any, cast

from keyhole.blocks.draw import keyed
from keyhole.blocks.jit.decorators import inner, kernel


@inner
def _twice(x: float) -> float:
    return 2.0 * x


@kernel
def twice_and_more(x: float, more: float = 1.0) -> float:
    """Calls a function of its own file, and one of another module by a dot."""
    return _twice(x) + more + float(keyed.scratch(3)[0, 2])


@kernel
def factorial(n: int) -> int:
    """Calls itself."""
    return 1 if n < 2 else n * factorial(n - 1)


def test_a_kernel_finds_what_it_calls() -> None:
    assert twice_and_more(3.0) == 9.0
    assert twice_and_more(3.0, more=0.5) == 8.5
    assert factorial(5) == 120


def test_a_kernel_is_copied_and_pickled_as_a_function_is() -> None:
    door = cast(Any, keyed.subset)
    assert copy.deepcopy([door])[0] is door
    assert pickle.loads(pickle.dumps(door)) is door
    assert door.__name__ == "subset"
    assert door.__doc__.startswith("A uniform subset")
