"""The rows that AutoLearner was told last: what entered the sums and when, however it was told."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.auto.chain import chain_memory
from keyhole.learners.blocks.auto.ring import FOLDED, GONE, SEALED, TOLD, Ring, slots, told_last
from keyhole.problem import Floats
from keyhole.saving.api import from_bytes, to_bytes

D, ROUNDS = 9, 150


def rows() -> tuple[Floats, Floats]:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((ROUNDS, D)) + 3.0
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.nan_to_num(X[:, 1]) - rng.standard_normal(ROUNDS)


def new(**parts: Any) -> kh.AutoLearner:
    return kh.AutoLearner(kh.Problem(D, 2, 6), seed=4, shapes=False, parts=kh.AutoParts(**parts))


def ring_of(learner: kh.AutoLearner) -> Ring:
    return learner._state.ring


def ask(learner: kh.AutoLearner, x: Floats, **terms: Any) -> kh.Observation:
    ticket = learner.ask(**terms)
    return ticket.fill(x[ticket.features])


def test_the_rows_are_those_told_whether_in_blocks_or_round_by_round() -> None:
    X, y = rows()
    one, many = new(ring=64), new(ring=64)
    seen = list[kh.Observation]()
    for x, label in zip(X, y, strict=True):
        seen.append(ask(one, x))
        one.tell(seen[-1], float(label))
    many.advance(X, y)
    assert to_bytes(one) == to_bytes(many)
    told = told_last(ring_of(one))
    assert told.rounds.tolist() == [*range(ROUNDS - 63, ROUNDS + 1)]
    for i, round in enumerate(told.rounds.tolist()):
        assert told.features[i].tolist() == seen[round - 1].ticket.features.tolist()
        assert told.values[i].tobytes() == seen[round - 1].values.tobytes()
        assert told.labels[i] == y[round - 1]
    assert told.next.tolist() == [150, 148, 88, 0]  # batches of 4, 86 rows are gone
    expected = [4 * ((t + 3) // 4) for t in told.rounds.tolist()]
    assert told.folds.tolist() == [*expected[:-2], 0, 0]


@pytest.mark.parametrize("length", [7, 40, 2048])
def test_late_and_shuffled_labels_own_terms_and_closed_batches(length: int) -> None:
    """The sums of the label are those of the rows that say they are in them."""
    X, y = rows()
    learner, rng = new(ring=length), np.random.default_rng(8)
    waiting, told = list[tuple[kh.Observation, float]](), list[tuple[int, float]]()
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        terms = {"without": [0, 2, 5, 7, 8]} if t % 7 == 0 else {}
        waiting.append((ask(learner, x, **terms), float(label)))
        if len(waiting) > 30:
            seen, late = waiting.pop(rng.integers(len(waiting)))
            learner.tell(seen, late)
            told.append((seen.round, late))
        if t == 50:
            learner.drop(waiting.pop(0)[0].ticket)
    ring = ring_of(learner)
    there = slots(ring)
    last = told[-length:]
    features, values = ring.features[there], ring.values[there]
    short = (features < 0).any(axis=1)
    assert short.any()
    assert (features[short] >= 0).sum(axis=1).tolist() == [4] * short.sum()
    assert np.isnan(values[features < 0]).all()
    assert [(int(ring.rounds[i]), float(ring.labels[i])) for i in there] == last
    assert ring.next[TOLD] == len(told)
    assert ring.next[FOLDED] == learner._state.label.reads[0]
    folds, counts = np.unique(ring.folds[there][ring.folds[there] > 0], return_counts=True)
    whole = folds > ring.next[GONE]
    assert (np.diff(folds, prepend=ring.next[GONE])[whole] == counts[whole]).all()
    assert whole.all() or length < len(told)
    if length == 2048:
        label = learner._state.label
        mean = np.mean([late for (_, late), i in zip(told, there, strict=True) if ring.folds[i]])
        assert label.reference[0] + label.total[0] / label.reads[0] == pytest.approx(mean)
    assert to_bytes(from_bytes(to_bytes(learner))) == to_bytes(learner)


def test_a_row_that_is_gone_before_its_batch_is_whole_spoils_the_fold() -> None:
    X, y = rows()
    learner = new(ring=8)
    first = [ask(learner, x) for x in X[:4]]
    learner.tell(first[0], 1.0)
    for t in range(4, 20):
        learner.tell(ask(learner, X[t]), float(y[t]))
    ring = ring_of(learner)
    assert 1 not in ring.rounds
    before = int(ring.next[GONE])
    for seen in first[1:]:
        learner.tell(seen, 1.0)
    assert ring.next[GONE] == ring.next[FOLDED] > before


def test_history_is_not_in_it_and_seals_it() -> None:
    X, y = rows()
    learner = new()
    learner.study(kh.streams.ArrayStream(X[:20], y[:20]))
    assert ring_of(learner).next.tolist() == [0, 0, 0, 0]
    learner.advance(X[20:30], y[20:30])
    learner.study(kh.streams.ArrayStream(X[30:40], y[30:40]))
    assert ring_of(learner).next.tolist() == [10, 8, 0, 10]
    learner.advance(X[40:50], y[40:50])
    learner.study(kh.sums(kh.streams.ArrayStream(X[50:60], y[50:60])))
    ring = ring_of(learner)
    assert ring.next[SEALED] == ring.next[TOLD] == 20


def test_without_room_for_rows_nothing_is_kept_and_the_game_is_the_same() -> None:
    X, y = rows()
    some, none = new(), new(ring=0)
    assert some.advance(X, y).tobytes() == none.advance(X, y).tobytes()
    assert ring_of(none).next.tolist() == [0, 0, 0, 0]
    assert to_bytes(from_bytes(to_bytes(none))) == to_bytes(none)
    assert len(to_bytes(some)) - len(to_bytes(none)) < 150 * (6 * 12 + 32) + 2_000


def test_a_file_without_a_ring_goes_on_with_an_empty_one() -> None:
    X, y = rows()
    learner = new()
    learner.advance(X[:70], y[:70])
    state = learner.state()
    old = kh.AutoLearner.from_state(
        replace(state, parts={k: v for k, v in state.parts.items() if k != "ring"})
    )
    assert ring_of(old).next.tolist() == [0, 0, 0, 0]
    assert old.advance(X[70:], y[70:]).tobytes() == learner.advance(X[70:], y[70:]).tobytes()
    ring = ring_of(old)  # of the batch that had begun two rows are unknown
    assert ring.next.tolist() == [80, 80, 4, 0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("features", 10**6),
        ("features", -2),
        ("rounds", 10**6),
        ("rounds", 0),
        ("batches", 10**6),
        ("folds", 10**6),
        ("folds", -1),
        ("labels", np.nan),
        ("values", np.inf),
        ("next", 3),
        ("next", -1),
    ],
)
def test_a_forged_ring_is_refused(name: str, value: float) -> None:
    X, y = rows()
    learner = new()
    learner.advance(X[:70], y[:70])
    state = learner.state()
    forged = {**state.parts["ring"], name: np.full_like(state.parts["ring"][name], value)}
    with pytest.raises(kh.StateError, match="ring"):
        kh.AutoLearner.from_state(replace(state, parts={**state.parts, "ring": forged}))


@pytest.mark.parametrize("name", ["features", "values", "labels", "rounds", "folds", "next", "sat"])
def test_a_ring_of_another_length_is_refused(name: str) -> None:
    X, y = rows()
    learner = new()
    learner.advance(X[:70], y[:70])
    state = learner.state()
    array = state.parts["ring"][name]
    forged = {**state.parts["ring"], name: np.concatenate([array, np.ones_like(array)])}
    if name == "sat":
        forged[name] = np.zeros(1, dtype=np.int64)
    with pytest.raises(kh.StateError, match="ring"):
        kh.AutoLearner.from_state(replace(state, parts={**state.parts, "ring": forged}))


@pytest.mark.parametrize("how", ["fewer rows", "more features"])
def test_rows_that_do_not_go_with_what_was_counted_are_refused(how: str) -> None:
    X, y = rows()
    learner = new()
    learner.advance(X[:70], y[:70])
    state = learner.state()
    forged = dict(state.parts["ring"])
    for name in ("features", "values", "labels", "rounds", "batches", "folds"):
        if how == "fewer rows":
            forged[name] = forged[name][:30]
        elif name in ("features", "values"):
            forged[name] = np.repeat(forged[name], 2, axis=1)
    with pytest.raises(kh.StateError, match="ring has"):
        kh.AutoLearner.from_state(replace(state, parts={**state.parts, "ring": forged}))


def test_who_has_a_seat_is_noted() -> None:
    """`since` says when a feature took its seat: products of pairs are of rows after that."""
    rng = np.random.default_rng(5)
    learner = kh.AutoLearner(kh.Problem(60, 2, 6), seed=1, parts=kh.AutoParts(active=12))
    X = rng.standard_normal((120, 60))
    learner.advance(X, X[:, 3] + 0.1 * rng.standard_normal(120))
    kept, ring = learner._state.kept, ring_of(learner)
    there = kept.who >= 0
    assert (ring.sat == kept.who).all()
    assert (ring.since[there] > 0).any()
    for a in np.flatnonzero(there).tolist():
        told = (ring.features == ring.sat[a]).any(axis=1) & (ring.folds > ring.since[a])
        others = np.flatnonzero(kept.G[0, a, :-1])
        assert told.sum() > 0 or len(others) <= 1
    whole = kh.AutoLearner(kh.Problem(60, 2, 6), seed=1)
    assert len(ring_of(whole).sat) == 0


@pytest.mark.parametrize("length", [-1, 1.5, "many", None])
def test_a_length_that_is_none_is_refused(length: Any) -> None:
    with pytest.raises(kh.ProblemError, match="ring"):
        kh.AutoParts(ring=length)


def test_its_memory_is_counted() -> None:
    problem = kh.Problem(D, 2, 6)
    more = kh.AutoParts(ring=1000).memory(problem) - kh.AutoParts(ring=0).memory(problem)
    assert more == 1000 * (6 * 12 + 32) + chain_memory(6, 1000, 64, 3)
    with pytest.raises(kh.ProblemError, match="`ring`"):
        kh.AutoLearner(problem, parts=kh.AutoParts(ring=10**14))
