"""AutoLearner where not all features have a seat: promises, files, memory, late labels."""

import copy
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem import Floats
from keyhole.problem.state import LearnerState
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.saving.archive import encode
from tests.helpers.variants import check_variant

FEW = kh.AutoParts(active=11)
PROBLEM = kh.Problem(d=60, k=2, budget=8)


def data(n: int, d: int = 60) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) + rng.uniform(-1.0, 1.0, d)
    return X, 2.0 * X[:, 3] - X[:, 7] + 0.3 * rng.standard_normal(n)


def seats(learner: kh.AutoLearner) -> list[int]:
    who: list[int] = learner._state.kept.who.tolist()
    return who


def bytes_of(thing: Any) -> int:
    """Bytes of all arrays in nested tuples."""
    if isinstance(thing, np.ndarray):
        return int(thing.nbytes)
    return sum(map(bytes_of, thing)) if isinstance(thing, tuple) else 0


@pytest.mark.parametrize("how", [{}, {"proper": True, "past": False}])
def test_few_seats_keep_the_promises_of_a_learner(how: dict[str, bool]) -> None:
    """Block play is single rounds to the bit, files go on in the middle, and so on."""

    def factory(problem: kh.Problem) -> kh.AutoLearner:
        parts = kh.AutoParts(active=min(problem.width + 2, problem.d))
        return kh.AutoLearner(problem, seed=3, parts=parts, **how)

    check_variant(factory)


@pytest.mark.parametrize("kind", ["plain", "prices"])
def test_block_play_is_single_rounds_and_files_go_on(kind: str) -> None:
    problem = PROBLEM
    if kind == "prices":
        prices = [1 + j % 4 for j in range(60)]
        problem = kh.Problem(60, 2, 8, prices=prices, panels={"p": (2, [3, 4, 5])})
    parts, (X, y) = kh.AutoParts(active=max(11, problem.width)), data(90)
    blocks, rounds = (kh.AutoLearner(problem, seed=1, parts=parts) for _ in range(2))
    expected, left = blocks.advance(X, y), set[int]()
    for t in range(90):
        if t == 37:  # in the middle of a batch
            rounds = from_bytes(to_bytes(rounds), kh.AutoLearner)
        before = seats(rounds)
        ticket = rounds.ask()
        left |= {*before} - {*seats(rounds)}
        seen = kh.Observation(ticket, X[t][ticket.features])
        assert rounds.predict(seen) == expected[t]
        rounds.tell(seen, y[t])
    assert len(left - {-1}) > 5  # features did lose their seats
    assert to_bytes(blocks) == to_bytes(rounds)


def test_the_features_that_matter_are_found_and_told_of() -> None:
    X, y = data(1_200)
    learner = kh.AutoLearner(PROBLEM, seed=0, parts=FEW)
    predictions = learner.advance(X, y)
    assert set(learner.model().features.tolist()) == {3, 7}
    assert float(((predictions - y)[600:] ** 2).mean()) < 2.0 * 0.09
    assert [worth.name for worth in learner.advice().kept][:2] == ["x3", "x7"]
    lines = {line.name: line for line in learner.explain().lines}
    assert lines["x3"].lost is not None
    assert lines["x3"].weight == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("d", [5_000, 20_000])
def test_memory_is_bounded(d: int) -> None:
    """At most 250 bytes a feature, the pairs of those with a seat, and the rows told last."""
    told = 2048 * (12 * 32 + 32)
    learner = kh.AutoLearner(kh.Problem(d, 4, 32), seed=0)
    kept = learner._state.kept
    assert len(kept.who) == 256
    assert bytes_of(learner._state) <= 250 * d + 3 * 8 * 257**2 + 200_000 + told
    assert kh.AutoLearner.memory(learner.problem) >= 0.8 * bytes_of(learner._state)
    assert learner.parts.memory(learner.problem) <= 250 * d + 3 * 8 * 257**2 + 10_000 + told


