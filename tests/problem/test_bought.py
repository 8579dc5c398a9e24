"""What was bought, from a ticket, a row or rows: the same numbers, to the bit."""

import numpy as np

import keyhole as kh
from keyhole.learners.residuals import Residuals
from keyhole.problem import Floats
from keyhole.problem.rows import bought_for, bought_of_row, bought_of_rows
from keyhole.streams.sparse import SparseRows

FEATURES = np.array([[0, 2, 5], [1, 3, -1], [4, -1, -1]], dtype=np.int32)


def rows() -> Floats:
    X = np.random.default_rng(0).standard_normal((3, 6))
    X[0, 2], X[1, 1], X[2, 4] = np.nan, 1e-200, 0.0
    return X


def test_rows_are_single_rows_and_observations() -> None:
    X, whole = rows(), bought_of_rows(rows(), FEATURES)
    for i, some in enumerate(FEATURES):
        features = some[some >= 0].astype(np.int64)
        row = bought_of_row(X[i], features)
        seen = bought_for(kh.Ticket(1, features).fill(X[i, features]))
        for one in (row, seen):
            assert one.features[0].tolist() == features.tolist()
            assert one.values[0].tobytes() == whole.values[i, some >= 0].tobytes()
    assert np.isnan(whole.values[FEATURES < 0]).all()
    assert whole.values[1, 0] == 0.0  # too small to be squared


def test_lazy_rows_are_rows() -> None:
    X = rows()
    X[np.abs(X) < 0.5] = 0.0
    (at, features), bounds = np.nonzero(X), np.zeros(4, dtype=np.int64)
    np.cumsum(np.bincount(at, minlength=3), out=bounds[1:])
    lazy = SparseRows(bounds, features.astype(np.int32), X[at, features], d=6)
    whole, sparse = bought_of_rows(X, FEATURES), bought_of_rows(lazy, FEATURES)
    assert whole.values.tobytes() == sparse.values.tobytes()
    one = bought_of_row(lazy.row(0), np.array([0, 2, 5]))
    assert one.values.tobytes() == whole.values[:1].tobytes()


def test_features_beyond_d_are_left_out_of_a_record_of_errors() -> None:
    predictions, y, X = np.zeros(40), np.ones(40), np.ones((40, 6))
    features = np.tile([0, 1, 5], (40, 1))
    narrow, empty = Residuals(2), Residuals(2)
    ends = narrow.play_block(predictions, y, 0.9, bought_of_rows(X, features))
    features[:, 2] = -1
    same = empty.play_block(predictions, y, 0.9, bought_of_rows(X, features))
    assert ends.tobytes() == same.tobytes()
    sizes = [one.arrays()["sizes"]["reads"].tolist() for one in (narrow, empty)]
    assert sizes == [[40.0, 40.0, 40.0]] * 2  # two features and the prediction
