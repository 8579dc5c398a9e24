"""KeyholeRegressor: every check of river, what is looked at, growth, blocks, refusals."""

import copy
import pickle
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pytest
from river import checks, compose, evaluate

import keyhole as kh
from keyhole.adapters.river import KeyholeRegressor
from keyhole.problem.optional_imports import extra

pd: Any = extra("pandas", "dev")
metrics: Any = extra("river.metrics", "river")
Rows = list[tuple[dict[Hashable, Any], float]]


class Spy(dict[Hashable, Any]):
    """A row that remembers which of its values were looked at."""

    def __init__(self, row: dict[Hashable, Any]) -> None:
        super().__init__(row)
        self.looked = list[Hashable]()

    def __getitem__(self, name: Hashable) -> Any:
        self.looked.append(name)
        return super().__getitem__(name)

    def _whole(self, *_: Any) -> Any:
        raise AssertionError("the row was gone through as a whole")

    values = items = get = copy = _whole


def stream(n: int, d: int = 9, seed: int = 0, names: Callable[[int], str] = "f{}".format) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = 2 * X[:, 1] - X[:, 4] + 0.1 * rng.normal(size=n)
    return [
        ({names(j): float(v) for j, v in enumerate(x)}, float(label))
        for x, label in zip(X, y, strict=True)
    ]


def frame(rows: Rows) -> tuple[Any, Any]:
    return pd.DataFrame([x for x, _ in rows]), pd.Series([y for _, y in rows])


def state(model: KeyholeRegressor) -> bytes:
    return pickle.dumps(model)


def same_future(a: KeyholeRegressor, b: KeyholeRegressor) -> None:
    """The two have the same counts, and go on alike; on copies, so that nothing is changed."""
    a, b = copy.deepcopy(a), copy.deepcopy(b)
    for x, y in stream(40, seed=9):
        assert a.next_features == b.next_features
        assert (a.n_reads, a.n_rounds, a.n_starts) == (b.n_reads, b.n_rounds, b.n_starts)
        assert a.predict_one(x) == b.predict_one(x)
        a.learn_one(x, y)
        b.learn_one(x, y)


MODELS = (KeyholeRegressor(), KeyholeRegressor(sparsity=2, budget=3, seed=5))
CHECKS = [
    pytest.param(model, check, id=f"{model.budget}-{check.__name__}")
    for model in MODELS
    for check in checks.yield_checks(model)
]


@pytest.mark.parametrize(("model", "check"), CHECKS)
def test_check_of_river(model: KeyholeRegressor, check: Callable[[Any], None]) -> None:
    assert model._unit_test_skips() == set()
    check(model.clone())


@pytest.mark.parametrize(
    "learner", [name for name, row in kh.LEARNERS.items() if not row.reads_everything]
)
def test_every_learner_learns_and_is_pickled(learner: str) -> None:
    model = KeyholeRegressor(sparsity=2, budget=5, learner=learner)
    for x, y in stream(40):
        model.learn_one(x, y)
    again = pickle.loads(pickle.dumps(model))
    copied = copy.deepcopy(model)
    for x, y in stream(40, seed=1):
        assert model.predict_one(x) == again.predict_one(x) == copied.predict_one(x)
        for one in (model, again, copied):
            one.learn_one(x, y)
    assert model.n_reads == again.n_reads == copied.n_reads


def test_only_bought_values_are_looked_at_and_each_look_counts() -> None:
    model, total = KeyholeRegressor(sparsity=2, budget=4), 0
    for x, y in stream(300):
        row, bought = Spy(x), set(model.next_features)
        model.predict_one(row)
        model.learn_one(row, y)
        looked = set(row.looked)
        assert len(looked) <= 4
        assert looked == bought or model.n_rounds == 1
        total += len(looked)
        assert model.n_reads == total
    assert total == 4 * 300


def test_a_copy_of_the_row_or_another_row_is_paid_for_again() -> None:
    (x, y), (other, _), *_ = stream(3)
    model = KeyholeRegressor(sparsity=2, budget=4)
    model.learn_one(x, y)
    assert model.n_reads == 4
    model.predict_one(other)
    model.learn_one(dict(other), y)
    assert model.n_reads == 12
    model.predict_one(other)
    model.predict_one(x)
    model.learn_one(other, y)
    assert model.n_reads == 24


