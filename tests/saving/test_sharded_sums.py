"""kh.sums: the same numbers as one pass over the rows, however they are cut, kept and spread."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.problem import Floats
from keyhole.problem.optional_imports import extra
from keyhole.streams import shards

pa, arrow_csv, pq = (extra(name, "files") for name in ("pyarrow", "pyarrow.csv", "pyarrow.parquet"))
MODULE: Any = importlib.import_module("keyhole.saving.sharded_sums")  # kh.sums is the function


def rows(seed: int, n: int = 300, d: int = 4) -> tuple[Floats, Floats]:
    """Rows far from zero that drift, some cells absent, with labels of the first two features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(1000.0 + 10 * seed, 1.0, (n, d))
    y = 2 * X[:, 0] - X[:, 1] + rng.normal(size=n)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


def table(X: Floats, y: Floats, colours: str = "rg") -> Any:
    columns = {f"x{j}": pa.array(X[:, j], from_pandas=True) for j in range(X.shape[1])}
    levels = [colours[i % len(colours)] for i in range(len(y))]
    return pa.table({**columns, "colour": levels, "y": y})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four Parquet shards; one level of a column is in the last of them only."""
    place = tmp_path / "data"
    place.mkdir()
    for i in range(4):
        pq.write_table(table(*rows(i), "rgb" if i == 3 else "rg"), place / f"{i}.parquet")
    return place


def exact(stream: kh.BlockStream) -> kh.DataSums:
    """The sums of all rows at once."""
    return kh.sums(stream)


def test_sums_of_shards_are_those_of_all_rows(folder: Path) -> None:
    stream = kh.streams.read(folder, target="y")
    whole, parts = exact(stream), kh.sums(folder, target="y")
    assert parts.names == stream.names
    assert parts.names is not None
    assert parts.names[-3:] == ("colour=b", "colour=g", "colour=r")
    assert parts.rounds == stream.rounds == 1200
    np.testing.assert_allclose(parts.covariance, whole.covariance, rtol=0, atol=1e-10)
    np.testing.assert_allclose(parts.means, whole.means, rtol=1e-14)
    assert parts.ends == whole.ends
    assert np.array_equal(parts.low, whole.low)
    assert np.array_equal(parts.high, whole.high)
    assert np.array_equal(parts.counts, whole.counts)
    X, y = kh.streams.collect(stream)
    assert np.array_equal(parts.counts, (~np.isnan(X)).sum(axis=0))
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    np.testing.assert_allclose(parts.covariance, np.cov(filled.T, bias=True), atol=1e-9)
    assert parts.label_mean == pytest.approx(y.mean(), rel=1e-14)


def test_means_far_apart_cost_no_digits() -> None:
    # Shards whose means are 2^20 apart: sums about any one of them would lose 12 digits of the
    # others' spread; about the mean of all there is nothing left to lose but the spread of means.
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(500, 2)) + shift for shift in (0.0, 2.0**20, 0.0, 0.0)]
    total: DataSums | None = None
    for X in parts:
        one = kh.sums(kh.streams.ArrayStream(X, X[:, 0]))
        total = one if total is None else total + one
    assert total is not None
    exact = np.cov(np.concatenate(parts).T.astype(np.longdouble), bias=True).astype(float)
    np.testing.assert_allclose(total.covariance, exact, rtol=1e-13)


def test_csv_and_parquet_are_alike(folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.mkdir()
    for i in range(4):
        arrow_csv.write_csv(pq.read_table(folder / f"{i}.parquet"), text / f"{i}.csv")
    assert kh.sums(text, target="y").same(kh.sums(folder, target="y"))


def test_row_groups_are_shards(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = pa.concat_tables([pq.read_table(folder / f"{i}.parquet") for i in range(4)])
    pq.write_table(whole, tmp_path / "one.parquet", row_group_size=100)
    monkeypatch.setattr(shards, "SHARD_CELLS", 300 * 6)
    cut = kh.sums(tmp_path / "one.parquet", target="y")
    assert len(cut.parts) == 4
    assert cut.rounds == 1200
    apart = kh.sums(folder, target="y")
    assert all(
        np.array_equal(a, b)
        for a, b in zip(cut.arrays().values(), apart.arrays().values(), strict=True)
    ), "the same rows in the same shards are the same numbers, whatever the files"


def test_several_processes_give_the_same_bits(folder: Path) -> None:
    assert kh.sums(folder, target="y", jobs=2).same(kh.sums(folder, target="y"))


def test_wide_tables_come_in_stripes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = kh.sums(folder, target="y")
    monkeypatch.setattr(MODULE, "STRIPE_FEATURES", 3)
    striped = kh.sums(folder, target="y")
    for name, array in whole.arrays().items():
        np.testing.assert_allclose(striped.arrays()[name], array, rtol=1e-12, atol=1e-9)
    G = striped.gram.centred().G
    assert np.array_equal(G, G.T)


def test_what_is_kept_is_not_computed_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "kept"
    done: list[str] = []
    real = MODULE._shard_sums

    def counted(plan: object, shard: shards.Shard, stripe: slice) -> object:
        done.append(Path(shard.place.path).name)
        return real(plan, shard, stripe)

    monkeypatch.setattr(MODULE, "_shard_sums", counted)
    first = kh.sums(folder, target="y", cache=cache)
    assert done == [f"{i}.parquet" for i in range(4)]
    done.clear()
    assert kh.sums(folder, target="y", cache=cache).same(first)
    assert done == []
    # One shard changed, one more, one entry damaged: only these.
    pq.write_table(table(*rows(9), "rg"), folder / "1.parquet")
    pq.write_table(table(*rows(10), "rg"), folder / "5.parquet")
    kh.sums(folder, target="y", cache=cache)
    assert done == ["1.parquet", "5.parquet"]
    done.clear()
    for entry in cache.glob("*.npz"):
        entry.write_bytes(entry.read_bytes()[:-1])
    kh.sums(folder, target="y", cache=cache)
    assert len(done) == 5
    done.clear()
    kh.sums(folder, target="y", cache=cache, ignore=["x3"])
    assert len(done) == 5, "read otherwise, they are others"


def test_a_broken_shard_is_named_and_nothing_else_is_lost(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = (folder / "2.parquet").read_bytes()
    (folder / "2.parquet").write_bytes(good[:200])
    cache = tmp_path / "kept"
    with pytest.raises(kh.DataError, match=r"2\.parquet is damaged or cut short"):
        kh.sums(folder, target="y")
    with pytest.raises(
        kh.DataError, match=r"2\.parquet cannot be added up.*all others are"
    ) as told:
        kh.sums(folder, target="y", cache=cache)
    assert "\n" not in str(told.value)
    assert len(list(cache.glob("*.npz"))) == 3
    (folder / "2.parquet").write_bytes(good)
    done: list[object] = []
    real = MODULE._shard_sums

    def counted(*given: object) -> object:
        done.append(given)
        return real(*given)

    monkeypatch.setattr(MODULE, "_shard_sums", counted)
    assert kh.sums(folder, target="y", cache=cache).rounds == 1200
    assert len(done) == 1


def test_a_cell_that_cannot_be_used_is_named(folder: Path, tmp_path: Path) -> None:
    X, y = rows(3)
    X[7, 1] = np.inf
    pq.write_table(table(X, y, "rgb"), folder / "3.parquet")
    with pytest.raises(kh.DataError, match=r"3\.parquet, row 8: column 'x1' is infinite"):
        kh.sums(folder, target="y")
    with pytest.raises(kh.DataError, match=r"row 8: column 'x1' is infinite.*all others are"):
        kh.sums(folder, target="y", cache=tmp_path / "kept", jobs=2)


def test_files_that_do_not_go_together_are_refused(folder: Path) -> None:
    pq.write_table(pa.table({"x0": [1.0], "y": [1.0]}), folder / "4.parquet")
    with pytest.raises(kh.DataError, match=r"4\.parquet has no column 'x1'"):
        kh.sums(folder, target="y")


def test_arguments_that_make_no_sense(folder: Path) -> None:
    stream = kh.streams.ArrayStream([[1.0]], [1.0])
    with pytest.raises(kh.ProblemError, match=r"no argument 'ignor'.*did you mean 'ignore'"):
        kh.sums(folder, target="y", ignor=["x0"])
    with pytest.raises(kh.ProblemError, match="target: which column"):
        kh.sums(folder)
    with pytest.raises(kh.ProblemError, match="only for files"):
        kh.sums(stream, target="y")
    with pytest.raises(kh.ProblemError, match="missing='auto'"):
        kh.sums(folder, target="y", missing="auto")
    with pytest.raises(kh.ProblemError, match="jobs must not be 0"):
        kh.sums(folder, target="y", jobs=0)


def test_sums_of_streams_are_not_added_to_themselves(tmp_path: Path) -> None:
    """They have no names to go by; their numbers tell."""
    rng = np.random.default_rng(0)
    a, b, c = (
        kh.sums(kh.streams.ArrayStream(rng.normal(size=(20, 3)), rng.normal(size=20)))
        for _ in range(3)
    )
    kh.save(a, tmp_path / "a.npz")
    again, both = kh.load(tmp_path / "a.npz", kh.DataSums), kh.merge(a, b)
    for first, second in ((a, a), (a, again), (both, a), (again, both), (both, kh.merge(b, c))):
        with pytest.raises(kh.StateError, match="share rows cannot be added: 1 of the shards"):
            kh.merge(first, second)
    assert kh.merge(both, c).same(kh.merge(kh.merge(a, b), c))
    assert kh.merge(both, c).rounds == 60
    assert a.parts == ()  # adding changes nothing of what is added
    nothing = kh.sums(kh.streams.ArrayStream(np.empty((0, 3)), np.empty(0)))
    assert kh.merge(nothing, nothing).rounds == 0


def test_they_are_saved_loaded_and_merged(folder: Path, tmp_path: Path) -> None:
    names = kh.sums(folder, target="y").names
    first = kh.sums([folder / "0.parquet", folder / "1.parquet"], target="y", features=names)
    last = kh.sums([folder / "2.parquet", folder / "3.parquet"], target="y", features=names)
    kh.save(first, tmp_path / "first.npz")
    again = kh.load(tmp_path / "first.npz", kh.DataSums)
    assert again.same(first)
    assert (again.names, again.target, again.parts) == (first.names, "y", first.parts)
    both = kh.merge(again, last)
    whole = kh.sums(folder, target="y")
    assert both.rounds == whole.rounds
    np.testing.assert_allclose(both.covariance, whole.covariance, atol=1e-10)
    with pytest.raises(kh.StateError, match="share rows"):
        kh.merge(first, first)
    with pytest.raises(kh.StateError, match="different names"):
        kh.merge(first, kh.sums(folder / "2.parquet", target="y"))
    with pytest.raises(kh.StateError, match=r"it holds sums.*kh\.DataSums"):
        kh.load(tmp_path / "first.npz")
    learner = kh.RandomSubset(kh.Problem(d=3, k=1, budget=2))
    kh.save(learner, tmp_path / "learner.npz")
    with pytest.raises(kh.StateError, match="it holds a RandomSubset, not sums"):
        kh.load(tmp_path / "learner.npz", kh.DataSums)
    data = (tmp_path / "first.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(data[: len(data) // 2])
    with pytest.raises(kh.StateError):
        kh.load(tmp_path / "cut.npz", kh.DataSums)


def test_models_of_sums_are_those_of_the_stream(folder: Path) -> None:
    stream, known = kh.streams.read(folder, target="y"), kh.sums(folder, target="y")
    for intercept in (False, True):
        one = kh.hindsight(stream, 2, intercept=intercept)
        other = kh.hindsight(known, 2, intercept=intercept)
        assert one.support.tolist() == other.support.tolist()
        np.testing.assert_allclose(one.weights, other.weights, rtol=1e-6)
        assert one.loss.high == pytest.approx(other.loss.high, rel=1e-6)
        assert one.empty_loss == pytest.approx(other.empty_loss, rel=1e-9)
    prices = kh.Problem(d=stream.d, k=1, budget=9, prices=[5, 2, 4, 1, 1, 1, 1])
    ours = kh.frontier(known, prices=prices, costs=[0, 5, 9], intercept=True)
    theirs = kh.frontier(stream, prices=prices, costs=[0, 5, 9], intercept=True)
    assert [p.features for p in ours.points] == [p.features for p in theirs.points]
    assert kh.rip(known, 2).low == pytest.approx(kh.rip(stream, 2).low, rel=1e-8)
    assert kh.restricted_condition_number(known, 2, centred=True).low == pytest.approx(
        kh.restricted_condition_number(stream, 2, centred=True).low, rel=1e-8
    )
    pages = [kh.diagnose(data, k=2, budget=4) for data in (stream, known)]
    assert pages[0].drop == pages[1].drop
    assert pages[0].recommendation == pages[1].recommendation
    assert [f.do for f in pages[0].findings] == [f.do for f in pages[1].findings]
    with pytest.raises(kh.ProblemError, match=r"sums (do not know the order|have no order)"):
        kh.hindsight(known, 2, past=True)
    with pytest.raises(kh.ProblemError, match="sums have no"):
        kh.budget_curve(known)  # type: ignore[call-overload]
    with pytest.raises(kh.ProblemError, match=r"sums (do not know the order|have no order)"):
        kh.bbrcnp(known, 2, 10)  # type: ignore[arg-type]


def test_curves_end_where_parts_do(folder: Path) -> None:
    stream = kh.streams.read(folder, target="y")
    parts = [kh.sums(folder / f"{i}.parquet", target="y", features=stream.names) for i in range(4)]
    ours = kh.hindsight_curve(parts, 2, [300, 900, 1200], intercept=True)
    theirs = kh.hindsight_curve(stream, 2, [300, 900, 1200], intercept=True)
    for one, other in zip(ours, theirs, strict=True):
        assert one.rounds == other.rounds
        assert one.loss.high == pytest.approx(other.loss.high, rel=1e-6)
    with pytest.raises(kh.ProblemError, match="no part ends after 500"):
        kh.hindsight_curve(parts, 2, [500])


def test_weak_supermodularity_of_sums() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    known = kh.sums(kh.streams.ArrayStream(X, y))
    assert kh.weak_supermodularity(known, None, 2).high == pytest.approx(
        kh.weak_supermodularity(X, y, 2).high, rel=1e-9
    )


def test_yes_and_no_across_files(tmp_path: Path) -> None:
    # Of a file with one answer only, the other files say what the other is.
    for i, said in enumerate((["no", "no"], ["yes", "no"])):
        pq.write_table(pa.table({"x": [1.0, 2.0], "y": said}), tmp_path / f"{i}.parquet")
    assert kh.sums(tmp_path, target="y").label_mean == pytest.approx(0.25)


def test_looks_are_kept_as_json(folder: Path, tmp_path: Path) -> None:
    kh.sums(folder, target="y", cache=tmp_path)
    entries = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    assert sorted(entry["rows"] for entry in entries) == [300] * 4