@pytest.mark.parametrize("active", [11, 60])
def test_columns_without_values_are_not_asked_for_again_and_again(active: int) -> None:
    """A third of the columns are empty: at most a lap in so many batches asks for them.

    Who reads what is new first, whatever came of it, asks for six of them in every batch: 6 / 8.
    """
    X, y = data(1_600)
    X[:, 20:40] = np.nan
    learner = kh.AutoLearner(PROBLEM, seed=0, parts=kh.AutoParts(active=active))
    bought = np.empty((1_600, 8), dtype=np.int32)
    learner.advance(X, y, bought)
    late = bought[800:]
    # A lap is 60 / 8 batches, in which 20 empty ones come up: 2.7 of 8 reads at most.
    assert float(((late >= 20) & (late < 40)).mean()) < 2.7 / 8


def test_late_labels_take_their_seats_again() -> None:
    """Labels come 120 rounds late: features of a batch may have lost their seats by then."""
    X, y = data(320)
    learner, waiting, changed = kh.AutoLearner(PROBLEM, seed=2, parts=FEW), [], False
    for t in range(320):
        ticket = learner.ask()
        waiting.append((t, kh.Observation(ticket, X[t][ticket.features])))
        if len(waiting) > 120:
            at, seen = waiting.pop(0)
            if t % 20 == 0:
                before = to_bytes(learner)
                first = learner.predict(seen)
                assert to_bytes(learner) == before  # predicting changes nothing
                assert learner.predict(seen) == first
            sitting = seats(learner)
            learner.tell(seen, float(y[at]))
            changed = changed or seats(learner) != sitting
    assert changed
    assert learner.model() is not None


def test_terms_of_one_example() -> None:
    X, y = data(200)
    learner = kh.AutoLearner(PROBLEM, seed=0, parts=FEW)
    learner.advance(X, y)
    sitting = seats(learner)
    away = next(j for j in range(60) if j not in sitting)
    ticket = learner.ask(known={away: 0.5}, without=[sitting[0]])
    assert away in ticket.features
    assert sitting[0] not in ticket.features
    assert seats(learner) == sitting
    seen = kh.Observation(ticket, X[0][ticket.features])
    assert math.isfinite(learner.predict(seen))
    learner.tell(seen, 1.0)
    assert away in seats(learner)


def test_history_is_studied_without_seats_for_all() -> None:
    X, y = data(400)
    learner = kh.AutoLearner(PROBLEM, seed=0, parts=FEW)
    learner.study(kh.streams.ArrayStream(X[:150], y[:150]))
    assert set(learner.model().features.tolist()) == {3, 7}
    predictions = learner.advance(X[150:], y[150:])
    assert float(((predictions - y[150:])[50:] ** 2).mean()) < 2.0 * 0.09
    kept = learner._state.kept
    assert (kept.rest[0, kept.seat < 0, 3] * kept.scale[0] >= 150.0).all()  # all rows of all


def put(state: LearnerState, name: str, array: Any) -> bytes:
    """The file of a state with another array in its memories."""
    changed = copy.deepcopy(state)
    [kept] = [pair[1] for pair in changed.parts["learnt"]["of"] if pair[0] == "kept"]
    kept[name] = array
    return encode(changed, "test")


def test_forged_seats_are_refused() -> None:
    X, y = data(50)
    learner = kh.AutoLearner(PROBLEM, seed=0, parts=FEW)
    learner.advance(X, y)
    state, kept = learner.state(), learner._state.kept
    assert from_bytes(put(state, "who", kept.who.copy()))
    resting = int(np.flatnonzero(kept.seat < 0)[0])
    twice, other = kept.who.copy(), kept.seat.copy()
    twice[0], other[resting] = twice[1], 0
    forged: dict[str, list[Any]] = {
        "who": [np.full_like(kept.who, 60), np.full_like(kept.who, -2), twice],
        "seat": [np.full_like(kept.seat, 11), np.full_like(kept.seat, -1), other],
        "rest": [-np.ones_like(kept.rest), kept.rest[:, :50], np.full_like(kept.rest, np.nan)],
    }
    for name, arrays in forged.items():
        for array in arrays:
            with pytest.raises(kh.StateError, match=name):
                from_bytes(put(state, name, array))
    whole = kh.AutoLearner(PROBLEM, seed=0)
    away = whole._state.kept.who.copy()
    away[:2] = 1, 0
    with pytest.raises(kh.StateError, match="who"):
        from_bytes(put(whole.state(), "who", away))


