"""The view of a row, the settings of the regressor, and river that is not there."""

import subprocess
import sys
from typing import Any

import pytest

import keyhole as kh
from keyhole.adapters.river import KeyholeRegressor
from keyhole.adapters.river_rows import MeteredRow


def test_the_view_hands_out_nothing_else() -> None:
    view = MeteredRow({"a": 1, "b": 2, "c": None}, ["a", "gone", "c"])
    assert not isinstance(view, dict)
    assert (list(view), len(view), "b" in view, "gone" in view) == (["a", "c"], 2, False, False)
    assert view.reads == 0
    assert (view["a"], view["a"], view.reads) == (1, 1, 1)
    with pytest.raises(kh.BudgetError, match="'b' was not bought"):
        view["b"]
    with pytest.raises(KeyError):
        view["gone"]
    assert view.reads == 1
    with pytest.raises(kh.DataError, match="'c' must be a number, got None"):
        view.values_in_order()


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"sparsity": 0}, "sparsity must be at least 1"),
        ({"sparsity": 5, "budget": 4}, "sparsity must be at most budget = 4"),
        ({"budget": 2.5}, "budget must be a whole number"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"learner": "autp"}, "did you mean 'auto'"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], word: str) -> None:
    with pytest.raises(kh.ProblemError, match=word):
        KeyholeRegressor(**settings)


def test_without_river_the_extra_is_named() -> None:
    code = "import sys; sys.modules['river'] = None; import keyhole.adapters.river"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'keyhole[river]'" in result.stderr
