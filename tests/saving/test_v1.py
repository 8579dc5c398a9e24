"""Files of format 1 can be loaded for ever.

KEYHOLE_WRITE_V1=1 pytest tests/saving/test_v1.py writes the files that are missing from v1/, and
never one that is there: delete a file only as long as no release could have written it.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem import Floats

FOLDER = Path(__file__).parent / "v1"
NAMES = tuple(f"sensor {i}" for i in range(12))
OPEN = 3  # tickets


def data() -> tuple[Floats, Floats]:
    """Rows without a random generator: those of numpy may change."""
    t, j = np.meshgrid(np.arange(140), np.arange(12), indexing="ij")
    X = np.remainder(t * 0.754877666 + j * 0.569840291 + t * j * 0.438579021, 1.0) * 2.0 - 1.0
    return X, X[:, 2] - 0.5 * X[:, 5] + 0.2 * X[:, 9] + 0.1


def future(learner: Any) -> dict[str, list[Any]]:
    """What a learner buys and predicts after the tickets that were open."""
    X, y = data()
    told = list(learner._desk.open)
    predictions = [learner.predict(t.fill(X[t.round - 1][t.features])) for t in told]
    for ticket in reversed(told):
        learner.tell(ticket.fill(X[ticket.round - 1][ticket.features]), y[ticket.round - 1])
    bought = [ticket.features.tolist() for ticket in told]
    stream = kh.streams.ArrayStream(X[learner.round :], y[learner.round :], names=NAMES)
    for played in kh.rounds(learner, stream):
        bought.append(played.features.tolist())
        predictions.append(played.y_hat)
    return {"bought": bought, "predictions": predictions}


def write(name: str) -> None:
    problem = kh.Problem(12, 2, 12 if kh.LEARNERS[name].reads_everything else 6, names=NAMES)
    learner = kh.LEARNERS[name](problem, seed=7)
    X, y = data()
    kh.play(learner, kh.streams.ArrayStream(X[:75], y[:75], names=NAMES))
    for _ in range(OPEN):
        learner.ask()
    kh.save(learner, FOLDER / f"{name}.npz")
    (FOLDER / f"{name}.json").write_text(json.dumps(future(learner)) + "\n")


if os.environ.get("KEYHOLE_WRITE_V1"):
    for missing in [name for name in kh.LEARNERS if not (FOLDER / f"{name}.npz").exists()]:
        write(missing)


@pytest.mark.parametrize("name", kh.LEARNERS)
def test_there_is_a_file_of_every_learner(name: str) -> None:
    assert (FOLDER / f"{name}.npz").exists(), "write it: KEYHOLE_WRITE_V1=1 pytest " + __file__


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.npz")), ids=lambda path: str(path.stem))
def test_the_file_is_loaded_and_plays_on(path: Path) -> None:
    learner = kh.load(path)
    assert learner.round == 75 + OPEN
    assert learner.problem.names == NAMES
    expected, found = json.loads(path.with_suffix(".json").read_text()), future(learner)
    assert found["bought"] == expected["bought"]
    # The last bits are those of the machine's linear algebra.
    np.testing.assert_allclose(found["predictions"], expected["predictions"], rtol=1e-9, atol=1e-11)
