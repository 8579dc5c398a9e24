"""What does not fit never reaches C: sizes, dtypes, order, read-only arrays, other records."""

from __future__ import annotations

import copy
import pickle
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from keyhole.core.records import Misfit, dimension, forms, held, hold
from keyhole.learners.blocks.sums.memories import Memories, fold, memories
from keyhole.problem import Floats


def arguments(m: int = 2) -> dict[str, Any]:
    """What `fold` takes for a batch that read two of three features."""
    return {
        "kept": memories(3, [np.inf, 64.0]),
        "features": np.array([0, 2]),
        "G": np.eye(m + 1),
        "c": np.ones(m + 1),
        "count": np.ones(m + 1),
        "yy": 1.0,
        "rows": 1,
    }


def test_what_fits_is_called() -> None:
    given = arguments()
    fold(**given)
    assert given["kept"].n[0].tolist() == [1.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("G", np.eye(2), r"kh_fold: G has size \(2, 2\), expected m\+1, m\+1 with m=2"),
        ("G", np.eye(4)[:3], "has size"),
        ("c", np.ones(2), "kh_fold: c has size 2"),
        ("c", np.ones((3, 1)), "must have 1 dimensions"),
        ("G", np.eye(3, dtype=np.float32), "must be an array of float64, got float32"),
        ("features", np.array([0.0, 2.0]), "must be an array of int64, got float64"),
        ("features", [0, 2], "must be an array of int64, got list"),
        ("G", np.eye(6)[::2, ::2], "must be in C order"),
        ("G", np.asfortranarray(np.arange(9.0).reshape(3, 3)), "must be in C order"),
        ("kept", (1, 2), "kh_fold: kept must be a Memories, got tuple"),
        ("rows", 2**63, "whole number of 64 bits"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, value: Any, words: str) -> None:
    given = {**arguments(), name: value}
    with pytest.raises(Misfit, match=words):
        fold(**given)


def test_a_fraction_is_no_whole_number() -> None:
    with pytest.raises(TypeError):
        fold(**{**arguments(), "rows": 1.5})


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("G", np.zeros((2, 4, 3)), r"G has size \(2, 4, 3\)"),
        ("c", np.zeros((2, 5)), r"c has size \(2, 5\)"),
        ("c", np.zeros((2, 4), dtype=np.float32), "must be an array of float64, got float32"),
        ("c", np.zeros((4, 2)).T, "must be in C order"),
        ("c", None, "must be an array of float64, got NoneType"),
    ],
)
def test_a_record_is_looked_at_too(field: str, value: Any, words: str) -> None:
    given = arguments()
    given["kept"] = given["kept"]._replace(**{field: value})
    with pytest.raises(Misfit, match=words):
        fold(**given)
    with pytest.raises(Misfit, match=words):
        hold(given["kept"])


def test_a_record_is_written_to_so_it_must_be_writeable() -> None:
    given = arguments()
    given["kept"].c.setflags(write=False)
    with pytest.raises(Misfit, match=r"Memories\.c must be writeable"):
        fold(**given)


def test_a_copy_has_a_struct_of_its_own() -> None:
    first = hold(memories(3, [np.inf]))
    assert isinstance(first, Memories)
    assert type(first).__name__ == "Memories"
    for second in (copy.deepcopy(first), pickle.loads(pickle.dumps(first))):
        assert held(second).address != held(first).address
        fold(second, np.array([1]), np.eye(2), np.ones(2), np.ones(2), 1.0, 1)
        assert second.n[0, 1] == 1.0
        assert first.n[0, 1] == 0.0
    other = first._replace(c=np.zeros((1, 4)))
    assert not hasattr(other, "_held")  # another array, so the struct is filled again


class Start(NamedTuple):
    """What C has as `kh_start`, with other fields."""

    m: int
    ridge: float
    sizes: Annotated[Floats, "b"]


def test_fields_that_c_declares_otherwise_are_found() -> None:
    with pytest.raises(TypeError, match="is not what C takes it for"):
        forms(Start)


@pytest.mark.parametrize("text", ["", "a b", "a*2", "+1", "d-", "1.5"])
def test_dimensions_that_are_none(text: str) -> None:
    with pytest.raises(TypeError, match="no dimension"):
        dimension(text)
