"""Bad calls: whatever can be handed to a learner, a ticket or a function that should not be."""

from __future__ import annotations

import copy
import functools
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import fields
from decimal import Decimal
from typing import Any

import numpy as np

import keyhole as kh
from benchmarks.attack.outcome import ChangedError, finite
from benchmarks.attack.victims import NAMES, make
from keyhole.learners.registry import make_learner
from keyhole.saving.api import from_bytes, to_bytes

Case = list[Any]
Learner = Any
Rng = np.random.Generator

PROBLEMS = (kh.Problem(6, 2, 4), kh.Problem(9, 3, 9))
DRAWS = 60  # of each attack on each learner

NO_NUMBERS: list[Any] = [
    *(np.nan, np.inf, -np.inf, 1e151, -1e300, 10**400, -(10**400), "7", "nan", b"1", None, 1j),
    *(np.complex128(2.0), object(), {}, [], [1.0, 2.0], np.zeros(2), np.array("x"), Decimal("NaN")),
    *(np.datetime64("now"), np.ma.masked, type, float, np.float16(np.inf), np.longdouble("1e4000")),
]
SIZES: list[Any] = [-1, 0, 1.5, "3", None, 10**30, np.nan, [], True, 1j, object()]


class Liar(np.ndarray[Any, Any]):
    """An array that has another length whenever it is asked."""

    asked = 0

    def __len__(self) -> int:
        Liar.asked += 1
        return Liar.asked


def cases() -> Iterator[Case]:
    """Learner, problem, attack, seed."""
    for name in NAMES:
        for problem in range(len(PROBLEMS)):
            for attack in ATTACKS:
                for seed in range(DRAWS):
                    yield [name, problem, attack, seed]


def suffer(case: Case) -> str:
    """Call, and see that a refusal has changed nothing."""
    name, problem, attack, _ = case
    learner = _learner(name, problem)
    while len(learner._desk.open) < 4:  # calls that were none too bad have closed the others
        learner.ask()
    before = to_bytes(learner)
    rng = np.random.default_rng(zlib.crc32(repr(case).encode()))
    try:
        ATTACKS[attack](learner, rng)
    except kh.KeyholeError as error:
        if not str(error):
            raise AssertionError("an error without a word") from error
        if to_bytes(learner) != before and _future(learner) != _future(from_bytes(before)):
            raise ChangedError(f"after {error}") from None
        return "refused"
    if learner.round > 2000:
        _learner.cache_clear()
    return "played"


def _future(learner: Learner) -> bytes:
    """What it is after a few more rounds: a block that cannot be played may have a model ready."""
    learner = copy.deepcopy(learner)
    X = np.random.default_rng(3).normal(size=(5, learner.problem.d))
    learner.advance(X, X[:, 0])
    return to_bytes(learner)


@functools.lru_cache(maxsize=2)
def _learner(name: str, problem: int) -> Learner:
    """In the middle of a game, some tickets open."""
    learner: Learner = make(name, PROBLEMS[problem], seed=1)
    rng = np.random.default_rng(0)
    for t in range(30):
        ticket = learner.ask()
        if t % 5:
            learner.tell(ticket.fill(rng.normal(size=len(ticket.features))), rng.normal())
    return learner


def _pick(rng: Rng, things: list[Any]) -> Any:
    return things[rng.integers(len(things))]


def _open(learner: Learner, rng: Rng) -> kh.Ticket:
    ticket: kh.Ticket = learner._desk.open[rng.integers(len(learner._desk.open))]
    return ticket


def _seen(learner: Learner, rng: Rng) -> kh.Observation:
    ticket = _open(learner, rng)
    return ticket.fill(rng.normal(size=len(ticket.features)))


def _use(learner: Learner, seen: Any, rng: Rng) -> None:
    """Predict, tell or drop: what a stranger's ticket must not get through."""
    way = rng.integers(3)
    if way == 0:
        finite(learner.predict(seen))
    elif way == 1:
        learner.tell(seen, 1.0)
    else:
        learner.drop(seen.ticket)


def bad_label(learner: Learner, rng: Rng) -> None:
    """A label that is no number."""
    learner.tell(_seen(learner, rng), _pick(rng, NO_NUMBERS))


def bad_value(learner: Learner, rng: Rng) -> None:
    """One of the values is no number."""
    ticket = _open(learner, rng)
    values: list[Any] = [*rng.normal(size=len(ticket.features))]
    if values:
        values[rng.integers(len(values))] = _pick(rng, NO_NUMBERS)
    finite(learner.predict(ticket.fill(values)))


