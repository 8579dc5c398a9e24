"""Things of the wrong kind, handed over first: an error of ours that says what to hand over."""

from typing import Any

import numpy as np
import pytest

import keyhole as kh

pd = pytest.importorskip("pandas")
PROBLEM = kh.Problem(d=2, k=1, budget=1)
FRAME = pd.DataFrame({"d": [1.0, 2.0], "names": [0.0, 1.0], "y": [1.0, 2.0]})
THINGS = [42, "x", None, [1, 2], FRAME, {"a": 1}, 1j, np.zeros(3), b"x", object, float("nan")]
each_thing = pytest.mark.parametrize("thing", THINGS, ids=lambda t: type(t).__name__)


@pytest.mark.parametrize("name", kh.LEARNERS)
def test_a_learner_needs_a_problem(name: str) -> None:
    cls: Any = kh.LEARNERS[name].cls
    for thing in THINGS:
        for positional, named in [((thing,), {"seed": 1}), ((), {"problem": thing})]:
            with pytest.raises(kh.ProblemError, match=r"\w+ needs a problem, kh.Problem\("):
                cls(*positional, **named)
    with pytest.raises(TypeError, match="problem"):
        cls()


@each_thing
def test_a_game_needs_a_learner_and_a_stream(thing: Any) -> None:
    stream = kh.streams.ArrayStream(np.zeros((3, 2)), np.zeros(3))
    for play in (kh.play, lambda *game: list(kh.rounds(*game))):
        with pytest.raises(kh.ProblemError, match=r"learner must be a learner, such as"):
            play(thing, stream)
        learner = kh.RunningMean(PROBLEM)
        with pytest.raises(kh.ProblemError, match=r"kh.streams.read\(frame, target=...\)"):
            play(learner, thing)
        assert learner.round == 0


BLOCKS: list[Any] = [
    lambda s: kh.hindsight(s, 1),
    lambda s: kh.hindsight(s, cost=1, prices=kh.Problem(2, 1, 1, prices=[1, 1])),
    lambda s: kh.frontier(s, prices=kh.Problem(2, 1, 1, prices=[1, 1])),
    lambda s: kh.hindsight_curve(s, 1, [1]),
    lambda s: kh.diagnose(s, 1, 1),
    lambda s: kh.bbrcnp(s, 1, t0=1),
    lambda s: kh.oracle(s, PROBLEM),
    lambda s: kh.report.record(kh.RunningMean(PROBLEM), s),
    lambda s: kh.streams.take(s, 3),
    lambda s: kh.streams.shuffle(s, 3),
    lambda s: kh.streams.chain(s),
    lambda s: kh.streams.repeat(s, 2),
    lambda s: kh.streams.collect(s),
]


@each_thing
def test_what_takes_a_stream_says_how_to_make_one(thing: Any) -> None:
    for call in BLOCKS:
        with pytest.raises(kh.ProblemError, match=r"stream must be a stream of examples in blocks"):
            call(thing)


CALLS: list[Any] = [
    kh.Ledger,
    lambda thing: kh.Observation(thing, np.zeros(1)),
    lambda thing: kh.regret(thing, thing),
    lambda thing: kh.regret_curve(thing, thing, 1),
    lambda thing: kh.rip(thing, 1),
    lambda thing: kh.weak_supermodularity(thing, [1.0], 1),
    lambda thing: kh.streams.agnostic_suite(thing, 10),
    lambda thing: kh.streams.realizable_suite(thing, 10),
    lambda thing: kh.learners.make_learner(thing, PROBLEM, 0),
    lambda thing: kh.streams.read(thing, target="no"),
]


@each_thing
def test_nothing_else_raises_what_is_not_ours(thing: Any) -> None:
    for call in CALLS:
        with pytest.raises(kh.KeyholeError):
            call(thing)


def test_a_nul_in_a_path() -> None:
    with pytest.raises(kh.DataError, match="NUL"):
        kh.streams.read("a\0b.csv", target="y")
    with pytest.raises(kh.StateError, match="path must be the path of a file"):
        kh.load("a\0b")


def test_what_a_terminal_obeys_is_not_in_messages() -> None:
    error = kh.DataError("t\x1b[2J\u202e.csv\x9b")
    assert str(error) == r"t\x1b[2J\u202e.csv\x9b"