def test_a_row_changed_in_place_is_paid_for_again() -> None:
    (x, y), (other, _), *_ = stream(3)
    model = KeyholeRegressor(sparsity=2, budget=4)
    model.learn_one(x, y)
    model.predict_one(x)
    x.update(other)
    model.learn_one(x, y)
    assert model.n_reads == 12


def test_fixed_names_are_played_as_keyhole_plays_them() -> None:
    rows = stream(600, d=12, names="{}".format)  # as strings: 0, 1, 10, 11, 2, ...
    order = sorted(rows[0][0], key=str)
    assert order[2] == "10"
    X, y = np.array([[x[j] for j in order] for x, _ in rows]), np.array([y for _, y in rows])
    learner = kh.AutoLearner(kh.Problem(12, 2, 5), seed=3)
    ledger = kh.play(learner, kh.streams.ArrayStream(X, y))
    model = KeyholeRegressor(sparsity=2, budget=5, seed=3)
    loss = 0.0
    for x, label in rows[:1]:
        model.learn_one(x, label)
    expected = kh.AutoLearner(kh.Problem(12, 2, 5), seed=3).advance(X, y)
    for (x, label), y_hat in zip(rows[1:], expected[1:].tolist(), strict=True):
        turned = dict(reversed(x.items()))
        assert model.predict_one(turned) == y_hat
        model.learn_one(turned, label)
        loss += (label - y_hat) ** 2
    assert ledger.loss == pytest.approx(loss + (rows[0][1] - expected[0]) ** 2)
    assert model.n_starts == 1
    found = sorted(model.weights, key=lambda j: -abs(model.weights[j]))[:2]
    assert found == ["1", "4"]


@pytest.mark.parametrize("sizes", [(1, 1, 300), (7, 100, 2, 193), (302,)])
@pytest.mark.parametrize("learner", ["auto", "online-greedy", "dantzig-data", "mean"])
def test_blocks_are_single_rounds(learner: str, sizes: tuple[int, ...]) -> None:
    rows = stream(302)
    one, many = (KeyholeRegressor(sparsity=2, budget=4, learner=learner) for _ in range(2))
    at = 0
    for size in sizes:
        for x, y in rows[at : at + size]:
            one.learn_one(x, y)
        many.learn_many(*frame(rows[at : at + size]))
        at += size
        same_future(one, many)
        later = frame(stream(5, seed=9))[0]
        guesses = many.predict_many(later)
        assert guesses.tolist() == [one.predict_one(x) for x, _ in stream(5, seed=9)]
        assert many.n_reads == one.n_reads


@pytest.mark.parametrize("size", [83, 63])  # new names before round 84, and right in round 64
def test_blocks_with_names_that_come_and_go(size: int) -> None:
    one, many = KeyholeRegressor(sparsity=2, budget=4), KeyholeRegressor(sparsity=2, budget=4)
    rows = stream(500)
    names = list(rows[0][0])
    parts = [names[:3], names, names[2:], names[:1], [*names[4:], "f0"], names]
    for part, columns in enumerate(parts):
        chunk: Rows = [
            ({j: x[j] for j in columns}, y) for x, y in rows[part * size : (part + 1) * size]
        ]
        for x, y in chunk:
            one.learn_one(x, y)
        many.learn_many(*frame(chunk))
        same_future(one, many)
    assert one.n_starts == 2


def test_new_names_are_taken_in_at_powers_of_two() -> None:
    model, starts = KeyholeRegressor(sparsity=1, budget=2), list[int]()
    for t in range(1, 200):
        before = model.n_starts
        model.learn_one({f"f{j}": 1.0 * j for j in range(t)}, 1.0)  # one more name every round
        starts += [t] * (model.n_starts - before)
    assert starts == [1, 2, 4, 8, 16, 32, 64, 128]
    assert set(model.next_features) <= {f"f{j}" for j in range(128)}


@pytest.mark.parametrize("first", [3, 7, 15])
@pytest.mark.parametrize("many", [False, True])
def test_a_new_name_in_the_last_round_before_a_power_of_two(first: int, many: bool) -> None:
    """A name first seen in round 2^m - 1 is taken in with round 2^m, however rows are handed in."""
    rows: list[dict[Hashable, Any]] = [
        {"a": 1.0 * t, **({"b": 2.0} if t == first else {})} for t in range(1, 20)
    ]
    model, starts = KeyholeRegressor(sparsity=1, budget=2), list[int]()
    for t, row in enumerate(rows, start=1):
        before = model.n_starts
        if not many:
            model.learn_one(row, 1.0)
        else:
            model.learn_many(*frame([(row, 1.0)]))
        starts += [t] * (model.n_starts - before)
    assert starts == [1, first + 1]
    whole = KeyholeRegressor(sparsity=1, budget=2)
    both = [(row | {"b": row.get("b", float("nan"))}, 1.0) for row in rows[: first + 3]]
    whole.learn_many(*frame([({"a": row["a"]}, y) for row, y in both[: first - 1]]))
    whole.learn_many(*frame(both[first - 1 :]))
    assert whole.n_starts == 2
    assert whole.n_rounds == first + 3


