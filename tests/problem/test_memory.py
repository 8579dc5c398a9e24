"""Tables of all pairs of features are asked for before they are allocated."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.base import LearnerBase
from keyhole.learners.blocks.sums.data_sums import Gram
from keyhole.learners.registry import LINEAR_MEMORY_LEARNERS, make_learner
from keyhole.problem import memory
from keyhole.saving.api import to_bytes
from tests.helpers.cli import Cli

WIDE = 20_000


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 100e6)


def pairs_of(name: str) -> float:
    cls = kh.LEARNERS[name].cls
    assert issubclass(cls, LearnerBase)
    return cls.BYTES_PER_PAIR


@pytest.mark.parametrize("name", kh.LEARNERS)
def test_rows_say_how_memory_grows(name: str) -> None:
    """By what the class says of a million features, and by what a small learner saves."""
    row, d = kh.LEARNERS[name], 10**6
    cls = row.cls
    assert issubclass(cls, LearnerBase)
    if row.memory == "O(d^k)":
        with pytest.raises(kh.ProblemError, match=r"subsets .* needs O\(d\): .*dual-averaging"):
            row(kh.Problem(d, 2, 8), seed=0)
        return
    needed = cls.memory(kh.Problem(d, 2, 8))
    few = 1_100 if row.memory == "O(d)" else 300  # AutoLearner has a seat for each up to 1,024
    sizes = [len(to_bytes(_briefly_played(name, d))) for d in (few, few + 300)]
    growth = (sizes[1] - sizes[0]) / 8.0  # in numbers: a header of some size is in both
    if row.memory == "O(d^2)":
        assert needed >= 8.0 * d**2
        # One triangle at least. The printed Algorithm 2 keeps none, and refuses as its class does.
        assert growth >= (600**2 - 300**2) / 2 or name == "online-greedy-printed"
    elif row.memory == "O(d)":
        assert needed <= 300.0 * d
        assert 300 <= growth <= 300 * 32
    else:
        assert needed < 1e4
        assert abs(growth) <= 30


def _briefly_played(name: str, d: int) -> kh.Learner:
    learner = make_learner(name, kh.Problem(d, 2, 8), seed=0)
    rng = np.random.default_rng(0)
    for _ in range(3):
        ticket = learner.ask()
        learner.tell(ticket.fill(rng.standard_normal(len(ticket.features))), 1.0)
    return learner


@pytest.mark.parametrize("name", [name for name in kh.LEARNERS if pairs_of(name)])
@pytest.mark.usefixtures("little_memory")
def test_what_does_not_fit_is_refused_before_it_is_allocated(name: str) -> None:
    problem = kh.Problem(WIDE, 2, WIDE)
    if name == "fixed":  # its pairs are those of k features
        problem = kh.Problem(WIDE, 5_000, WIDE)
    kh.LEARNERS[name].cls  # noqa: B018  (imported here, not while memory is watched)
    tracemalloc.start()
    try:
        with pytest.raises(kh.ProblemError, match=r"takes about .* GB of memory, 100 MB free"):
            kh.LEARNERS[name](problem, seed=0)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("little_memory")
def test_the_message_names_learners_that_fit() -> None:
    with pytest.raises(kh.ProblemError) as refused:
        kh.LEARNERS["dantzig-data"](kh.Problem(WIDE, 2, 8), seed=0)
    said = str(refused.value)
    assert " for 20,000 features takes about 19.2 GB of memory" in said
    for name in LINEAR_MEMORY_LEARNERS:
        assert name in said
        kh.LEARNERS[name](kh.Problem(WIDE, 2, 8), seed=0)


@pytest.mark.usefixtures("little_memory")
def test_hindsight_says_so_too() -> None:
    with pytest.raises(kh.ProblemError, match="a table of all pairs of 20,000 features takes"):
        Gram(WIDE)
    stream = kh.streams.ArrayStream(np.zeros((2, WIDE)), np.zeros(2))
    with pytest.raises(kh.ProblemError, match=r"256 features with 20,000 others .* say screen=64"):
        kh.hindsight(stream, 1)
    with pytest.raises(kh.ProblemError, match="all pairs of 20,000 features"):
        kh.hindsight(stream, 1, past=True)


@pytest.mark.usefixtures("little_memory")
def test_a_run_goes_without_what_does_not_fit() -> None:
    rng = np.random.default_rng(0)
    X, d = rng.standard_normal((6, 3_000)), 3_000
    y = X[:, 0] + 5.0
    run = kh.report.record(
        kh.LEARNERS["dual-averaging"](kh.Problem(d, 2, 8), seed=0),
        kh.streams.ArrayStream(X, y),
        diagnosed=False,
    )
    assert run.best.loss.low == 0.0
    assert run.best.loss.high == pytest.approx(float(((y - y.mean()) ** 2).sum()))
    assert run.best.intercept == pytest.approx(y.mean())
    assert "not searched" in run.best.loss.how
    assert run.best_with_past is None
    assert len(run.notes) == 2
    assert run.notes[0].startswith("The best 2 features in hindsight were not searched for")
    assert run.notes[1].endswith("would take too much memory.")


def test_6_000_columns_are_played_from_a_file(
    here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    lines = [",".join([*(f"c{j}" for j in range(6_000)), "y"])]
    for row in rng.integers(0, 9, (3, 6_000)):
        lines.append(",".join([*map(str, row.tolist()), str(row[0])]))
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(lines) + "\n")
    # As on a machine with 1 GB, whatever this one has.
    monkeypatch.setattr(memory, "available_memory", lambda: 1e9)
    command = ("run", path, "-t", "y", "--budget", 4, "--sparsity", 2, "-l")
    done = here(*command, "auto")  # pairs of some features only
    assert done.returncode == 0, done.stderr
    assert "6,000 features" in done.stdout
    assert "searched for among the most promising" in done.stdout.replace("\n", " ")
    done = here(*command, "dantzig-data")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "PracticalDantzig for 6,000 features takes about 1.7 GB" in done.stderr


def test_limits_of_containers_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    limit, usage = tmp_path / "max", tmp_path / "current"
    monkeypatch.setattr(memory, "_CGROUP_FILES", ((str(limit), str(usage)),))
    free = memory.available_memory()  # no such files
    usage.write_text("1000000\n")
    limit.write_text("max\n")
    assert memory.available_memory() == pytest.approx(free, rel=0.2)
    limit.write_text("3000000\n")
    assert memory.available_memory() == 2_000_000
    assert memory.fits(memory.ALWAYS_ALLOWED_BYTES)
    assert not memory.fits(1e12)


def test_what_is_free_is_the_least_that_anybody_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    limit, usage = tmp_path / "max", tmp_path / "current"
    monkeypatch.setattr(memory, "_CGROUP_FILES", ((str(limit), str(usage)),))
    monkeypatch.setattr(memory, "_of_the_machine", lambda: 5e9)
    limit.write_text("9000000000")
    assert memory.available_memory() == 5e9  # nobody says what is used
    usage.write_text("1000000000")
    assert memory.available_memory() == 5e9
    usage.write_text("8000000000")
    assert memory.available_memory() == 1e9
    assert memory.fits(1e9)
    assert not memory.fits(1e9 + 1)
    usage.write_text("9500000000")
    assert memory.available_memory() == 0.0
    assert memory.fits(memory.ALWAYS_ALLOWED_BYTES)
    assert not memory.fits(memory.ALWAYS_ALLOWED_BYTES + 1)
    assert memory.ALWAYS_ALLOWED_BYTES == 2**26
    limit.write_text("max")
    assert memory.available_memory() == 5e9


def test_the_machine_says_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "MemTotal: 9 kB\nMemAvailable:    3 kB\n"
    monkeypatch.setattr(Path, "read_text", lambda self: said)
    assert memory._of_the_machine() == 3 * 1024
    said = "MemTotal: 9 kB\n"
    monkeypatch.setattr("os.sysconf", {"SC_AVPHYS_PAGES": 7, "SC_PAGE_SIZE": 10}.get)
    assert memory._of_the_machine() == 70
    said = "MemAvailable: much"
    assert memory._of_the_machine() == float("inf")


def test_bytes_in_words() -> None:
    assert memory.in_words(1e9) == "1.0 GB"
    assert memory.in_words(0.999e9) == "999 MB"
