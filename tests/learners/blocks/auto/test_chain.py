"""Shapes in AutoLearner: what they promise, whatever comes late, is absent, saved or forged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.auto.chain import (
    AS_IT_IS,
    BUILT,
    CHECKED,
    SEARCHED,
    STARTED,
    WITH_TREES,
    Chain,
    chain,
    chain_words,
)
from keyhole.learners.blocks.auto.mixture import bound, shares
from keyhole.learners.blocks.auto.ring import TOLD
from keyhole.problem import Floats
from keyhole.saving.api import from_bytes, to_bytes

D, BUDGET = 10, 6
SMALL = kh.AutoParts(ring=128, trees=8, depth=2)


def data(n: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Even effects and a product beside a line: half of the variance is no linear function."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    y = X[:, 1] + 1.5 * np.abs(X[:, 1]) + X[:, 2] * (1.0 + X[:, 1])
    return X, 3.0 + y + 0.3 * rng.standard_normal(n)


def new(**how: Any) -> kh.AutoLearner:
    return kh.AutoLearner(kh.Problem(D, 2, BUDGET), seed=2, **how)


def stream(n: int, seed: int = 0) -> kh.streams.ArrayStream:
    return kh.streams.ArrayStream(*data(n, seed))


def loss_of(p: Floats, y: Floats) -> float:
    return float(np.square(y - p).sum())


def test_they_find_what_is_not_linear() -> None:
    X, y = data(1500)
    plain, shaped = new(shapes=False).advance(X, y), new().advance(X, y)
    assert loss_of(shaped[500:], y[500:]) < 0.4 * loss_of(plain[500:], y[500:])


def read_by(X: Floats, y: Floats, budget: int, **how: Any) -> tuple[Floats, np.ndarray]:
    """Predictions of a learner, and in which rounds it read which features."""
    bought = np.full((len(y), budget), -1, dtype=np.int32)
    learner = kh.AutoLearner(kh.Problem(X.shape[1], 2, budget), seed=2, **how)
    predictions = learner.advance(X, y, bought)
    return predictions, (bought[:, :, None] == np.arange(X.shape[1])).any(axis=1)


@pytest.mark.parametrize("prices", [None, [1.0] * 9 + [2.0] * 9])
def test_features_that_bend_are_read(prices: list[float] | None) -> None:
    """Lines say nothing about two of 18 features: with shapes both are read, without not."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((2500, 18))
    y = X[:, 2] + X[:, 5] ** 2 + 2.0 * (np.abs(X[:, 12]) > 1.0) + 0.5 * rng.standard_normal(2500)
    problem = kh.Problem(18, 2, 6, prices=prices)
    late = {}
    for shapes in (True, False):
        learner = kh.AutoLearner(problem, seed=2, shapes=shapes)
        bought = np.full((2500, problem.width), -1, dtype=np.int32)
        predictions = learner.advance(X, y, bought)
        there = [(bought[1500:] == j).any(axis=1).mean() for j in (5, 12)]
        late[shapes] = min(there), loss_of(predictions[1500:], y[1500:])
    assert late[True][0] > 0.8 > 0.7 > late[False][0]
    assert late[True][1] < 0.5 * late[False][1]


def test_where_all_is_linear_reads_stay_as_they_are() -> None:
    """Every read and nearly every loss: one look in about 1 / normal tail of z errs."""
    same = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((2000, 20))
        y = X[:, :3] @ [1.0, -0.7, 0.5] + rng.standard_normal(2000)
        same += bool((read_by(X, y, 8)[1] == read_by(X, y, 8, shapes=False)[1]).all())
    assert same >= 3


def test_what_bends_is_not_bought_against_terms_or_worth() -> None:
    rng = np.random.default_rng(8)
    X = rng.standard_normal((1500, 12))
    y = X[:, 2] + 3.0 * np.abs(X[:, 5]) + 0.5 * rng.standard_normal(1500)
    learner = kh.AutoLearner(kh.Problem(12, 2, 5), seed=2)
    learner.advance(X, y)
    assert learner._chain.bent[0] == 5
    assert 5 in learner.ask(budget=5).features
    assert 5 not in learner.ask(without=[5]).features
    worth = kh.AutoLearner(kh.Problem(12, 2, 5, prices=[1.0] * 12), seed=2, worth=1e-6)
    worth.advance(X, y)
    worth._chain.bent[:] = -1
    worth._chain.bent[0] = 5
    assert len(worth.ask(budget=5).features) == 0


