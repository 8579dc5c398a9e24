"""Messy files on the command line: what was assumed is said, a column of levels is one purchase."""

import json
from pathlib import Path

import numpy as np
import pytest

import keyhole as kh
from keyhole.cli.app import run

TOWNS = [f"town{i}" for i in range(8)]


def flats(folder: Path, rows: int = 300) -> Path:
    """A file in the habits of another country; most of the rent is the town."""
    rng = np.random.default_rng(0)
    path = folder / "flats.csv"
    lines = ["Größe;Stock;Ort;Etage;Miete"]
    for i in range(rows):
        town, size, floor = i % 8, rng.normal(60, 15), rng.normal()
        rent = 100 * town + 9 * size + rng.normal()
        cells = f"{size:.2f};{floor:.2f};{TOWNS[town]};{rng.normal():.2f}".replace(".", ",")
        lines.append(f"{cells};{rent:.2f} €".replace(".", ","))
    path.write_bytes("\n".join([*lines, ""]).encode("cp1252"))
    return path


def played(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = run([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if "compiling its kernels" not in line]
    return code, out, "\n".join(lines)


def test_assumptions_are_one_line_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = flats(tmp_path)
    code, out, err = played(capsys, "run", path, "-t", "Miete", "-l", "random", "-b", 2, "-k", 1)
    assert code == 0
    assert err == (
        f"keyhole: {path}: assumed encoding 'cp1252', separator ';', decimal ',', '€' a unit in "
        "'Miete'; to say otherwise: --encoding, --separator, --decimal, --categorical"
    )
    assert "A budget counts columns. One purchase each: Ort (8 features)." in out
    assert "columns bought per example" in out
    assert "2 of 2" in out


def test_a_column_of_levels_is_one_purchase(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Eight towns cost as much as one number, and all are known when one is."""
    path = flats(tmp_path)
    options = ("run", path, "-t", "Miete", "-b", 2, "-k", 2, "--json")
    code, out, _ = played(capsys, *options)
    assert code == 0
    found = json.loads(out)
    assert found["money"]["columns"]
    assert found["money"]["most_spent"] == 2
    assert found["money"]["full"] == 4
    assert set(found["money"]["orders"]) == {"Größe", "Stock", "Ort", "Etage"}
    # The twin that pays for every level: with two of eleven features it knows the town hardly ever.
    stream = kh.streams.read(path, target="Miete")
    twin = kh.play(kh.AutoLearner(kh.Problem(stream.d, 2, 2, stream.names), seed=0), stream)
    assert found["loss"] < 0.5 * twin.loss
    # Refused in the words of columns.
    code, out, err = played(capsys, "run", path, "-t", "Miete", "-b", 5)
    assert (code, out) == (2, "")
    assert err == f"keyhole: {path}: assumed" + err.partition(": assumed")[2].split("\n")[0] + (
        f"\nkeyhole: --budget 5 is more than the 4 columns of {path}"
    )


def test_files_without_levels_are_played_as_ever(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To the bit: no prices are made up where every column is one feature."""
    made, _ = kh.streams.realizable(d=9, k=2, n=300, seed=3)
    kh.streams.write(made, tmp_path / "t.csv")
    code, out, err = played(
        capsys, "run", tmp_path / "t.csv", "-t", "y", "-b", 4, "-k", 2, "--json"
    )
    assert (code, err) == (0, "")
    stream = kh.streams.read(tmp_path / "t.csv", target="y")
    ledger = kh.play(kh.AutoLearner(kh.Problem(9, 2, 4, stream.names), seed=0), stream)
    found = json.loads(out)
    assert found["money"] is None
    assert found["loss"] == ledger.loss


def test_predict_fills_in_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, model = flats(tmp_path), tmp_path / "m.npz"
    assert played(capsys, "run", path, "-t", "Miete", "-b", 3, "-k", 3, "--save", model)[0] == 0
    (tmp_path / "new.csv").write_text("Größe,Ort,Stock,Etage\n50,town1,0,0\n,town7,0,0\n60,Rom,,\n")
    code, out, err = played(capsys, "predict", model, tmp_path / "new.csv")
    assert code == 0
    values = [float(line.split(",")[1]) for line in out.splitlines()[1:]]
    assert all(np.isfinite(values))
    assert abs(values[0] - (100 + 450)) < 60  # the town and the size, as it learnt them
    assert "1 cell holds a level that was not there in training" in err
    assert "of 3 rows lack a value: it was taken for its mean in training" in err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,y\n1,2\n2,3\nfew,4\n", "(--missing few), leave the column out (--ignore a)"),
        ("a,y\n" + "".join(f"id{i},1\n" for i in range(60)), "(--most-levels 200)"),
        ("when,y\n2024-01-31,1\n", "(--dates ordinal; also month, weekday, hour)"),
        ("1,2\n3,4\n5,6\n", "has no column 'y': it has c1, c2 (assumed no header"),
        ("при,y\n1,2\n", ""),
    ],
)
def test_remedies_are_options(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8" if words else "cp1251")
    code, out, err = played(capsys, "diagnose", tmp_path / "t.csv", "-t", "y")
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert (words or "--encoding cp1252") in err


def test_several_files_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for i in range(2):
        rows = "".join(f"{j},{j * j % 7},{j}\n" for j in range(30))
        (tmp_path / f"{i}.csv").write_text("a,b,y\n" + rows)
    for named in ([tmp_path / "0.csv", tmp_path / "1.csv"], [tmp_path]):
        code, out, _ = played(
            capsys, "run", *named, "-t", "y", "-l", "random", "-b", 1, "-k", 1, "--json"
        )
        assert (code, json.loads(out)["rounds"]) == (0, 60)
    code, _, err = played(capsys, "run", "memory://no/such.csv", "-t", "y")
    assert (code, err) == (2, "keyhole: there is no file memory://no/such.csv")
