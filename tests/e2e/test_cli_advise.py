"""keyhole advise: the curve of a file, its picture, what a saved learner says, what is refused."""

from pathlib import Path

import pytest

import keyhole as kh
from keyhole.cli import advise as command
from tests.helpers.cli import Cli, answer, in_this_process


@pytest.fixture
def cli() -> Cli:
    """The command in this process: there are many cases, and each would start one."""
    return in_this_process


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("advise") / "clinic.parquet"
    kh.streams.write(kh.streams.clinic(400).stream, path, target="days")
    return path


def test_it_says_what_the_library_says(cli: Cli, clinic: Path) -> None:
    curve = kh.budget_curve(kh.streams.read(clinic, target="days"), most=6)
    said = cli("advise", clinic, "-t", "days", "--most", 6)
    assert said.returncode == 0, said.stderr
    first, rest = said.stdout.split("\n", 1)
    assert first == f"{clinic}: 400 rows, target days"
    assert rest.strip() == str(curve)
    found = answer(cli("advise", clinic, "-t", "days", "--most", 6, "--json"))
    for key, value in curve.as_json().items():
        assert found[key] == value
    assert (found["source"], found["target"], found["plot"]) == (str(clinic), "days", None)
    assert found["rows_without_target"] == 0


def test_scouting(cli: Cli, clinic: Path) -> None:
    options = ("--scout", 0.5, "--seed", 3, "--most", 3)
    found = answer(cli("advise", clinic, "-t", "days", *options, "--json"))
    stream = kh.streams.read(clinic, target="days")
    assert found["rows"] == kh.budget_curve(stream, most=3, scout=0.5, seed=3).rows
    assert found["rows_passed"] == 400
    assert found["reads_per_example"] == 42 * found["rows"] / 400


@pytest.mark.parametrize(("ending", "begins"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_a_picture(cli: Cli, tmp_path: Path, ending: str, begins: bytes) -> None:
    path = tmp_path / f"curve{ending}"
    done = cli("advise", "--rounds", 200, "--most", 4, "--plot", path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"Plot: {path}\n")
    assert path.read_bytes().startswith(begins)


def test_a_saved_learner_that_does_not_advise(cli: Cli, tmp_path: Path) -> None:
    kh.save(kh.RunningMean(kh.Problem(3, 1, 2)), tmp_path / "state.npz")
    done = cli("advise", tmp_path / "state.npz")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "RunningMean does not advise; `keyhole advise FILE --target Y` does" in done.stderr
    assert done.stderr.count("\n") == 1


def test_auto_advises_the_same_here_and_there(cli: Cli, clinic: Path, tmp_path: Path) -> None:
    path, sizes = tmp_path / "state.npz", ("-b", 8, "-k", 4)
    ran = answer(cli("run", clinic, "-t", "days", *sizes, "--save", path, "--json"))
    advice = kh.load(path, kh.AutoLearner).advice()
    assert cli("advise", path).stdout == f"{advice}\n"
    assert answer(cli("advise", path, "--json")) == {"state": str(path), **ran["advice"]}
    assert [worth["name"] for worth in ran["advice"]["kept"]] == [w.name for w in advice.kept]


@pytest.mark.parametrize("as_json", [False, True])
def test_a_saved_learner_that_advises(
    as_json: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Advice:
        def __str__(self) -> str:
            return "stop buying sodium"

        def as_json(self) -> dict[str, object]:
            return {"stop": ["sodium"]}

    class Wise:
        def advice(self) -> Advice:
            return Advice()

    monkeypatch.setattr("keyhole.saving.api.load", lambda path: Wise())
    command.advise(
        file=["state.npz"], target=None, most_levels=50, dates=None, thousands=None,
        encoding=None, header=None, comment=None, quote=None, sheet=None,
        zero_based=None, n_features=None, absent="zero", partitions=None, order_by=None,
        most=None, scout=None, seed=0, rounds=None, ignore=None,
        categorical=None, separator=None, decimal=".", missing=None, plot=None, prices=None,
        positive=None, yes_no=None, skip_rows=None, censored=None, keep_columns=None,
        as_json=as_json,
    )  # fmt: skip
    said = capsys.readouterr().out
    assert ('"sodium"' in said) if as_json else (said == "stop buying sodium\n")


@pytest.mark.parametrize("given", ["--plot curve.png", "--most 3", "--scout 0.5"])
def test_a_saved_learner_has_no_curve(cli: Cli, tmp_path: Path, given: str) -> None:
    kh.save(kh.AutoLearner(kh.Problem(d=5, k=1, budget=3)), tmp_path / "state.npz")
    done = cli("advise", tmp_path / "state.npz", *given.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{given} is for a file with everything known" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--most", "43"], ["most", "42 features", "43"]),
        (["--rounds", "10"], ["at least 20 rows", "10"]),
        (["--scout", "0.001"], ["scout", "0.001"]),
        (["--plot", "curve.gif"], ["curve.gif", ".png"]),
        (["--plot", "no/such/folder/curve.png"], ["no/such/folder"]),
        (["--target", "y"], ["--target y", "file"]),
        (["no.npz"], ["no.npz"]),
    ],
)
def test_refused_in_one_line(cli: Cli, arguments: list[str], words: list[str]) -> None:
    done = cli("advise", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert all(word in done.stderr for word in words), done.stderr
