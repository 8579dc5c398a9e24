"""Targets of two values: what they mean, in every format, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem.optional_imports import extra
from keyhole.streams import ReadStream, collect, read

pa: Any = extra("pyarrow", "files")


def opened(values: list[Any], form: str, folder: Path, **how: Any) -> ReadStream:
    if form == "frame":
        given = [None if value == "" else value for value in values]
        return read(pa.table({"a": list(range(len(values))), "y": given}), target="y", **how)
    lines = "".join(f"{i},{value}\n" for i, value in enumerate(values))
    (folder / "t.csv").write_text(f"a,y\n{lines}")
    return read(folder / "t.csv", target="y", **how)


UNDERSTOOD: list[tuple[list[Any], dict[str, Any], str, str | None, list[float]]] = [
    (["no", "yes", "no"], {}, "yes", "no", [0, 1, 0]),
    (["Yes", "No"], {}, "Yes", "No", [1, 0]),
    (["positive", "unclear"], {}, "positive", "unclear", [1, 0]),
    (["ill", "well", "", "ill"], {}, "well", "ill", [0, 1, 0]),
    (["ill", "well"], {"positive": "ill"}, "ill", "well", [1, 0]),
    (["a", "b", "c"], {"positive": "b"}, "b", None, [0, 1, 0]),
    ([0, 1, 1], {}, "1", "0", [0, 1, 1]),
    ([0, 1, 1], {"positive": 0}, "0", "1", [1, 0, 0]),
    ([-1, 1], {"yes_no": True}, "1", "-1", [0, 1]),
    ([-1, 1], {"positive": "1"}, "1", "-1", [0, 1]),
    ([1, 2, 3], {"positive": 2}, "2", None, [0, 1, 0]),
    (["7", "x"], {"positive": "x"}, "x", "7", [0, 1]),
]


@pytest.mark.parametrize("form", ["frame", "csv"])
@pytest.mark.parametrize(("values", "how", "yes", "no", "labels"), UNDERSTOOD)
def test_what_values_mean(
    values: list[Any],
    how: dict[str, Any],
    yes: str,
    no: str | None,
    labels: list[float],
    form: str,
    tmp_path: Path,
) -> None:
    stream = opened(values, form, tmp_path, **how)
    assert stream.answers is not None
    assert (stream.answers.yes, stream.answers.no) == (yes, no)
    assert collect(stream)[1].tolist() == labels
    assert stream.left_out == len(values) - len(labels)


def test_true_and_false(tmp_path: Path) -> None:
    for stream in (
        opened([True, False, None], "frame", tmp_path),
        opened(["true", "false", "NA"], "csv", tmp_path),
    ):
        assert str(stream.answers) == "'true' is 1 (yes), 'false' is 0"
        assert collect(stream)[1].tolist() == [1, 0]
    turned = opened(["True", "False"], "csv", tmp_path, positive="false")
    assert collect(turned)[1].tolist() == [0, 1]


@pytest.mark.parametrize("form", ["frame", "csv"])
def test_numbers_stay_numbers(form: str, tmp_path: Path) -> None:
    for values, how in (
        ([-1, 1], {}),
        ([0, 1], {"yes_no": False}),
        ([1, 2], {}),
        ([0.5, 1.0, 0.0], {}),
        ([1, 1], {}),
    ):
        stream = opened(values, form, tmp_path, **how)
        assert stream.answers is None
        assert collect(stream)[1].tolist() == values


REFUSED: list[tuple[list[Any], dict[str, Any], str]] = [
    (["a", "b", "c"], {}, "3 different texts, 'a', 'b', 'c'; yes or no needs two: say which"),
    (["a", "a"], {}, "is 'a' in every row: there is nothing to learn"),
    (["ill", "well"], {"positive": "il"}, r"never 'il' \(did you mean 'ill'\?\)"),
    ([1, 2, 3], {"yes_no": True}, "3 different numbers, yes or no needs two: say which"),
    ([1, 2], {"positive": 5}, "is never 5: it has 1, 2"),
    ([1, 2], {"positive": "ill"}, "is never 'ill'"),
    (
        ["1", "x", "2"],
        {},
        "must be numbers, got 'x': correct the cell.* say which value .* means yes",
    ),
    ([f"t{i}" for i in range(1001)], {}, "must be numbers, got 't0'"),
]


@pytest.mark.parametrize("form", ["frame", "csv"])
@pytest.mark.parametrize(("values", "how", "said"), REFUSED)
def test_what_is_refused(
    values: list[Any], how: dict[str, Any], said: str, form: str, tmp_path: Path
) -> None:
    with pytest.raises(kh.DataError, match=said):
        opened(values, form, tmp_path, **how)


def test_answers_again(tmp_path: Path) -> None:
    first = opened(["ill", "well"], "csv", tmp_path, positive="ill")
    again = opened(["ill", "ill"], "csv", tmp_path, positive=first.answers)
    assert collect(again)[1].tolist() == [1, 1]
    with pytest.raises(kh.DataError, match=r"must be as before: 'ill' is 1 .*, got 'dead'"):
        opened(["ill", "dead"], "csv", tmp_path, positive=first.answers)
    with pytest.raises(kh.DataError, match="must be as before"):
        opened([0, 1], "csv", tmp_path, positive=first.answers)
    rest = opened(["a", "b", "c"], "csv", tmp_path, positive="b")
    assert collect(opened(["b", "z"], "csv", tmp_path, positive=rest.answers))[1].tolist() == [1, 0]
    numbers = opened([-1, 1], "csv", tmp_path, yes_no=True)
    assert collect(opened([1, 1], "csv", tmp_path, positive=numbers.answers))[1].tolist() == [1, 1]


def test_a_categorical_target(tmp_path: Path) -> None:
    cells = pa.array(["no", None, "yes"]).dictionary_encode()
    stream = read(pa.table({"a": [1, 2, 3], "y": cells}), target="y")
    assert np.array_equal(collect(stream)[1], [0, 1])