@pytest.mark.parametrize("few", [False, True])
def test_a_file_from_before_there_were_seats(few: bool) -> None:
    """It has pairs of all features; where there are too few seats, the strongest stay."""
    X, y = data(600)
    learner = kh.AutoLearner(PROBLEM, seed=0, shapes=False)  # there were none
    learner.advance(X[:500], y[:500])
    state = learner.state()
    [kept] = [pair[1] for pair in state.parts["learnt"]["of"] if pair[0] == "kept"]
    for name in ("who", "seat", "rest"):
        del kept[name]
    for name in ("walk", "ring"):
        del state.parts[name]  # type: ignore[attr-defined]
    del state.settings["parts"]["active"]
    if few:
        state.settings["parts"]["active"] = 11
    again = from_bytes(encode(state, "test"), kh.AutoLearner)
    assert again.parts == (FEW if few else kh.AutoParts())
    predictions = again.advance(X[500:], y[500:])
    if few:
        assert {3, 7} <= {*again._state.kept.who.tolist()}
        assert set(again.model().features.tolist()) == {3, 7}
        assert float(((predictions - y[500:]) ** 2).mean()) < 2.0 * 0.09
    else:
        assert (predictions == learner.advance(X[500:], y[500:])).all()


def test_a_file_from_when_fewer_features_had_seats_goes_on_with_those() -> None:
    X, y = data(60)
    written = kh.AutoLearner(PROBLEM, seed=4, parts=FEW)
    written.advance(X[:40], y[:40])
    state = written.state()
    state.settings["parts"]["active"] = None
    learner = kh.AutoLearner.from_state(state)
    assert learner.parts == FEW
    assert learner.advance(X[40:], y[40:]).tobytes() == written.advance(X[40:], y[40:]).tobytes()


def test_up_to_1024_features_all_have_a_seat() -> None:
    for d, seats in ((1024, 1024), (1025, 256), (10_000, 256)):
        assert kh.AutoParts().seats(kh.Problem(d, 4, 32)) == seats
    assert kh.AutoParts().seats(kh.Problem(2000, 4, 50)) == 400


def test_a_file_from_before_there_was_evidence() -> None:
    """It goes on, and counts the evidence from then on."""
    X, y = data(900)
    learner = kh.AutoLearner(PROBLEM, seed=0, parts=FEW)
    learner.advance(X[:100], y[:100])
    state = learner.state()
    del state.parts["evidence"]  # type: ignore[attr-defined]
    again = from_bytes(encode(state, "test"), kh.AutoLearner)
    assert (again._state.evidence == 0.0).all()
    again.advance(X[100:], y[100:])
    assert set(again.model().features.tolist()) == {3, 7}
    assert (again._state.evidence != 0.0).any(axis=1).mean() > 0.9


def test_what_never_changes_does_not_keep_others_from_being_read() -> None:
    """Two thirds of the columns are constant: they get no more than their share of the reads."""
    X, y = data(1_600)
    X[:, 20:] = 1.0
    learner = kh.AutoLearner(PROBLEM, seed=0, parts=FEW)
    bought = np.empty((1_600, 8), dtype=np.int32)
    learner.advance(X, y, bought)
    assert set(learner.model().features.tolist()) == {3, 7}
    explored = bought[800:][~np.isin(bought[800:], (3, 7))]
    assert 0.1 < float((explored >= 20).mean()) < 0.75  # rare events may hide there: not 0


def test_what_active_may_be() -> None:
    with pytest.raises(kh.ProblemError, match="active must be at least 8, the features that are"):
        kh.AutoLearner(PROBLEM, parts=replace(FEW, active=7))
    with pytest.raises(kh.ProblemError, match="active"):
        kh.AutoParts(active=0)
    assert len(kh.AutoLearner(PROBLEM, parts=kh.AutoParts(active=10**30))._state.kept.who) == 60


def test_a_hundred_thousand_features_are_played() -> None:
    """A few batches; only the columns that are read are looked at."""
    d, rng = 100_000, np.random.default_rng(0)
    learner = kh.AutoLearner(kh.Problem(d, 2, 12), seed=0)
    read = set[int]()
    for _ in range(12):
        ticket = learner.ask()
        read |= set(ticket.features.tolist())
        seen = kh.Observation(ticket, rng.standard_normal(12))
        assert math.isfinite(learner.predict(seen))
        learner.tell(seen, float(rng.standard_normal()))
    assert len(read) > 2 * 12  # three batches: but for what is kept or played, features are new