def test_a_vanished_name_is_absent_and_costs_nothing() -> None:
    model = KeyholeRegressor(sparsity=2, budget=9)
    for x, y in stream(50):
        model.learn_one(x, y)
    reads = model.n_reads
    (x, y), *_ = stream(1, seed=2)
    short = {name: x[name] for name in ("f1", "f4")}
    missing: dict[Hashable, float] = dict.fromkeys(x, float("nan"))
    missing.update(short)
    assert model.predict_one(short) == model.predict_one(missing)
    assert model.n_reads == reads + 2 + 9
    model.learn_one({}, y)
    assert (model.n_reads, model.n_rounds) == (reads + 11, 51)


def test_predicting_changes_nothing_but_the_count() -> None:
    model = KeyholeRegressor(sparsity=2, budget=4)
    assert model.predict_one({"a": "anything"}) == 0.0
    assert model.predict_many(pd.DataFrame({"a": ["x", "y"]}, index=[5, 3])).to_dict() == {
        5: 0.0,
        3: 0.0,
    }
    rows = stream(30)
    quiet = model.clone()
    for x, y in rows:
        model.predict_one(dict(rows[0][0]))
        model.predict_many(frame(rows[:3])[0])
        model.learn_one(x, y)
        quiet.learn_one(x, y)
    model.n_reads = quiet.n_reads
    assert state(model) == state(quiet)


def test_names_of_any_kind() -> None:
    model = KeyholeRegressor(sparsity=1, budget=4)
    for t in range(20):
        x: dict[Hashable, Any] = {1: 1.0 * t, "1": 2.0, ("a", 2): True, "": np.float32(t)}
        model.learn_one(x, 3.0 * t)
    assert set(model.next_features) == {1, "1", ("a", 2), ""}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("bad", ["red", b"1", None, [1.0], 1e200, float("inf"), 10**400])
def test_values_that_are_no_numbers(bad: Any, first: bool) -> None:
    model = KeyholeRegressor(sparsity=1, budget=2)
    if not first:
        model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    before = state(model)
    with pytest.raises(kh.DataError, match="the value of 'b'"):
        model.learn_one({"a": 1.0, "b": bad, "new": 1.0} if not first else {"a": 1, "b": bad}, 1.0)
    assert state(model) == before
    model.learn_one({"a": 1.0, "b": 2.0}, 1.0)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "much", None, 1e200])
def test_labels_that_are_no_numbers(bad: Any) -> None:
    model = KeyholeRegressor(sparsity=1, budget=2)
    model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    before = state(model)
    with pytest.raises(kh.DataError):
        model.learn_one({"a": 1.0, "b": 2.0}, bad)
    with pytest.raises(kh.DataError):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series([1.0, bad]))
    assert state(model) == before


def test_frames_that_cannot_be_used() -> None:
    model = KeyholeRegressor(sparsity=1, budget=2)
    with pytest.raises(kh.DataError, match="must be a pandas DataFrame, got a list"):
        model.predict_many([[1.0]])
    with pytest.raises(kh.DataError, match="column 'a' comes twice"):
        model.learn_many(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), pd.Series([1.0]))
    with pytest.raises(kh.DataError, match="each of the 2 rows"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series([1.0]))
    model.learn_many(pd.DataFrame({"a": []}), pd.Series([], dtype=float))
    assert model.n_rounds == 0


@pytest.mark.parametrize("bad", [1e200, "red"])
def test_a_bad_row_in_a_block_leaves_those_before_it(bad: Any) -> None:
    rows = stream(40)
    one, many = KeyholeRegressor(sparsity=2, budget=9), KeyholeRegressor(sparsity=2, budget=9)
    for x, y in rows[:25]:
        one.learn_one(x, y)
    X, y = frame(rows)
    if isinstance(bad, str):
        X = X.astype({"f3": object})
    X.loc[25, "f3"] = bad
    with pytest.raises(kh.DataError):
        many.learn_many(X, y)
    same_future(one, many)
    for x, label in rows[26:]:
        many.learn_one(x, label)
    assert many.n_rounds == 39


