"""Save, load and merge: learners as files, and learners of disjoint shards as one."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, overload

import numpy as np

from keyhole.game.ledger import Ledger
from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.learners.registry import learner_class, learner_classes
from keyhole.problem import Floats, Learner, StateError, nearest
from keyhole.problem.atomic_file import whole_file
from keyhole.problem.state import LearnerState, StatefulLearner, has_state
from keyhole.saving.archive import decode_in_place, encode, sums_from_bytes, write_state, write_sums
from keyhole.version import __version__

L = TypeVar("L", bound=StatefulLearner)


def save(learner: Learner | DataSums, path: str | os.PathLike[str]) -> None:
    """Save a learner to a file, from which `load` makes one that continues exactly the same.

    Sums of a data set can be saved too.

    The file appears under its name when it is complete and on disk: whatever happens, power cuts
    included, there is the old file or the new one. The same learner gives the same bytes.

    Examples
    --------
    >>> import tempfile
    >>> import keyhole as kh
    >>> learner = kh.RandomSubset(kh.Problem(d=9, k=1, budget=3), seed=5)
    >>> ticket = learner.ask()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kh.save(learner, folder + "/learner.npz")
    ...     again = kh.load(folder + "/learner.npz")
    >>> type(again).__name__, again.round
    ('RandomSubset', 1)
    >>> again.tell(ticket.fill([1.0, 2.0, 3.0]), 0.5)  # tickets stay open
    """
    state = learner if isinstance(learner, DataSums) else _state_of(learner)
    with whole_file(Path(path), StateError) as file:
        if isinstance(state, DataSums):
            write_sums(state, file.write)
        else:
            write_state(state, __version__, file.write)


@overload
def load(path: str | os.PathLike[str]) -> StatefulLearner: ...


@overload
def load(path: str | os.PathLike[str], kind: type[DataSums]) -> DataSums: ...


@overload
def load(path: str | os.PathLike[str], kind: type[L]) -> L: ...


def load(
    path: str | os.PathLike[str], kind: type[L] | type[DataSums] | None = None
) -> StatefulLearner | L | DataSums:
    """The learner that `save` wrote; a StateError if the file is not one, or is damaged.

    Parameters
    ----------
    path
        The file.
    kind
        The class of the learner, needed for learners that keyhole does not know; `kh.DataSums`
        for sums.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise StateError(f"cannot read {path}: {error.strerror or error}") from None
    except (TypeError, ValueError) as error:  # no path at all, or one that holds a NUL
        raise StateError(f"path must be the path of a file: {error}") from None
    try:
        if kind is not None and issubclass(kind, DataSums):
            return sums_from_bytes(data)
        return from_bytes(data) if kind is None else from_bytes(data, kind)
    except StateError as error:
        raise StateError(f"{path}: {error}") from None


def to_bytes(learner: Learner) -> bytes:
    """What `save` writes."""
    return encode(_state_of(learner), __version__)


def _state_of(learner: Learner) -> LearnerState:
    if not has_state(learner):
        name = type(learner).__name__
        raise StateError(
            f"{name} cannot be saved: it has no state() and from_state(), "
            "see docs/howto/add-a-learner.md"
        )
    return learner.state()


@overload
def from_bytes(data: bytes) -> StatefulLearner: ...


@overload
def from_bytes(data: bytes, kind: type[L]) -> L: ...


def from_bytes(data: bytes, kind: type[L] | None = None) -> StatefulLearner | L:
    """The learner that `to_bytes` described."""
    state = decode_in_place(data)
    if kind is not None and kind.__name__ != state.learner:
        raise StateError(f"it holds a {state.learner}, not a {kind.__name__}")
    own = learner_class(state.learner)
    maker = own if kind is None else kind
    if maker is None:
        raise StateError(
            f"it holds a {state.learner}, which is not one of keyhole's"
            f"{nearest(state.learner, list(learner_classes()))}: pass its class as `kind`"
        )
    try:
        # Learners of keyhole copy what they put back; others may keep the arrays of the state.
        return maker.from_state(state if maker is own else state.copied())
    except StateError:
        raise
    except Exception as error:  # settings and parts are data: whatever they lead to is their fault
        raise StateError(f"it does not make a {state.learner}: {error}") from None


@overload
def merge(a: Ledger, b: Ledger) -> Ledger: ...


@overload
def merge(a: DataSums, b: DataSums) -> DataSums: ...


@overload
def merge(a: Learner, b: Learner) -> Learner: ...