def test_a_file_of_before_features_that_bend_goes_on() -> None:
    X, y = data(600)
    learner = new()
    learner.advance(X[:300], y[:300])
    state = learner.state().copied()
    saved: Any = state.parts["chain"]
    saved["clock"] = saved["clock"][:SEARCHED]
    del saved["bent"]
    old = kh.AutoLearner.from_state(state)
    assert old._chain.bent.tolist() == [-1] * BUDGET
    assert old._chain.clock[SEARCHED] == 0
    old.advance(X[300:], y[300:])
    assert old._chain.clock[SEARCHED] > 300


@pytest.mark.parametrize("how", [{}, {"past": False}, {"parts": SMALL}])
def test_rounds_blocks_and_saving_are_the_same(how: dict[str, Any]) -> None:
    X, y = data(400)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    block, one, saved = new(**how), new(**how), new(**how)
    predictions = block.advance(X, y)
    for i in range(0, 400, 37):
        saved = from_bytes(to_bytes(saved), kh.AutoLearner)
        part = saved.advance(X[i : i + 37], y[i : i + 37])
        assert part.tobytes() == predictions[i : i + 37].tobytes()
    for i, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        ticket = one.ask()
        seen = ticket.fill(x[ticket.features])
        assert one.predict(seen) == predictions[i]
        one.tell(seen, label)
    assert to_bytes(one) == to_bytes(block) == to_bytes(saved)


def play_late(
    X: Floats, y: Floats, late: int, shuffled: bool = False
) -> tuple[kh.AutoLearner, list[float]]:
    learner, waiting = new(parts=SMALL), list[tuple[kh.Observation, float]]()
    predictions, rng = list[float](), np.random.default_rng(3)
    for x, label in zip(X, y.tolist(), strict=True):
        if len(waiting) >= late:
            learner.tell(*waiting.pop(int(rng.integers(len(waiting))) if shuffled else 0))
        ticket = learner.ask()
        waiting.append((ticket.fill(x[ticket.features]), label))
        predictions.append(learner.predict(waiting[-1][0]))
    return learner, predictions


@pytest.mark.parametrize("late", [1, 32, 100])
def test_a_label_matters_only_once_it_is_told(late: int) -> None:
    """Labels differ from row 300 on: so do predictions from row 300 + late on, and not before."""
    X, y = data(500)
    other = y.copy()
    other[300:] *= -1.0
    one, two = (np.array(play_late(X, labels, late)[1]) for labels in (y, other))
    assert np.flatnonzero(one != two)[0] == 300 + late


def test_shuffled_labels_of_closed_batches_still_help() -> None:
    """Labels up to hundreds of rounds late, of up to 64 batches."""
    X, y = data(1600)
    _, found = play_late(X, y, 150, shuffled=True)
    plain, waiting = new(shapes=False), list[tuple[kh.Observation, float]]()
    expected, rng = list[float](), np.random.default_rng(3)
    for x, label in zip(X, y.tolist(), strict=True):
        if len(waiting) >= 150:
            plain.tell(*waiting.pop(int(rng.integers(len(waiting)))))
        ticket = plain.ask()
        waiting.append((ticket.fill(x[ticket.features]), label))
        expected.append(plain.predict(waiting[-1][0]))
    assert loss_of(np.array(found)[800:], y[800:]) < 0.7 * loss_of(
        np.array(expected)[800:], y[800:]
    )


def test_lost_labels_leave_no_trace() -> None:
    """Tickets that are dropped: what shapes know is of the others alone."""
    X, y = data(300)
    learner = new(parts=SMALL)
    for i, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        ticket = learner.ask()
        if i % 3:
            learner.tell(ticket.fill(x[ticket.features]), label)
        else:
            learner.drop(ticket)
    assert learner._state.ring.next[TOLD] == 200
    assert np.isin(learner._state.ring.labels, y[np.arange(300) % 3 > 0]).all()


