"""Files of AutoLearner from before its memories had seats: pairs of all features are there."""

from __future__ import annotations

from typing import Any

import numpy as np

from keyhole.blocks.sums.memories import Memories
from keyhole.problem import StateError


def with_seats(learnt: Any, new: Memories) -> Any:
    """What a file says was learnt, with memories as they are now; `new` are empty ones.

    Where there are too few seats for all features, those most strongly related to the label in the
    longest memory get one.
    """
    tree = dict(learnt) if isinstance(learnt, dict) else {}
    pairs = [pair for pair in tree.get("of", ()) if isinstance(pair, list) and len(pair) == 2]
    for pair in pairs:
        if pair[0] == "kept" and isinstance(pair[1], dict) and "who" not in pair[1]:
            others = [one for one in pairs if one[0] != "kept"]
            kept = {"is": pair[1].get("is"), **_seated(pair[1], new)._asdict()}
            return {**tree, "of": [*others, ["kept", kept]]}
    return learnt


def _seated(tree: dict[str, Any], new: Memories) -> Memories:
    memories, d = len(new.tau), len(new.seat)
    shapes = {"G": (memories, d + 1, d + 1), "c": (memories, d + 1), "n": (memories, d + 1)}
    shapes |= {"yy": (memories,), "scale": (memories,), "tau": (memories,)}
    if set(tree) != {"is", *shapes}:
        raise StateError(f"learnt.kept must be entries {', '.join(shapes)}")
    for name, shape in shapes.items():
        array = tree[name]
        if not isinstance(array, np.ndarray) or (array.shape, array.dtype) != (shape, np.float64):
            raise StateError(f"learnt.kept.{name} must be an array float64{list(shape)}")
    parts = {name: tree[name] for name in shapes}
    every, none = np.arange(d), np.zeros((memories, 0, 4))
    old = Memories(**parts, who=every, seat=every.copy(), rest=none)
    return old if len(new.who) == d else _few(old, len(new.who))


def _few(old: Memories, seats: int) -> Memories:
    """The same memories with fewer seats."""
    square = np.maximum(np.diagonal(old.G, axis1=1, axis2=2), 0.0)[:, :-1]
    with np.errstate(all="ignore"):
        strength = np.nan_to_num(old.c[0, :-1] ** 2 / square[0])
    stay = np.sort(np.argsort(-strength, kind="stable")[:seats])
    d, there = len(old.seat), np.append(stay, len(old.seat))
    sums = square, old.G[:, -1, :-1], old.c[:, :-1], old.n[:, :-1]
    rest, seat = np.stack(sums, axis=-1), np.full(d, -1, dtype=np.int64)
    rest[:, stay], seat[stay] = 0.0, np.arange(seats)
    G = np.ascontiguousarray(old.G[:, there][:, :, there])
    c, n = (np.ascontiguousarray(part[:, there]) for part in (old.c, old.n))
    return old._replace(G=G, c=c, n=n, who=stay, seat=seat, rest=rest)
