"""State: what is saved of a learner, what its fields may hold, and how it is restored.

A learner can be saved if it has two methods, `state` and `from_state`; for most they are one line
each, `snapshot` and `restore`, beside a list of what changes as it plays:

    SAVED = ("_desk", "_moments")

    def state(self) -> LearnerState:
        return snapshot(self, {"seed": self.seed})

    @classmethod
    def from_state(cls, state: LearnerState) -> Self:
        return restore(cls, state)

Attributes in SAVED may be numbers, strings, None, arrays, lists, tuples, dicts, dataclasses,
NamedTuples, a `Desk`, `Moments`, and objects whose class has a SAVED of its own. They are packed
into trees: numbers, strings and arrays in lists and dicts. Nothing of a tree is ever executed or
looked up: what is restored goes into an object that exists already and must look like what it
replaces. A tuple, a dict and a record (a dataclass or a NamedTuple) are marked:
{"is": "tuple", "of": [...]}, {"is": "dict", "of": [[key, value], ...]}, {"is": "Draw", "j": ...}.

What a field may hold is declared with it:

    class Batch(NamedTuple):
        S: Annotated[Indices, Holds(below="d", ascending=True)]
        rows: Annotated[Indices, Holds(most="closed")]

`state_checks` checks a state from a file against that, before compiled code sees it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import (
    Annotated,
    Any,
    NamedTuple,
    Protocol,
    Self,
    TypeGuard,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import FeatureNames, KeyholeError, StateError
from keyhole.problem.desk import Desk, UnpackedTicket, pack_tickets, unpack_tickets
from keyhole.problem.problem import Learner, Problem
from keyhole.problem.ticket import Floats, Indices

SizeOrName = int | float | str
MAX_WHOLE_NUMBER = 2**53  # what whole numbers are at most; exact as a float too


@dataclass(frozen=True, slots=True)
class Holds:
    """The numbers a field may hold. Without one: finite numbers, whole ones from 0 to 2^53.

    A size is a number or a name: `d`, `k` or `budget` of the problem, something else that the
    learner says in `_sizes`, `features` for those of a ticket, or another field of the same record
    or of one around it (a number is meant as it is, an array as its last dimension). "name+1" is
    one more.

    Parameters
    ----------
    least, most
        Bounds of every number; `least` may have one for each place of the last dimension.
    below
        As `most`, but not included.
    shape
        What the dimensions must be; None where the learner has an array to compare with.
    longest
        What the length, of the one dimension there is, is at most.
    ascending, distinct
        Each number larger than the one before; none twice.
    among
        Every number is one of those in that field.
    nan, infinite
        What may stand in place of a number.
    constant
        Must be what a new learner has there.
    """

    least: float | tuple[float, ...] | None = None
    most: SizeOrName | None = None
    below: SizeOrName | None = None
    shape: tuple[SizeOrName, ...] | None = None
    longest: SizeOrName | None = None
    ascending: bool = False
    distinct: bool = False
    among: str | None = None
    nan: bool = False
    infinite: bool = False
    constant: bool = False


ANYTHING_FINITE = Holds()
AT_LEAST_0 = Holds(least=0.0)
MAY_OVERFLOW = Holds(least=0.0, infinite=True)  # sums of fourth powers
MAY_BE_NAN = Holds(nan=True)
PerFeature = Annotated[Floats, Holds(shape=("features",))]  # of the ticket
AscendingFeatures = Annotated[Indices, Holds(below="d", ascending=True)]


class FieldRule(NamedTuple):
    """A field as its annotation has it: its rule, and the type of its numbers or its record."""

    holds: Holds = ANYTHING_FINITE
    dtype: np.dtype[Any] | None = None
    record: type | None = None


@functools.cache
def field_rules(kind: type) -> dict[str, FieldRule]:
    """What each annotated field of a class may hold."""
    return {
        name: _field_rule(hint) for name, hint in get_type_hints(kind, include_extras=True).items()
    }


def _field_rule(hint: Any) -> FieldRule:
    rule, inner = ANYTHING_FINITE, hint
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        [rule] = [note for note in notes if isinstance(note, Holds)] or [rule]  # one says it all
    for option in (inner, *get_args(inner)):  # an array, or perhaps one
        if get_origin(option) is np.ndarray:
            numbers = get_args(get_args(option)[1])
            if numbers and isinstance(numbers[0], type):
                return FieldRule(rule, np.dtype(numbers[0]))
        if isinstance(option, type) and dataclasses.is_dataclass(option):
            return FieldRule(rule, record=option)
    return FieldRule(rule)


def constant_fields(kind: type) -> frozenset[str]:
    """The fields of a class that must be what a new learner has there."""
    return frozenset(name for name, field in field_rules(kind).items() if field.holds.constant)


Tree = Any  # None, bool, int, float, str, array; a list of trees; a dict from strings to trees

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


def unpack(tree: Tree, where: str, kinds: Sequence[type] = ()) -> Any:
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
    like: Any, tree: Tree, where: str, *, loose: bool = False, kinds: Sequence[type] = ()
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
    for name in constant_fields(type(like)) & values.keys():
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


def _fit_collection(like: Any, tree: Tree, where: str, loose: bool, kinds: Sequence[type]) -> Any:
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


def _tickets_one_by_one(tree: Tree, where: str) -> list[UnpackedTicket]:
    """As files of format 1 have them."""
    tickets = list[UnpackedTicket]()
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


L = TypeVar("L", bound=Learner)


@dataclass(frozen=True, slots=True, eq=False)
class LearnerState:
    """Everything a learner is: `settings` make it anew, `parts` are what it has learnt since.

    Both are trees: None, numbers, strings, arrays, and lists and dicts of them, all copies.
    """

    learner: str
    problem: Problem
    round: int
    settings: Mapping[str, Tree]
    parts: Mapping[str, Tree]

    def part(self, key: str) -> Tree:
        """One of the parts, or a StateError that names it."""
        if key not in self.parts:
            raise StateError(f"the state of {self.learner} lacks {key}")
        return self.parts[key]

    def copied(self) -> LearnerState:
        """The same state, with arrays that nothing else has."""
        return replace(self, settings=deepcopy(self.settings), parts=deepcopy(self.parts))


class StatefulLearner(Learner, Protocol):
    """A learner that can be saved."""

    def state(self) -> LearnerState:
        """Everything it is, copied; changes nothing."""

    @classmethod
    def from_state(cls, state: LearnerState) -> Self:
        """The learner that `state` described: its future is the same bit for bit."""


def has_state(learner: Learner) -> TypeGuard[StatefulLearner]:
    """Whether a learner can be saved."""
    methods = (getattr(type(learner), name, None) for name in ("state", "from_state"))
    return all(callable(method) for method in methods)


def snapshot(learner: Learner, settings: Mapping[str, Any], **parts: Any) -> LearnerState:
    """The state of a learner: its settings, the attributes named in SAVED, and further parts.

    `settings` are the arguments its class is called with, beside the problem, to make it anew.
    """
    name = type(learner).__name__
    saved = {key_of(a): pack(getattr(learner, a), f"{name}.{a}") for a in saved_names(learner)}
    return LearnerState(
        name,
        learner.problem,
        learner.round,
        {key: pack(value, f"{name}.{key}") for key, value in settings.items()},
        {**saved, **{key: pack(part, f"{name}.{key}") for key, part in parts.items()}},
    )


def restore(
    cls: Callable[..., L],
    state: LearnerState,
    *,
    loose: Sequence[str] = (),
    kinds: Sequence[type] = (),
    settings: Mapping[str, Any] | None = None,
) -> L:
    """A learner made from the settings, with the attributes named in SAVED put back.

    What is put back must look like what the new learner has there: the same types, the same
    shapes. Anything else is a StateError.

    Parameters
    ----------
    cls
        The class, called with the problem and the settings.
    state
        What `snapshot` returned.
    loose
        Attributes whose arrays may have other lengths than at the beginning.
    kinds
        Dataclasses and NamedTuples that may be found where a new learner has None.
    settings
        In place of those of the state, where they are not what the class is called with.
    """
    if settings is None:
        settings = {key: unpack(value, key) for key, value in state.settings.items()}
    learner = cls(state.problem, **settings)
    for attribute in saved_names(learner):
        key, like = key_of(attribute), getattr(learner, attribute)
        value = fit(like, state.part(key), key, loose=attribute in loose, kinds=kinds)
        setattr(learner, attribute, value)
    if learner.round != state.round:
        raise StateError(f"the state is of round {state.round}, its desk of {learner.round}")
    return learner