def contrary(t: int, x: Floats, prediction: float) -> float:
    """A curve that is the opposite of itself every 96 rounds; every fourth label contradicts."""
    if t % 4 == 0:
        return -1.0 if prediction > 0.0 else 1.0
    curve = 1.0 if abs(x[0]) > 0.7 else -1.0
    return curve if t // 96 % 2 == 0 else -curve


def against(seed: int, n: int = 1500) -> tuple[kh.AutoLearner, Floats, Floats, Floats]:
    """Rounds against the adversary: the learner, labels, predictions, and those before shapes."""
    X = np.random.default_rng(seed).uniform(-1, 1, (n, D))
    learner = new(parts=SMALL)
    y, found, plain = np.empty(n), np.empty(n), np.empty(n)
    for t, x in enumerate(X):
        ticket = learner.ask()
        seen = ticket.fill(x[ticket.features])
        found[t] = learner.predict(seen)
        y[t] = contrary(t, x, float(found[t]))
        learner.tell(seen, float(y[t]))
        plain[t] = learner._chain.p[t % SMALL.ring]
    return learner, y, found, plain


@pytest.mark.parametrize("seed", [0, 1])
def test_against_an_adversary_the_loss_is_at_most_what_is_promised(seed: int) -> None:
    """Beyond the prediction without shapes: 2 Y^2 log 4, and rounds whose label is a record.

    The broken twin follows curves and trees alone, as their guesses were charged: it loses more.
    """
    learner, y, found, plain = against(seed)
    low, high = np.minimum.accumulate(y), np.maximum.accumulate(y)
    record = np.append(True, (y[1:] < low[:-1]) | (y[1:] > high[:-1]))
    more = bound(learner._chain.second, AS_IT_IS)
    assert more == pytest.approx(2.0 * np.log(4.0))
    records = float(np.square(y - found)[record].sum())
    assert loss_of(found, y) <= loss_of(plain, y) + more + records
    losses = learner._chain.second.losses
    assert losses[AS_IT_IS] == pytest.approx(loss_of(plain[1:], y[1:]))
    assert losses[WITH_TREES] > losses[AS_IT_IS] + more + records


def test_the_bound_counts_shapes() -> None:
    """Where there is a safety net, after history and rounds."""
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((200, 24)), rng.uniform(-1.0, 1.0, 200)
    learner = kh.AutoLearner(kh.Problem(24, 2, 12), seed=0, parts=SMALL)
    learner.study(kh.streams.ArrayStream(X[:100], y[:100]))
    learner.advance(X[100:], y[100:])
    more = 0.5 * (y.max() - y.min()) ** 2 * np.log(4.0)
    assert learner.bound() == pytest.approx(bound_without(learner) + more)
    assert learner.bound() < np.inf


def bound_without(learner: kh.AutoLearner) -> float:
    """What the bound is without shapes."""
    state = learner.state()
    settings = {**state.settings, "shapes": False}
    parts = {name: part for name, part in state.parts.items() if name != "chain"}
    return kh.AutoLearner.from_state(replace(state, settings=settings, parts=parts)).bound()


def test_complete_rows_of_history_help_from_the_first_round_on() -> None:
    X, y = data(400, seed=5)
    shaped, plain = new(), new(shapes=False)
    for learner in (shaped, plain):
        learner.study(stream(400))
    assert not shaped._chain.second.losses.any()  # no loss of history is charged
    assert not shaped._chain.first.losses.any()
    assert shaped._state.ring.next[TOLD] == 400
    fresh, cold = shaped.advance(X, y), plain.advance(X, y)
    assert loss_of(fresh, y) < 0.8 * loss_of(cold, y)


def test_rows_of_history_have_all_features_that_sit() -> None:
    """Once features sit, a row of history has them, whatever a batch would have read."""
    learner = new()
    learner.study(stream(300))
    ring, who = learner._state.ring, learner._chain.seated.who
    assert (who >= 0).all()
    assert (np.sort(ring.features[250:300], axis=1) == np.sort(who)).all()
    assert not ring.rounds[:300].any()