def test_text_that_is_never_bought_is_never_seen() -> None:
    model = KeyholeRegressor(sparsity=1, budget=1, learner="fixed")  # buys the first name
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["red", "green", None]})
    model.learn_many(X, pd.Series([1.0, 2.0, 3.0]))
    assert model.predict_many(X).tolist() == [
        model.predict_one(row) for row in X.to_dict("records")
    ]
    assert (model.next_features, model.n_rounds) == (("a",), 3)


def test_a_learner_that_cannot_grow_further_says_so_and_stays() -> None:
    model = KeyholeRegressor(sparsity=1, budget=2, learner="full")
    model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    before = state(model)
    with pytest.raises(kh.ProblemError, match="full information reads all 3 features"):
        model.learn_one({"a": 1.0, "b": 2.0, "c": 3.0}, 1.0)
    assert state(model) == before


def test_in_a_pipeline_under_progressive_validation() -> None:
    def score(seed: int) -> tuple[float, float]:
        regressor = KeyholeRegressor(sparsity=2, budget=4, seed=seed)
        pipeline = compose.Discard("f8") | regressor
        metric = evaluate.progressive_val_score(stream(800), pipeline, metrics.MSE())
        assert "f8" not in regressor.weights
        return metric.get(), regressor.n_reads

    assert score(1) == score(1)
    assert score(1) != score(2)
    # The labels have variance 5 and noise 0.01; whoever finds both features is far below 1.
    assert score(1)[0] < 1.0


def test_rows_known_in_full_are_studied_at_no_cost() -> None:
    rows = stream(400)
    X, y = frame(rows[:300])
    model, plain = (KeyholeRegressor(sparsity=2, budget=4, seed=1) for _ in range(2))
    model.study_many(X, y)
    assert (model.n_reads, model.n_rounds, model.n_starts) == (0, 0, 1)
    assert {"f1", "f4"} <= set(model.next_features)
    x, label = rows[300]
    assert model.predict_one(x) == pytest.approx(label, abs=0.6)
    assert plain.predict_one(x) == 0.0
    learner = kh.AutoLearner(kh.Problem(9, 2, 4, names=[f"f{j}" for j in range(9)]), seed=1)
    learner.study(kh.streams.ArrayStream(X.to_numpy(), y.to_numpy(), tuple(X.columns)))
    for x, label in rows[300:]:
        ticket = learner.ask()
        assert ticket.names == model.next_features
        seen = ticket.fill({name: x[name] for name in ticket.names or ()})
        assert model.predict_one(x) == learner.predict(seen)
        model.learn_one(x, label)
        learner.tell(seen, label)
    assert model.n_reads == 4 * 100


def test_study_many_between_rows_and_in_parts() -> None:
    rows = stream(400)
    whole, parts = (KeyholeRegressor(sparsity=2, budget=4, seed=1) for _ in range(2))
    for model in (whole, parts):
        model.learn_many(*frame(rows[:50]))
    whole.study_many(*frame(rows[50:200]), half_life=30.0)
    parts.study_many(*frame(rows[50:60]), half_life=30.0)
    parts.study_many(*frame(rows[60:200]), half_life=30.0)
    assert whole.n_rounds == 50
    same_future(whole, parts)


def test_what_study_many_cannot_use_changes_nothing() -> None:
    rows = stream(60)
    X, y = frame(rows)
    model = KeyholeRegressor(sparsity=2, budget=4, seed=1)
    model.learn_many(X, y)
    before = state(model)
    for bad, labels, words in (
        (X.assign(f1="text"), y, "plain numbers"),
        (X.assign(new=1.0), y, "does not know 'new'"),
        (X, y.replace(y.iloc[5], np.nan), "label|finite"),
        (X.assign(f1=np.inf), y, "history, row 1, feature 1"),
    ):
        with pytest.raises(kh.KeyholeError, match=words):
            model.study_many(bad, labels)
        assert state(model) == before
    with pytest.raises(kh.ProblemError, match="cannot study"):
        KeyholeRegressor(learner="iht").study_many(X, y)
    untouched = KeyholeRegressor()
    untouched.study_many(X.iloc[:0], y.iloc[:0])
    assert untouched.n_starts == 0
    model.study_many(X.drop(columns="f3"), y)  # absent, as in any row
