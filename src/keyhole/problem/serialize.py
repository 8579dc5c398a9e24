"""Trees: numbers, strings and arrays in lists and dicts, from objects and back into them.

Nothing of a tree is ever executed or looked up: what is put back goes into an object that is there
already and must look like what it replaces. A tuple, a dict and a record (a dataclass or a
NamedTuple) are marked: {"is": "tuple", "of": [...]}, {"is": "dict", "of": [[key, value], ...]},
{"is": "Draw", "j": ...}.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import FeatureNames, KeyholeError, StateError
from keyhole.problem.desk import Desk
from keyhole.problem.fields import constants
from keyhole.problem.open_tickets import Written, pack_tickets, unpack_tickets

Tree = Any  # None, bool, int, float, str, array; a list of trees; a dict from strings to trees
Kind = type[Any]

_PLAIN = (bool, int, float, str)
_TUPLES = (tuple, FeatureNames)


@runtime_checkable
class KeepsArrays(Protocol):
    """An object that says itself what is saved of it, and how it is put back."""

    def arrays(self) -> dict[str, Any]:
        """Numbers and arrays by name, all copies."""

    def with_arrays(self, arrays: Mapping[str, Any]) -> Self:
        """A new object of the same kind with these, or a StateError."""


def key_of(attribute: str) -> str:
    """What an attribute is called in a tree: its name without the underscores in front."""
    return attribute.lstrip("_")


def saved_names(thing: object) -> tuple[str, ...]:
    """The attributes that its class says are to be saved."""
    return tuple(getattr(type(thing), "SAVED", ()))


def pack(thing: Any, where: str) -> Tree:
    """Anything that can be saved as a tree; a copy. `where` is for the error if it cannot."""
    if thing is None or type(thing) in _PLAIN:
        return thing
    if isinstance(thing, np.ndarray) and thing.dtype.kind in "biuf":
        return np.array(thing)
    if isinstance(thing, np.bool_ | np.integer | np.floating):
        return thing.item()
    if isinstance(thing, Desk):
        tickets = pack_tickets(thing.open)
        return {"round": thing.round, "open": tickets, "labels": thing.labels.ends}
    if type(thing) is list:
        return [pack(value, f"{where}[{i}]") for i, value in enumerate(thing)]
    if type(thing) in _TUPLES:
        return {"is": "tuple", "of": pack(list(thing), where)}
    if isinstance(thing, KeepsArrays):  # after what is common: asking a protocol takes long
        return thing.arrays()
    if isinstance(thing, Mapping):
        return {"is": "dict", "of": pack([[key, value] for key, value in thing.items()], where)}
    if hasattr(type(thing), "SAVED"):
        return {key_of(a): pack(getattr(thing, a), f"{where}.{a}") for a in saved_names(thing)}
    fields = field_names(thing)
    if fields is not None:
        packed = {name: pack(getattr(thing, name), f"{where}.{name}") for name in fields}
        return {"is": type(thing).__name__, **packed}
    raise StateError(
        f"{where} is a {type(thing).__name__}, which cannot be saved: only numbers, strings, "
        "arrays, collections and records of them, and objects that name their parts in SAVED"
    )


def unpack(tree: Tree, where: str, kinds: Sequence[Kind] = ()) -> Any:
    """What `pack` was given, if no object was in it; records only of the given kinds."""
    if isinstance(tree, np.ndarray):
        return np.array(tree)
    if isinstance(tree, list):
        return [unpack(value, f"{where}[{i}]", kinds) for i, value in enumerate(tree)]
    if not isinstance(tree, dict):
        return tree
    name, known = tree.get("is"), {kind.__name__: kind for kind in kinds}
    if name == "tuple":
        return tuple(unpack(_marked("tuple", tree, where), where, kinds))
    if name == "dict":
        return {key: unpack(v, f"{where}.{key}", kinds) for key, v in _pairs(tree, where).items()}
    if isinstance(name, str) and name in known:
        fields = {key: unpack(v, f"{where}.{key}", kinds) for key, v in tree.items() if key != "is"}
        return _build(known[name], fields, where)
    raise refusal("something that can be there", tree, where)


def fit(
    like: Any, tree: Tree, where: str, *, loose: bool = False, kinds: Sequence[Kind] = ()
) -> Any:
    """What `pack` was given, if it looks like `like`; an object is changed in place.

    `loose` allows other lengths of arrays and collections. Where `like` is None anything can be.
    """
    if like is None:
        return unpack(tree, where, kinds)
    if isinstance(like, np.ndarray):
        return _fit_array(like, tree, where, loose)
    if isinstance(like, np.bool_ | np.integer | np.floating):
        return type(like)(fit(like.item(), tree, where))
    if isinstance(like, Desk):
        return _fit_desk(like, tree, where)
    if type(like) in _PLAIN:
        if type(tree) is not type(like):
            raise refusal(f"a {type(like).__name__}", tree, where)
        return tree
    if type(like) in (list, dict, *_TUPLES):
        return _fit_collection(like, tree, where, loose, kinds)
    if isinstance(like, KeepsArrays):  # after what is common: asking a protocol takes long
        return _fit_arrays(like, tree, where)
    if hasattr(type(like), "SAVED"):
        trees = entries(tree, [key_of(a) for a in saved_names(like)], where)
        values = {
            a: fit(
                getattr(like, a), trees[key_of(a)], f"{where}.{key_of(a)}", loose=loose, kinds=kinds
            )
            for a in saved_names(like)
        }
        _refuse_other_constants(like, values, where)
        for a, value in values.items():
            setattr(like, a, value)
        return like
    fields = field_names(like) or ()
    trees = entries(tree, ["is", *fields], where)
    if trees["is"] != type(like).__name__:
        raise refusal(f"a {type(like).__name__}", tree, where)
    values = {
        name: fit(getattr(like, name), trees[name], f"{where}.{name}", loose=loose, kinds=kinds)
        for name in fields
    }
    _refuse_other_constants(like, values, where)
    return _build(type(like), values, where)


def entries(tree: Tree, keys: Sequence[str], where: str) -> dict[str, Tree]:
    """The tree as a dict with exactly these keys, or a StateError."""
    if not isinstance(tree, dict) or set(tree) != set(keys):
        raise refusal(f"entries {', '.join(keys) or '(none)'}", tree, where)
    return tree


def refusal(wanted: str, tree: Tree, where: str) -> StateError:
    """The StateError of a tree that is not what is wanted."""
    found = type(tree).__name__
    if isinstance(tree, np.ndarray):
        found = f"an array {tree.dtype}{list(tree.shape)}"
    elif isinstance(tree, dict):
        found = f"entries {', '.join(map(str, tree))}"
    return StateError(f"{where} must be {wanted}, the state has {found}")


def field_names(thing: object) -> tuple[str, ...] | None:
    """The fields of a dataclass or NamedTuple, None for anything else."""
    if isinstance(thing, tuple):
        return getattr(type(thing), "_fields", None)
    if dataclasses.is_dataclass(thing):
        return tuple(field.name for field in dataclasses.fields(thing))
    return None


def _refuse_other_constants(like: object, values: Mapping[str, Any], where: str) -> None:
    """StateError if what must be as in a new learner is not."""
    for name in constants(type(like)) & values.keys():
        if not np.array_equal(getattr(like, name), values[name]):
            raise StateError(f"{where}.{key_of(name)} does not go with the settings")


def _build(kind: Callable[..., Any], values: dict[str, Any], where: str) -> Any:
    try:
        return kind(**values)
    except (TypeError, ValueError, AttributeError, KeyholeError) as error:
        raise StateError(f"{where} is not a {kind.__name__}: {error}") from None


def _marked(name: str, tree: Tree, where: str) -> list[Tree]:
    """What is in a marked list: {"is": name, "of": [...]}."""
    trees = entries(tree, ["is", "of"], where)
    if trees["is"] != name or not isinstance(trees["of"], list):
        raise refusal(f"a {name}", tree, where)
    return trees["of"]


def _pairs(tree: Tree, where: str) -> dict[Any, Tree]:
    pairs = _marked("dict", tree, where)
    if not all(isinstance(p, list) and len(p) == 2 and type(p[0]) in (int, str) for p in pairs):
        raise refusal("pairs of keys and values", pairs, where)
    return dict(pairs)


def _fit_array(like: NDArray[Any], tree: Tree, where: str, loose: bool) -> NDArray[Any]:
    fits = isinstance(tree, np.ndarray) and tree.dtype == like.dtype
    if not fits or (tree.ndim != like.ndim if loose else tree.shape != like.shape):
        shape = f" of {like.ndim} dimensions" if loose else str(list(like.shape))
        raise refusal(f"an array {like.dtype}{shape}", tree, where)
    return np.array(tree, order="C")  # compiled code takes no other


def _fit_collection(like: Any, tree: Tree, where: str, loose: bool, kinds: Sequence[Kind]) -> Any:
    if loose:
        found = unpack(tree, where, kinds)
        if not isinstance(like, type(found)):
            raise refusal(f"a {type(like).__name__}", tree, where)
        return found
    if isinstance(like, dict):
        trees = _pairs(tree, where)
        if trees.keys() != like.keys():
            raise refusal(f"a dict of {', '.join(map(str, like))}", tree, where)
        return {k: fit(v, trees[k], f"{where}.{k}", kinds=kinds) for k, v in like.items()}
    values = tree if isinstance(like, list) else _marked("tuple", tree, where)
    if not isinstance(values, list) or len(values) != len(like):
        raise refusal(f"{len(like)} values", tree, where)
    pairs = zip(like, values, strict=True)
    kind = list if isinstance(like, list) else tuple
    return kind(fit(a, b, f"{where}[{i}]", kinds=kinds) for i, (a, b) in enumerate(pairs))


def _fit_arrays(like: KeepsArrays, tree: Tree, where: str) -> KeepsArrays:
    arrays = like.arrays()
    trees = entries(tree, list(arrays), where)
    fitted = {key: fit(array, trees[key], f"{where}.{key}") for key, array in arrays.items()}
    try:
        return like.with_arrays(fitted)
    except StateError as error:
        raise StateError(f"{where} {error}") from None


def _fit_desk(desk: Desk, tree: Tree, where: str) -> Desk:
    # Files from before the desk knew the range of the labels lack it: nothing there needs it.
    known = ["labels"] if isinstance(tree, dict) and "labels" in tree else []
    trees = entries(tree, ["round", "open", *known], where)
    waiting = trees["open"]
    one_by_one = isinstance(waiting, list) and any(isinstance(ticket, list) for ticket in waiting)
    read = _tickets_one_by_one if one_by_one else unpack_tickets
    tickets = read(waiting, f"{where}.open")
    try:
        desk.restore(fit(0, trees["round"], f"{where}.round"), tickets)
        if known:
            desk.labels.restore(fit(desk.labels.ends, trees["labels"], f"{where}.labels"))
    except KeyholeError as error:
        raise StateError(f"{where}: {error}") from None
    return desk


def _tickets_one_by_one(tree: Tree, where: str) -> list[Written]:
    """As files of format 1 have them."""
    tickets = list[Written]()
    for values in fit([], tree, where, loose=True):
        match values:
            case [int(round), np.ndarray() as features, dict(memo)] if (
                features.dtype == np.int64
                and features.ndim == 1
                and all(isinstance(array, np.ndarray) for array in memo.values())
            ):
                tickets.append((round, features, memo))
            case _:
                raise refusal("tickets: round, features, memo", values, where)
    return tickets