def bad_values(learner: Learner, rng: Rng) -> None:
    """Not as many values as features, or none at all."""
    ticket = _open(learner, rng)
    n = len(ticket.features)
    shapes: list[Any] = [(n + 1,), (max(n - 1, 0),), (n, 1), (1, n), (), (0,), (n, n, n)]
    things: list[Any] = [
        np.ones(_pick(rng, shapes)),
        np.ones(n).view(Liar),
        np.ones(n, dtype=object),
    ]
    things += [
        np.ma.masked_array(np.ones(n), True),
        "1" * n,
        iter([1.0] * n),
        {"a": 1.0},
        np.ones(n) * 1j,
    ]
    things += [np.array(["1"] * n), np.full(n, 1e200), np.ones(n, dtype="datetime64[s]")]
    finite(learner.predict(ticket.fill(_pick(rng, [*things, *NO_NUMBERS]))))


def no_observation(learner: Learner, rng: Rng) -> None:
    """Something else where a filled ticket is wanted."""
    things = [*NO_NUMBERS, _open(learner, rng), {"ticket": 1}, 7, learner]
    way, thing = rng.integers(3), _pick(rng, things)
    if way == 0:
        learner.predict(thing)
    elif way == 1:
        learner.tell(thing, 1.0)
    else:
        while isinstance(thing, kh.Ticket):
            thing = _pick(rng, NO_NUMBERS)
        learner.drop(thing)


def strangers_ticket(learner: Learner, rng: Rng) -> None:
    """A ticket that another learner issued."""
    name, problem = _pick(rng, sorted(NAMES)), _pick(rng, [*PROBLEMS, kh.Problem(4, 1, 3)])
    other = make(name, problem, int(rng.integers(9)))
    tickets = [other.ask() for _ in range(rng.integers(1, 40))]
    ticket = tickets[-1]
    _use(learner, ticket.fill(np.ones(len(ticket.features))), rng)


def edited_ticket(learner: Learner, rng: Rng) -> None:
    """A ticket of its own, with something changed on the way."""
    told = json.loads(_open(learner, rng).to_json())
    for _ in range(rng.integers(1, 3)):
        _edit(told, rng)
    ticket = kh.Ticket.from_json(json.dumps(told))
    _use(learner, ticket.fill(np.ones(len(ticket.features))), rng)


def _edit(tree: Any, rng: Rng) -> None:
    keys = [*tree] if isinstance(tree, dict) else [*range(len(tree))]
    if not keys:
        return
    key = _pick(rng, keys)
    if isinstance(tree[key], dict | list) and tree[key] and rng.random() < 0.8:
        _edit(tree[key], rng)
    else:
        tree[key] = _pick(rng, [-1, 0, 10**9, 10**30, 0.5, "x", None, [], {}, [[1]], 1e308])


def ticket_of_text(learner: Learner, rng: Rng) -> None:
    """Text that is no ticket, or only in part."""
    text = _open(learner, rng).to_json()
    cut = int(rng.integers(len(text)))
    noise = bytes(rng.integers(32, 127, size=8).tolist()).decode()
    things = [text[:cut], text[:cut] + noise + text[cut:], noise, "[" * 10**5, "{}", "null", "7"]
    ticket = kh.Ticket.from_json(_pick(rng, [*things, *NO_NUMBERS]))
    _use(learner, ticket.fill(np.ones(len(ticket.features))), rng)


def closed_ticket(learner: Learner, rng: Rng) -> None:
    """A label told twice, a prediction after it."""
    closed = type(learner)(learner.problem, **{"seed": 1, **learner.settings()})
    ticket = closed.ask()
    seen = ticket.fill(np.ones(len(ticket.features)))
    closed.tell(seen, 1.0)
    before = to_bytes(closed)
    try:
        _use(closed, seen, rng)
    except kh.KeyholeError:
        if to_bytes(closed) != before:
            raise ChangedError("by a closed ticket") from None
        raise


