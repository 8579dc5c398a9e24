"""The open tickets of a desk as a few large arrays: a hundred thousand of them are saved at once.

Tickets whose memos have the same keys, types and dimensions form a group. Of a group, all features
stand one after the other in one array, and so does every entry of the memos:

    {"rounds": [...], "lengths": [...], "features": [...],
     "memo": {"explore": {"shapes": one row each, "values": [...]}, ...}}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import StateError
from keyhole.problem.ticket import Indices, Ticket

Tree = Any  # see `serialize`
Written = tuple[int, Indices, dict[str, NDArray[Any]]]  # round, features, memo
Signature = tuple[tuple[str, str, int], ...]  # of a memo: key, dtype, dimensions


def pack_tickets(tickets: Iterable[Ticket]) -> Tree:
    """Open tickets as a tree."""
    groups: dict[Signature, list[Ticket]] = {}
    for ticket in tickets:
        memo = ticket.memo
        signature = tuple((key, memo[key].dtype.str, memo[key].ndim) for key in sorted(memo))
        groups.setdefault(signature, []).append(ticket)
    return [_pack_group(signature, group) for signature, group in groups.items()]


def _pack_group(signature: Signature, tickets: list[Ticket]) -> Tree:
    memo = {}
    for key, dtype, ndim in signature:
        arrays = [ticket.memo[key] for ticket in tickets]
        shapes = np.array([array.shape for array in arrays], dtype=np.int64)
        memo[key] = {
            "shapes": shapes.reshape(len(arrays), ndim),
            "values": np.concatenate([array.ravel() for array in arrays]).astype(dtype),
        }
    return {
        "rounds": np.array([ticket.round for ticket in tickets], dtype=np.int64),
        "lengths": np.array([len(ticket.features) for ticket in tickets], dtype=np.int64),
        "features": np.concatenate([ticket.features for ticket in tickets]),
        "memo": memo,
    }


def unpack_tickets(tree: Tree, where: str) -> list[Written]:
    """Round, features and memo of each ticket, the oldest first; a StateError if that fails."""
    if not isinstance(tree, list):
        raise StateError(f"{where} must be groups of tickets, the state has {type(tree).__name__}")
    found = [ticket for i, group in enumerate(tree) for ticket in _group(group, f"{where}[{i}]")]
    return sorted(found, key=lambda ticket: ticket[0])


def _group(tree: Tree, where: str) -> Iterator[Written]:
    if not isinstance(tree, dict) or set(tree) != {"rounds", "lengths", "features", "memo"}:
        raise StateError(f"{where} is not a group of tickets")
    rounds = _whole(tree["rounds"], f"{where}.rounds")
    features = _cut(tree["features"], _whole(tree["lengths"], f"{where}.lengths"), where)
    if len(features) != len(rounds) or tree["features"].dtype != np.int64:
        raise StateError(f"{where} has {len(rounds)} rounds and features of {len(features)}")
    memos: list[dict[str, NDArray[Any]]] = [{} for _ in rounds]
    if not isinstance(tree["memo"], Mapping):
        raise StateError(f"{where}.memo is not a memo")
    for key, entry in tree["memo"].items():
        for memo, array in zip(memos, _entry(entry, len(rounds), f"{where}.{key}"), strict=True):
            memo[key] = array
    yield from zip(rounds.tolist(), features, memos, strict=True)


def _entry(tree: Tree, n: int, where: str) -> list[NDArray[Any]]:
    if not isinstance(tree, dict) or set(tree) != {"shapes", "values"}:
        raise StateError(f"{where} is not an entry of memos")
    shapes = _whole(tree["shapes"], f"{where}.shapes", ndim=2)
    if len(shapes) != n:
        raise StateError(f"{where} has {len(shapes)} shapes for {n} tickets")
    parts = _cut(tree["values"], shapes.prod(axis=1), where)
    return [part.reshape(shape) for part, shape in zip(parts, shapes.tolist(), strict=True)]


def _whole(array: Tree, where: str, ndim: int = 1) -> Indices:
    """An array of sizes: whole numbers, none of them negative or absurdly large."""
    if (
        not isinstance(array, np.ndarray)
        or array.dtype != np.int64
        or array.ndim != ndim
        or ((array < 0) | (array > 1 << 40)).any()
    ):
        raise StateError(f"{where} must be whole numbers from 0 on")
    return array


def _cut(flat: Tree, lengths: Indices, where: str) -> list[NDArray[Any]]:
    """A flat array in parts of these lengths."""
    if not isinstance(flat, np.ndarray) or flat.ndim != 1 or lengths.sum() != len(flat):
        raise StateError(f"{where}: the lengths of its parts do not add up")
    return np.split(flat, np.cumsum(lengths)[:-1]) if len(lengths) else []