def test_history_that_is_set_aside_is_forgotten() -> None:
    X, y = data(300)
    learner = new()
    learner.study(kh.streams.ArrayStream(X, 900.0 - 80.0 * y))
    learner.advance(X, y)
    assert learner._state.aside[0] == 300
    assert learner._chain.clock[STARTED] > 300
    assert float(np.abs(learner._chain.q[learner._chain.clock[STARTED] :][:50]).max()) < 900.0


def test_sums_of_history_have_no_rows() -> None:
    """Shapes begin empty, and know the range of the labels."""
    X, y = data(500)
    learner = new()
    learner.study(kh.sums(kh.streams.ArrayStream(X, y)))
    assert learner._chain.second.span.tolist() == [y.min(), y.max()]
    assert learner._state.ring.next[TOLD] == 0
    assert np.isfinite(learner.advance(X, y)).all()


def test_an_earlier_file_goes_on_with_shapes_that_begin_empty() -> None:
    X, y = data(600)
    learner = new(shapes=False)
    learner.advance(X[:300], y[:300])
    state = learner.state()
    settings = {name: value for name, value in state.settings.items() if name != "shapes"}
    parts = {name: value for name, value in state.parts.items() if name != "ring"}
    old = kh.AutoLearner.from_state(replace(state, settings=settings, parts=parts))
    assert old.shapes
    plain, shaped = learner.advance(X[300:], y[300:]), old.advance(X[300:], y[300:])
    assert plain[:32] == pytest.approx(shaped[:32], abs=1e-12)
    assert loss_of(shaped[150:], y[450:]) < 0.6 * loss_of(plain[150:], y[450:])
    with_ring = kh.AutoLearner.from_state(replace(state, settings=settings))
    assert with_ring._chain.clock[STARTED] == 300
    with_ring.advance(X[300:], y[300:])


def test_few_seats_among_many_features() -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((500, 3000)).astype(np.float32)
    y = 3.0 * np.abs(X[:, 17]).astype(float) + X[:, 17]
    learner = kh.AutoLearner(kh.Problem(3000, 2, 8), seed=0)
    assert np.isfinite(learner.advance(X, y)).all()
    assert learner._chain.seated.who.max() < 3000


def test_rows_wider_than_the_ring_and_terms_of_their_own() -> None:
    X, y = data(200)
    learner = new(parts=SMALL)
    for i, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        terms: dict[str, Any] = {"known": {j: float(x[j]) for j in range(8)}} if i % 2 else {}
        terms = {"without": [1, 2]} if i % 5 == 0 else terms
        ticket = learner.ask(**terms)
        seen = ticket.fill(x[ticket.features])
        assert np.isfinite(learner.predict(seen))
        learner.tell(seen, label)
    assert learner._state.ring.next[TOLD] == 200
    again = from_bytes(to_bytes(learner), kh.AutoLearner)
    assert again.advance(X, y).tobytes() == learner.advance(X, y).tobytes()


def test_a_row_that_is_corrected_is_looked_at_anew() -> None:
    """By the next batch the sums of curves are those of the rows as they are now."""
    X, y = data(200)
    learner, tickets = new(), list[kh.Ticket]()
    for i, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        tickets.append(learner.ask())
        told = 50.0 if i == 150 else label
        learner.tell(tickets[-1].fill(x[tickets[-1].features]), told)
    learner.correct(tickets[150], y=float(y[150]))
    assert learner._chain.clock[CHECKED] == 0
    learner.advance(X[:4], y[:4])
    ring, chain_now = learner._state.ring, learner._chain
    begins = int(chain_now.clock[STARTED])
    rows = np.arange(begins, ring.next[TOLD])
    assert chain_now.clock[BUILT] in (0, 204 - begins)
    constant = 8 * (len(chain_now.ridge.c) // 8 - 1)
    if chain_now.clock[BUILT]:
        missed = ring.labels[rows] - chain_now.p[rows]
        assert chain_now.ridge.c[constant] == pytest.approx(missed.sum(), abs=1e-9)
    assert chain_now.second.span[1] < 50.0


def test_what_it_says() -> None:
    learner = new()
    learner.advance(*data(1200))
    said = learner.explain()
    late = learner._chain.second.recent
    assert said.shapes_save == pytest.approx(1.0 - late[1:].min() / late[0])
    assert said.shapes_save > 0.5
    assert dict(said.shapes) == dict(
        zip(("as it is", "curves", "trees"), shares(learner._chain.second), strict=True)
    )
    assert str(said).splitlines()[-1].startswith("shapes: save ")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, D))
    dull = new()
    dull.advance(X, X[:, 1] + rng.standard_normal(600))
    assert str(dull.explain()).splitlines()[-1] == (
        "shapes: curves and trees say nothing of late that is not known without them"
    )
    assert chain_words(new(shapes=False)._chain).shapes == {}
    assert "shapes" not in str(new(shapes=False).explain())


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"shapes": 1}, "shapes"),
        ({"shapes": True, "proper": True}, "proper=False"),
        ({"shapes": True, "parts": kh.AutoParts(ring=63)}, "64 rows"),
    ],
)
def test_what_does_not_go_together_is_refused(how: dict[str, Any], match: str) -> None:
    with pytest.raises(kh.ProblemError, match=match):
        new(**how)
    assert not new(proper=True).shapes
    assert not new(parts=kh.AutoParts(ring=63)).shapes


