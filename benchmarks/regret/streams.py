"""Makes the rows of a setting of `benchmarks.regret`, in the units that everyone is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import keyhole as kh
from benchmarks.common.files import standardised
from benchmarks.regret.suite import Setting
from keyhole.problem import Floats
from keyhole.streams import ArrayStream, collect, take

Rows = tuple[NDArray[np.floating], Floats]
SHUFFLE = 0  # the seed that chooses the rows of a file that is cut


class Instance(NamedTuple):
    """Rows as they are played, as they came, and what a squared loss of the former is worth."""

    played: ArrayStream
    raw: ArrayStream
    squared_unit: float


def _agnostic(arguments: Mapping[str, Any], rounds: int, seed: int) -> Rows:
    return collect(kh.streams.agnostic_suite(arguments["name"], rounds, seed=seed).stream)


def _realizable(arguments: Mapping[str, Any], rounds: int, seed: int) -> Rows:
    return collect(kh.streams.realizable_suite(arguments["name"], rounds, seed=seed).stream)


def _measurements(arguments: Mapping[str, Any], rounds: int, seed: int) -> Rows:
    return collect(kh.streams.linear_measurements(n=rounds, seed=seed, **arguments).stream)


@lru_cache(maxsize=1)
def _cut(path: str, changed: int, target: str, shuffled: bool, rounds: int) -> Rows:
    stream = kh.streams.read(path, target=target)
    if not shuffled:
        return collect(take(stream, rounds))
    X, y = collect(kh.streams.shuffle(stream, SHUFFLE))
    return X[:rounds], y[:rounds]


def _file(arguments: Mapping[str, Any], rounds: int, seed: int) -> Rows:
    changed = Path(arguments["path"]).stat().st_mtime_ns
    X, y = _cut(rounds=rounds, changed=changed, **arguments)
    if arguments["shuffled"]:
        order = np.random.default_rng(seed).permutation(len(y))
        return X[order], y[order]
    return X, y


MAKERS: dict[str, Callable[[Mapping[str, Any], int, int], Rows]] = {
    "agnostic": _agnostic,
    "realizable": _realizable,
    "measurements": _measurements,
    "file": _file,
}

# Where the rows come from: a change there makes other rows.
SOURCES: dict[str, tuple[str, ...]] = {
    "agnostic": ("keyhole.streams.suites",),
    "realizable": ("keyhole.streams.suites",),
    "measurements": ("keyhole.streams.synthetic",),
    "file": ("keyhole.streams.files",),
}


def instance(setting: Setting, seed: int) -> Instance:
    """The rows of a setting at a seed, the same for everyone who plays them."""
    rows, labels = MAKERS[setting.maker](setting.arguments, setting.rounds, seed)
    # One type and order for all: compiled code is made once for each.
    X, y = np.ascontiguousarray(rows, dtype=np.float64), np.ascontiguousarray(labels)
    raw = ArrayStream(X, y)
    if setting.units == "own":
        return Instance(raw, raw, 1.0)
    unit = float(y.std()) or 1.0
    return Instance(ArrayStream(standardised(X), (y - y.mean()) / unit), raw, unit * unit)
