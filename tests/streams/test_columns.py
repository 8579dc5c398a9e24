"""Names of features that can be read in more than one way are resolved by all the others."""

import numpy as np
import pytest

import keyhole as kh
from keyhole.streams import read
from keyhole.streams.columns import resolve

pyarrow = pytest.importorskip("pyarrow")
TWO = pyarrow.table(
    {"a": [1.5, 2.5, 3.5], "a=b": ["c", "d", "c"], "x": [0.0, 1.0, 2.0], "y": [1.0, 2.0, 3.0]}
)


def test_a_number_beside_a_column_whose_name_begins_alike() -> None:
    first = read(TWO, target="y")
    assert first.names == ("a", "a=b=c", "a=b=d", "x")
    again = read(TWO, target="y", features=first.names)
    for stream in (first, again):
        X, _ = kh.streams.collect(stream)
        assert X.tolist() == [[1.5, 1, 0, 0], [2.5, 0, 1, 1], [3.5, 1, 0, 2]]
    backwards = read(TWO, target="y", features=first.names[::-1])
    assert kh.streams.collect(backwards)[0].tolist() == X[:, ::-1].tolist()


def test_an_ambiguous_name_is_refused_and_leaving_a_column_out_settles_it() -> None:
    message = "'a=b=c' can be level 'b=c' of column 'a' or level 'c' of column 'a=b'"
    with pytest.raises(kh.DataError, match=message):
        read(TWO, target="y", features=["a=b=c", "x"])
    stream = read(TWO, target="y", features=["a=b=c", "x"], ignore=["a"])
    assert kh.streams.collect(stream)[0].tolist() == [[1, 0], [0, 1], [1, 2]]
    with pytest.raises(kh.DataError, match="no column for the feature 'x'"):
        read(TWO, target="y", features=["a", "x"], ignore=["x"])


def test_a_column_beside_a_level_of_the_same_name() -> None:
    columns = {"a", "a=b"}
    with pytest.raises(kh.DataError, match="can be column 'a=b' or level 'b' of column 'a'"):
        resolve(["a=b"], columns, "t")
    assert resolve(["a=b", "a"], columns, "t") == {"a=b": None, "a": None}
    assert resolve(["a=b", "a=z"], {"a"}, "t") == {"a": ("b", "z")}
    with pytest.raises(kh.DataError, match="can be column 'a=b' or level 'b' of column 'a'"):
        resolve(["a=b", "a=z"], columns, "t")  # a has levels, and a=b may still be either


def test_what_is_settled_settles_what_depends_on_it() -> None:
    columns = {"a", "a=b", "a=b=c"}
    spread = resolve(["a=b=c=d", "a=b", "a"], columns, "t")
    assert spread == {"a=b=c": ("d",), "a=b": None, "a": None}


def test_a_column_is_numbers_or_levels() -> None:
    with pytest.raises(kh.DataError, match="column 'a' cannot be numbers and have levels too"):
        resolve(["a", "a=b"], {"a"}, "t")
    with pytest.raises(kh.DataError, match="column 'a' cannot be numbers and have levels too"):
        resolve(["a=b", "a"], {"a"}, "t")
    with pytest.raises(kh.DataError, match="cannot be numbers and have levels"):
        read(TWO, target="y", features=["x", "x=1"])


def test_no_feature_is_left_unwritten() -> None:
    # Every choice of features either is refused or says the same as the stream they came from.
    rng = np.random.default_rng(0)
    names = ["a", "a=b", "a=b=c", "a=", "=a"]
    texts = ["b", "c", "b=c", "=", "a"]
    outcomes = {"same": 0, "refused": 0}
    for _ in range(150):
        some = rng.choice(len(names), rng.integers(1, 5), replace=False)
        table = {
            names[i]: list(rng.choice(texts, 6)) if rng.random() < 0.5 else list(rng.random(6))
            for i in some
        }
        frame = pyarrow.table({**table, "y": np.arange(6.0)})
        try:
            first = read(frame, target="y")
            assert first.names is not None
            order = rng.permutation(first.d)[: rng.integers(1, first.d + 1)]
            again = read(frame, target="y", features=[first.names[j] for j in order])
            X = kh.streams.collect(again)[0]
        except kh.DataError:
            outcomes["refused"] += 1
            continue
        outcomes["same"] += 1
        assert X.tobytes() == kh.streams.collect(first)[0][:, order].tobytes()
    assert min(outcomes.values()) > 20, outcomes


@pytest.mark.parametrize("features", ["a", [1], [None], 3])
def test_names_of_features_are_a_list_of_strings(features: object) -> None:
    with pytest.raises(kh.DataError, match="features must be a list of names"):
        read(TWO, target="y", features=features)  # type: ignore[arg-type]