@pytest.mark.parametrize(
    ("name", "value"), [("trees", 0), ("trees", 1.5), ("depth", 0), ("depth", 7), ("depth", "two")]
)
def test_parts_that_are_none_are_refused(name: str, value: Any) -> None:
    with pytest.raises(kh.ProblemError, match=name):
        kh.AutoParts(**{name: value})


def fields(part: dict[str, Any], where: str = "") -> list[tuple[str, np.ndarray]]:
    found = list[tuple[str, np.ndarray]]()
    for name, value in part.items():
        if isinstance(value, dict):
            found += fields(value, f"{where}{name}.")
        elif isinstance(value, np.ndarray):
            found.append((where + name, value))
    return found


def played() -> Any:
    learner = new(parts=SMALL)
    learner.advance(*data(300))
    return learner.state()


STATE = played()
PLACES = [name for name, array in fields(STATE.parts["chain"]) if array.dtype.kind in "iu"]


def forged(place: str, array: Any) -> Any:
    state = STATE.copied()
    *outer, name = place.split(".")
    part = state.parts["chain"]
    for each in outer:
        part = part[each]
    part[name] = array
    return state


@pytest.mark.parametrize("place", PLACES)
def test_a_forged_index_is_refused(place: str) -> None:
    """Nothing that compiled code uses as a place may lie outside."""
    original = dict(fields(STATE.parts["chain"]))[place]
    for value in (-3, 100 if original.dtype == np.int8 else 2**40):
        array = original.copy()
        array.flat[-1] = value
        if place in ("forest.fitted", "seated.made") and value > 0:
            continue  # counts: any number will do
        with pytest.raises(kh.StateError, match=r"chain"):
            kh.AutoLearner.from_state(forged(place, array))


@pytest.mark.parametrize("place", [name for name, _ in fields(STATE.parts["chain"])])
def test_arrays_of_another_form_are_refused(place: str) -> None:
    original = dict(fields(STATE.parts["chain"]))[place]
    for array in (original[..., :-1], original.astype(np.float32), original[None]):
        with pytest.raises(kh.StateError, match="chain"):
            kh.AutoLearner.from_state(forged(place, array))


@pytest.mark.parametrize("place", [name for name, a in fields(STATE.parts["chain"]) if a.size > 3])
def test_numbers_that_mean_nothing_do_no_harm(place: str) -> None:
    """Whatever passes is played with: predictions stay finite and within the labels."""
    rng, (X, y) = np.random.default_rng(6), data(300)
    original = dict(fields(STATE.parts["chain"]))[place]
    for scale in (1.0, 1e300):
        array = rng.permutation(original.ravel()).reshape(original.shape)
        if array.dtype.kind == "f":
            array = array * scale
        try:
            learner = kh.AutoLearner.from_state(forged(place, array))
        except kh.StateError:
            continue
        assert np.isfinite(learner.advance(X, y)).all()


def test_a_chain_that_is_not_there_takes_no_room() -> None:
    nothing: Chain = chain(6, 0, 64, 3)
    assert not nothing.there
    arrays = (nothing.p, nothing.seated.who, nothing.forest.features, nothing.forest.places)
    assert sum(array.size for array in arrays) == 0
