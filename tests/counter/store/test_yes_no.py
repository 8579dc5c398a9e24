"""Learners of yes and no in a store: probabilities, replayed and verified like any other."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from tests.helpers.counted import PROBLEM, learnt, values_for


def test_probabilities_are_served_and_replayed(url: str) -> None:
    with kh.Store(url) as store:
        name = learnt(store, yes_no=True)
        [ticket] = store.ask(name)
        found = store.fill(ticket.id, values_for(ticket))
        assert found.probability == found.prediction
        assert 0.0 < (found.probability or 0.0) < 1.0
        assert (found.low, found.high, found.coverage) == (None, None, None)
        assert found.as_dict()["probability"] == found.probability
        assert store.info(name).yes_no
        with pytest.raises(kh.DataError, match=r"the label must be 0 \(no\) or 1 \(yes\)"):
            store.tell(ticket.id, 0.5)
        assert store.ticket(ticket.id).state == "filled"
        store.tell(ticket.id, 1.0)
        store.verify(name)
        scores: Any = store.learner(name)
        assert scores.calibration().rounds == 41
        assert 0.0 < scores.probabilities([0.5])[0] < 1.0
        assert not hasattr(scores, "interval")
        with pytest.raises(kh.ConflictError, match="its calibration keeps no rows"):
            store.correct(ticket.id, y=0.0)
        [waiting] = store.ask(name)
        first = store.fill(waiting.id, values_for(waiting))
        right = store.correct(waiting.id, values={"age": 1.0, "crp": 1.0, "tsh": 1.0})
        assert right.probability not in (None, first.probability)
        store.verify(name)
    with kh.Store(url) as store:
        assert store.ticket(ticket.id).label == 1.0
        store.verify(name)


def test_the_transcript_is_that_of_the_learner_in_memory(tmp_path: Path) -> None:
    X = np.random.default_rng(0).uniform(1.0, 3.0, (60, 3))
    stream = kh.streams.ArrayStream(X, X.sum(axis=1) > 6.0)
    alone = kh.YesNoLearner(kh.AutoLearner(PROBLEM, seed=0))
    expected = kh.play(alone, stream)
    with kh.Store(tmp_path / "keyhole.db") as store:
        store.create("yes", PROBLEM, "auto", yes_no=True)
        played = kh.play(store.learner("yes", confirm=True), stream)
        np.testing.assert_array_equal(played.predictions, expected.predictions)
        assert copy.deepcopy(store.learner("yes")).calibration().loss == alone.calibration().loss
        assert store.info("yes").loss == pytest.approx(expected.loss)
        store.verify()


def test_others_are_kept_as_before(tmp_path: Path) -> None:
    with kh.Store(tmp_path / "keyhole.db") as store:
        store.create("plain", PROBLEM, "random")
        assert "yes_no" not in store.history("plain")[0].body
        assert not store.info("plain").yes_no
        with pytest.raises(kh.ProblemError, match="yes_no must be True or False"):
            store.create("odd", PROBLEM, "random", yes_no="yes")  # type: ignore[arg-type]


def test_history_is_studied(tmp_path: Path) -> None:
    X = np.random.default_rng(1).uniform(1.0, 3.0, (300, 3))
    history = kh.streams.ArrayStream(X, X[:, 0] > 2.8)
    with kh.Store(tmp_path / "keyhole.db") as store:
        assert store.create("yes", PROBLEM, yes_no=True, history=history).history == 300
        learner: Any = store.learner("yes")
        found = store.fill(store.ask("yes")[0].id, [1.2, 2.0, 2.0])
        assert (found.probability or 1.0) < 0.5
        assert learner.calibration().rounds == 0
        store.verify()