def bad_block(learner: Learner, rng: Rng) -> None:
    """A block that is none, or whose first row cannot be played."""
    d, n = learner.problem.d, int(rng.integers(1, 4))
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    if rng.random() < 0.5:
        things = [X[:, :-1], X[0], X[None], X.astype(object), X * 1j, X.astype(str), X.tolist()]
        things += [np.full((n, d), 1e200), np.full((n, d), np.inf), X.astype(">f8"), None, "X", 7]
        things += [
            X.astype(np.float16),
            X.astype(np.longdouble),
            X.view(Liar),
            np.ma.masked_array(np.ones((n, d)), True),
        ]
        X = _pick(rng, things)
    else:
        things = [y[:-1], y[:, None], y * 1j, y.astype(str), y.astype(object), np.full(n, np.nan)]
        y = _pick(rng, [*things, np.full(n, 1e200), None, 7, "y", np.full(n, np.inf), y.view(Liar)])
    finite(learner.advance(X, y))


def bad_stream(learner: Learner, rng: Rng) -> None:
    """Something that is no stream for this learner."""
    d = learner.problem.d
    X, y = np.ones((3, d)), np.ones(3)
    things: list[Callable[[], Any]] = [
        lambda: kh.streams.ArrayStream(X[:, :-1], y),
        lambda: kh.streams.ArrayStream(X, y[:-1]),
        lambda: kh.streams.ArrayStream(X, _pick(rng, NO_NUMBERS)),
        lambda: kh.streams.ArrayStream(_pick(rng, NO_NUMBERS), y),
        lambda: kh.streams.ArrayStream(X, [np.nan, 1.0, 2.0]),
        lambda: kh.streams.ArrayStream(np.full((3, d), 1e200), y),
        lambda: kh.streams.ArrayStream(X, y, names=_pick(rng, [["a"] * d, [1], "abc", [None] * d])),
        lambda: _pick(rng, NO_NUMBERS),
        lambda: (X, y),
        lambda: X,
    ]
    kh.play(learner, _pick(rng, things)())


def bad_game(learner: Learner, rng: Rng) -> None:
    """Arguments of `play` that are none."""
    stream = kh.streams.ArrayStream(np.ones((3, learner.problem.d)), np.ones(3))
    if rng.random() < 0.5:
        kh.play(learner, stream, rounds=_pick(rng, [-1, 1.5, "3", 1j, [], object()]))
    else:
        kh.play(_pick(rng, NO_NUMBERS), stream)


def bad_problem(learner: Learner, rng: Rng) -> None:
    """Sizes that a problem cannot have, a learner of something else, another seed."""
    sizes: list[Any] = [6, 2, 4]
    sizes[rng.integers(3)] = _pick(rng, SIZES)
    way = rng.integers(3)
    if way == 0:
        kh.Problem(*sizes)
    elif way == 1:
        type(learner)(_pick(rng, [*NO_NUMBERS, 42, "problem"]), seed=0)
    else:
        type(learner)(learner.problem, seed=_pick(rng, [-1, 1.5, "3", None, 10**30, [], 1j]))


def bad_setting(learner: Learner, rng: Rng) -> None:
    """One of the learner's arguments, as no user should give it."""
    names = [*learner.settings()]
    if not names:
        raise kh.ProblemError("it has none")
    things = [*NO_NUMBERS, -1, 0, -0.5, 10**30, "no such thing", np.array([99])]
    name, thing = _pick(rng, names), _pick(rng, things)
    if name == "parts" and rng.random() < 0.9:
        part = _pick(rng, [field.name for field in fields(kh.AutoParts)])
        lists = [(thing,), [thing, 1.0], (np.inf, np.inf), (1e-320,), (1e308, 1.0)]
        thing = kh.AutoParts(**{part: _pick(rng, [thing, *lists, 1e-320, 1e308, 1, 5, 10**6])})
    given = {name: thing}
    made: Learner = type(learner)(learner.problem, **{"seed": 0, **given})
    finite(made.advance(rng.normal(size=(4, made.problem.d)), rng.normal(size=4)))


def no_learner_by_name(learner: Learner, rng: Rng) -> None:
    """Names that nobody has."""
    make_learner(
        _pick(rng, ["", "Auto", "auto ", "\x1b[31m", 7, None, ["auto"]]), learner.problem, 0
    )


ATTACKS: dict[str, Callable[[Learner, Rng], None]] = {
    attack.__name__: attack
    for attack in (
        *(bad_label, bad_value, bad_values, no_observation, strangers_ticket, edited_ticket),
        *(ticket_of_text, closed_ticket, bad_block, bad_stream, bad_game, bad_problem),
        *(bad_setting, no_learner_by_name),
    )
}
