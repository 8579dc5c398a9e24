"""AutoLearner's block play is the algorithm of its page, written once more in plain NumPy."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import keyhole as kh
from keyhole.blocks.auto.experts import EXPERTS, ExpertKind
from keyhole.blocks.fit.forward import select
from keyhole.problem import Floats
from tests.helpers.auto_transcription import BUGS, STUDY_BUGS, Transcription, Word

USUAL = kh.AutoParts()
OTHER = kh.AutoParts(
    taus=(300.0, 40.0),
    experts=(
        *EXPERTS[1:5],
        ExpertKind("everything, from nothing", "everything", "nothing", ridge=3.0),
        ExpertKind("kept, from nothing", "kept", "nothing", size="peak"),
        ExpertKind("best of the leader", "best", "leading", ridge=0.5),
    ),
    pool=6,
    slots=3,
    net=7,
    threshold=2.8,
    bolder=0.3,
    optimism=1.0,
    far=1.1,
    shortest=3,
    longest=11,
    growth=20,
    bold=0.5,
    kinks=(-0.5, 0.8),
    layer_memory=50.0,
)

RESTLESS = kh.AutoParts(
    taus=(np.inf, 30.0, 10.0), threshold=1.4, bolder=0.5, shortest=2, longest=9, growth=5
)


@dataclass(frozen=True)
class Case:
    """A problem, a stream, how it is played, and how many rows of it are studied before."""

    shape: tuple[int, int, int]
    rounds: int
    kind: str = "steady"
    proper: bool = False
    past: bool = True
    parts: kh.AutoParts = USUAL
    history: int = 0
    half_life: float | None = None


CASES = {
    "usual, beyond round 1024": Case((12, 2, 8), 1_200),
    "usual, two slots in the net": Case((30, 3, 24), 500, "switch"),
    "proper": Case((16, 2, 10), 700, "switch", proper=True),
    "proper, absent values": Case((14, 2, 5), 400, "gaps", proper=True, past=False),
    "budget 1": Case((7, 1, 1), 400, past=False),
    "everything is read": Case((9, 2, 9), 400),
    "no net below 6": Case((15, 2, 4), 400, "switch", past=False),
    "labels that linger": Case((12, 2, 8), 300, "walk"),
    "no last layer": Case((12, 2, 8), 300, past=False, parts=replace(USUAL, kinks=None)),
    "absent values and faults": Case((12, 2, 8), 500, "gaps"),
    "other parts": Case((20, 2, 13), 400, "switch", parts=OTHER),
    "other parts, proper": Case((20, 2, 13), 300, "gaps", proper=True, parts=OTHER),
    "memories that part, growing batches": Case((12, 2, 8), 60, "switch", parts=RESTLESS),
    "the same, proper": Case((12, 2, 8), 60, "switch", proper=True, parts=RESTLESS),
    "after history": Case((12, 2, 8), 250, history=50),
    "after history that fades": Case((12, 2, 8), 250, "switch", history=60, half_life=15.0),
    "after history with gaps": Case((14, 2, 6), 250, "gaps", history=60),
    "after history, proper": Case((16, 2, 10), 250, "switch", proper=True, history=60),
    "after history, everything is read": Case((9, 2, 9), 200, history=40),
    "after history, budget 1": Case((7, 1, 1), 200, past=False, history=40),
    "after history, other parts": Case((20, 2, 13), 150, "switch", parts=OTHER, history=50),
    "after history, memories part": Case((20, 2, 10), 200, "switch", parts=RESTLESS, history=40),
    "one memory, no net": Case((10, 2, 6), 300, parts=replace(USUAL, taus=(np.inf,), slots=0)),
}


def stream(case: Case) -> tuple[Floats, Floats]:
    """Three features matter, in a switch others after half of it; the last column is constant."""
    rng, (d, _, _), n = np.random.default_rng(4), case.shape, case.rounds
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, d) + rng.uniform(-1.0, 1.0, d)
    X[:, -1] = 7.0
    w = np.zeros(d)
    w[:3] = 1.0, -0.7, 0.5
    y = 2.0 + X @ w + rng.standard_normal(n)
    if case.kind == "switch":
        y[n // 2 :] = X[n // 2 :] @ np.roll(w, 3) + 0.5 * rng.standard_normal(n - n // 2)
    if case.kind == "walk":
        y += np.cumsum(0.3 * rng.standard_normal(n))
    if case.kind == "gaps":
        X[rng.random(X.shape) < 0.1] = np.nan
        X[rng.random(X.shape) < 0.01] *= 50.0
    return X, y


def word_of(learner: kh.AutoLearner) -> Word:
    s, state = learner._settings, learner._state
    late = state.mixture.recent[s.experts.judges]
    found = (select(state.kept, m, s.budget, s.thresholds[m]) for m in range(len(late)))
    return Word(late, [selection.chosen.tolist() for selection in found])


def first_difference(case: Case, bug: str = "") -> str:
    """Where block play and the transcription part, in words; empty if they never do.

    A second learner plays the same in small blocks: it has the last word where rounding decides.
    """
    problem, (X, y) = kh.Problem(*case.shape), stream(case)
    fast, slow = (
        kh.AutoLearner(problem, seed=3, proper=case.proper, past=case.past, parts=case.parts)
        for _ in range(2)
    )
    rules, before = Transcription(problem, case.parts, 3, case.proper, case.past, bug), case.history
    keep = 1.0 if case.half_life is None else 0.5 ** (1.0 / case.half_life)
    fast.study(kh.streams.ArrayStream(X[:before], y[:before]), half_life=case.half_life)
    for i in range(before):
        rules.study(X[i], float(y[i]), keep, word_of(slow))
        slow.study(kh.streams.ArrayStream(X[i : i + 1], y[i : i + 1]), half_life=case.half_life)
    X, y = X[before:], y[before:]
    bought = np.empty((len(y), problem.budget), dtype=np.int32)
    predictions = fast.advance(X, y, bought)
    t = 0
    while t < len(y):
        rows = slice(t, min(t + rules.size(), len(y)))
        batch, size = rules.choose(word_of(slow)), rules.size()
        for i in range(rows.start, rows.stop):
            if bought[i].tolist() != batch.S:
                return f"round {i + 1} buys {bought[i].tolist()}, by the rules {batch.S}"
            expected = rules.play(batch, X[i], float(y[i]))
            if not np.isclose(predictions[i], expected, rtol=1e-9, atol=1e-9):
                return f"round {i + 1} predicts {predictions[i]}, by the rules {expected}"
        assert (slow.advance(X[rows], y[rows]) == predictions[rows]).all()
        if rows.stop - rows.start == size:
            rules.finish(batch)
        t = rows.stop
    return ""


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_short_games_keep_to_the_rules(case: Case) -> None:
    """Few enough rounds to be played by kernels that are not compiled."""
    before = min(case.history, 20)
    assert first_difference(replace(case, rounds=60 + before, history=before)) == ""


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_block_play_keeps_to_the_rules(case: Case) -> None:
    assert first_difference(case) == ""


@pytest.mark.parametrize("bug", BUGS)
def test_a_mistake_is_noticed(bug: str) -> None:
    """Broken twins: each of these once left every test of AutoLearner green."""
    assert first_difference(CASES["usual, beyond round 1024"], bug) != ""


@pytest.mark.parametrize("bug", STUDY_BUGS)
def test_a_mistake_about_history_is_noticed(bug: str) -> None:
    names = ("after history that fades", "after history, memories part")
    assert any(first_difference(CASES[name], bug) != "" for name in names)