def merge(
    a: Learner | Ledger | DataSums, b: Learner | Ledger | DataSums
) -> Learner | Ledger | DataSums:
    """The learner, ledger or sums of two disjoint shards together; a and b stay as they are.

    Works where everything learnt is sums: `DantzigLearner` as printed, ledgers of consecutive
    rounds, in either order, and `DataSums`. The rest is refused by name. A merged learner solves
    its program at once, counts the rounds of both, and goes on under the smaller of the two seeds.

    A learner's shards are the pairs (seed, rounds) it has drawn for. Two that share one have drawn
    the same sets, and as a rule seen the same examples: they are refused. So give every shard a
    seed of its own. Open tickets must be told or dropped first.

    Guarantee
    ---------
    merge(a, b) and merge(b, a) are the same to the last bit, merge(merge(a, b), c) and
    merge(a, merge(b, c)) have the same sums up to rounding, and the moments are those of one
    `Moments` that was given all the rows, up to rounding.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=2048, noise_sd=0.1, seed=0)
    >>> problem = kh.Problem(d=20, k=2, budget=10)
    >>> shards = [kh.DantzigLearner(problem, seed=seed, noise_sd=0.1) for seed in (1, 2)]
    >>> for learner, (X, y) in zip(shards, stream.blocks(1024)):
    ...     ledger = kh.play(learner, kh.streams.ArrayStream(X, y))
    >>> kh.merge(*shards).round
    2048
    """
    name, other = type(a).__name__, type(b).__name__
    if type(a) is not type(b):
        raise StateError(f"a {name} and a {other} cannot be merged")
    if isinstance(a, Ledger) and isinstance(b, Ledger):
        return _merge_ledgers(a, b)
    if isinstance(a, DataSums) and isinstance(b, DataSums):
        return a + b
    # Imported here: most who save and load have no learner like this, and need not wait for it.
    from keyhole.learners.dantzig import DantzigLearner

    # Exactly this class: a subclass may keep more than sums.
    if type(a) is not DantzigLearner or type(b) is not DantzigLearner:
        raise StateError(
            f"{name} cannot be merged: what it learns is more than sums over its rounds; "
            "DantzigLearner (threshold as printed), Ledger and DataSums can"
        )
    learner = DantzigLearner.from_state(_merge_dantzig(a.state(), b.state()))
    learner.refit()
    return learner


def _merge_ledgers(a: Ledger, b: Ledger) -> Ledger:
    first, second = sorted((a, b), key=lambda ledger: ledger.first_round)
    if a.rounds and b.rounds and second.first_round <= first.last_round:
        last = min(first.last_round, second.last_round)
        raise StateError(
            f"ledgers that overlap cannot be merged: both have rounds {second.first_round} to "
            f"{last}"
        )
    return first + second


def _merge_dantzig(a: LearnerState, b: LearnerState) -> LearnerState:
    """The state of both, but for the model, which is that of no rounds."""
    _refuse_mixture(a, b)
    for seed, first, last in _shards(a):
        for its, start, stop in _shards(b):
            if seed == its and start <= last and first <= stop:
                raise StateError(
                    f"shards that overlap cannot be merged: both have rounds {max(first, start)} "
                    f"to {min(last, stop)} of seed {seed}; give every shard a seed of its own"
                )
    from keyhole.learners.blocks.sums.moments import Moments
    from keyhole.learners.blocks.sums.reach import packed, together, unpacked
    from keyhole.learners.dantzig import DantzigLearner

    settings = {**a.settings, "seed": min(a.settings["seed"], b.settings["seed"])}
    empty = DantzigLearner(a.problem, **settings).state()
    moments = Moments.from_arrays(a.parts["moments"]) + Moments.from_arrays(b.parts["moments"])
    logs = a.parts["diagnostics"], b.parts["diagnostics"]
    counts = {key: logs[0][key] + logs[1][key] for key in ("solves", "infeasible", "unsolved")}
    parts = {
        **empty.parts,
        "desk": {"round": a.round + b.round, "open": [], "labels": _span(a, b)},
        "moments": moments.arrays(),
        "asked": a.parts["asked"] + b.parts["asked"],
        "diagnostics": {**empty.parts["diagnostics"], **counts},
        "shards": sorted(_shards(a) + _shards(b)),
    }
    seen = [state.parts["reach"] for state in (a, b) if "reach" in state.parts]
    if seen:  # not in files from before there were doubts
        parts["reach"] = packed(together([unpacked(rows, a.problem.d) for rows in seen]))
    return replace(empty, round=a.round + b.round, parts=parts)


def _span(*states: LearnerState) -> Floats:
    """The range of the labels that all of them were told."""
    ends = np.array([state.parts["desk"]["labels"] for state in states])
    return np.array([ends[:, 0].min(), ends[:, 1].max()])


def _refuse_mixture(a: LearnerState, b: LearnerState) -> None:
    if a.problem != b.problem:
        raise StateError(f"learners of different problems: {a.problem}, {b.problem}")
    for key, value in a.settings.items():
        if key != "seed" and value != b.settings[key]:
            raise StateError(f"learners of different {key}: {value}, {b.settings[key]}")
    for state in (a, b):
        waiting = len(state.parts["desk"]["open"])
        if waiting:
            raise StateError(f"{waiting} open tickets: tell or drop them before merging")


def _shards(state: LearnerState) -> list[list[int]]:
    """[seed, first round, last round] of everything a learner has drawn for."""
    merged: list[list[int]] = state.parts["shards"]
    before = sum(last - first + 1 for _, first, last in merged)
    own = [[state.settings["seed"], before + 1, state.round]] if state.round > before else []
    return merged + own
