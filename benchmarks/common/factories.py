"""What makes a learner, as text, and the modules that it hangs on."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from functools import cache, partial
from types import FunctionType
from typing import Any

from benchmarks.common.sources import HERE
from keyhole.learners import LearnerRow

PLAIN = (bool, int, float, str, tuple)


def made_by(make: Callable[..., Any]) -> tuple[str, tuple[str, ...]]:
    """What a factory is ("" for a class), and the modules of what it names."""
    if isinstance(make, type):
        return "", (make.__module__,)
    if isinstance(make, LearnerRow):
        module, _, name = make.made_by.partition(":")
        return f"{name} {sorted(make.settings.items())!r}", (f"keyhole.learners.{module}",)
    if isinstance(make, partial):
        inner, named = made_by(make.func)
        return f"{inner} {make.args!r} {sorted(make.keywords.items())!r}", named
    return _of_function(make)


@cache
def _of_function(make: Any) -> tuple[str, tuple[str, ...]]:
    """What is imported inside, what it names around it, and what its helpers name."""
    text, named = HERE.normal(ast.parse(textwrap.dedent(inspect.getsource(make))))
    behind = set(named)
    for name in make.__code__.co_names:
        thing = make.__globals__.get(name)
        if isinstance(thing, PLAIN):
            text += f" {name} = {thing!r}"
        elif isinstance(thing, FunctionType) and thing is not make and not _ours(thing):
            helper, modules = made_by(thing)
            text, behind = f"{text} {helper}", behind | set(modules)
        elif thing is not None and _ours(thing):
            behind.add(thing.__module__)
    return HERE.said(text), tuple(sorted(behind))


def _ours(thing: Any) -> bool:
    return HERE.inside(str(getattr(thing, "__module__", "")))
