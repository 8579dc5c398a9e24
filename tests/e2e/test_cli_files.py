"""Files as they are at the command line: what is noticed first, and create beside run."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.analysis.advice.curves import reads_for
from keyhole.cli.app import run
from keyhole.cli.run_summary import _error

COMMANDS = ("run", "advise", "compare", "diagnose", "create")


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Patients with -999 for unknown, bounds, three spellings, a bill, a column of nothing."""
    rng = np.random.default_rng(0)
    here = tmp_path_factory.mktemp("files")
    rows, lines = [], []
    for i in range(400):
        age, crp = int(rng.integers(20, 90)), round(float(rng.exponential(10)), 1)
        name = ("north", "south", "west")[i % 3]
        days = round(2 + age / 20 + crp / 8 + 2 * (i % 3) + float(rng.normal()), 2)
        seen: Any = -999 if i % 5 == 0 else "<5" if crp < 5 else crp
        smoker, rare = ("Yes", "YES", "no")[i % 3 if i % 7 else 2], "1" if i == 3 else ""
        rows.append([age, seen, name, smoker, rare, round(3 * days + 1, 4), days])
        lines.append({"age": age, "ward": name, "days": days})
    with (here / "ward.csv").open("w") as file:
        out = csv.writer(file)
        out.writerow(["Patients of May"])
        out.writerow(["age", "crp", "ward", "smoker", "rare", "bill", "days"])
        out.writerows(rows)
    (here / "ward.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return here


def said(command: str, *arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    more = {"compare": ["-l", "random", "--seeds", "1", "-j", "1"]}.get(command, [])
    given = [command, *arguments, *more]
    assert run(given) == 0, capsys.readouterr().err
    done = capsys.readouterr()
    return done.out, done.err


def asked(command: str, file: str) -> list[str]:
    """How a command is given a file to learn from."""
    name = [f"l{abs(hash(file))}", "--history"] if command == "create" else []
    return [*name, file, "--target", "days", "--budget", "2"][: None if command != "advise" else 3]


@pytest.mark.parametrize("command", COMMANDS)
def test_what_gives_the_label_away_comes_first(
    command: str,
    ward: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    out, err = said(command, *asked(command, str(ward / "ward.csv")), capsys=capsys)
    plain = " ".join(out.split())
    first, second = (
        "Leave out what gives the label away (--ignore COLUMN), unless it is known before the "
        "label is: bill (it is 3 × the label + 1).",
        "Leave out what means no value (--missing auto): crp -999 (80 times).",
    )
    assert plain.index(first) < plain.index(second)
    assert "ignore=" not in plain
    head = "DOES THIS STREAM FIT?" if command == "diagnose" else "Look at this first"
    assert plain.startswith(head)
    for assumed in (
        "assumed a row of titles ('Patients of May')",
        "such as '<5' in 'crp' their bound",
        "'YES' in 'smoker' the same as 'Yes'",
        "left out, being empty in nearly all rows: rare (399 rows); to keep them: --keep rare",
    ):
        assert assumed in err
    clean = ["--ignore", "bill", "--missing", "auto", "--keep", "rare"]
    given = asked(command, str(ward / "ward.csv"))
    given[0] = f"{given[0]}x" if command == "create" else given[0]
    out, err = said(command, *given, *clean, capsys=capsys)
    assert "gives the label away" not in out
    assert "means no value" not in out
    assert "left out, being" not in err


@pytest.mark.parametrize("command", COMMANDS)
def test_json_lines_go_in_everywhere(
    command: str,
    ward: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    out, _ = said(command, *asked(command, str(ward / "ward.jsonl")), "--json", capsys=capsys)
    assert json.loads(out)


def test_predict_and_history_read_json_lines(
    ward: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = str(ward / "ward.jsonl")
    said("run", rows, "-t", "days", "-b", "2", "--save", "l.npz", "--history", rows, capsys=capsys)
    out, _ = said("predict", "l.npz", rows, capsys=capsys)
    assert len(out.splitlines()) == 401


def test_a_ward_just_works(
    ward: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """From a file with text to a ticket, its values by level, and a label."""
    monkeypatch.chdir(tmp_path)

    def tell(*arguments: str) -> Any:
        return json.loads(said(*arguments, "--json", capsys=capsys)[0])

    clean = ["--ignore", "bill", "--missing", "auto", "-b", "3", "--ignore", "smoker"]
    made = tell("create", "c", "--history", str(ward / "ward.csv"), "-t", "days", *clean)
    assert made["names"] == ["age", "crp", "ward=north", "ward=south", "ward=west"]
    assert (made["budget"], made["history"]) == (3, 400)
    out, _ = said("ask", "c", capsys=capsys)
    assert ": get age, crp, ward" in out
    (ticket,) = re.findall(r"\w{4}-\w{4}-\w{4}", out.splitlines()[0])
    assert run(["fill", ticket, "ward=nort"]) == 2
    assert "'ward' must be one of north, south, west, got 'nort' (did you mean 'north'?)" in (
        capsys.readouterr().err
    )
    filled = tell("fill", ticket, "age=31", "ward=North")
    assert filled["values"] == {
        "age": 31.0, "crp": None, "ward=north": 1.0, "ward=south": 0.0, "ward=west": 0.0,
    }  # fmt: skip
    said("tell", ticket, "4", capsys=capsys)
    said("ask", "c", "--many", "2", "--out", "orders.csv", capsys=capsys)
    with open("orders.csv") as file:
        head, *rows = csv.reader(file)
    assert head == ["ticket", "to_order", "to_pay", "age", "crp", "ward"]
    with open("orders.csv", "w") as file:
        csv.writer(file).writerows([head, *([*row[:3], "40", "7", "west"] for row in rows)])
    assert len(tell("fill", "c", "orders.csv")["tickets"]) == 2
    said("ask", "c", "--without", "ward", capsys=capsys)
    said("ask", "c", "--known", "ward=west", capsys=capsys)
    assert tell("verify")["verified"]["c"] > 0


def test_features_of_a_table_have_its_levels(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.csv").write_text("age,ward\n31,north\n40,south\n")
    Path("f.jsonl").write_text('{"age": 31, "ward": "north"}\n{"age": 40, "ward": "south"}\n')
    Path("p.csv").write_text("feature,price\nage,0\nward,2.50\n")
    for i, file in enumerate(("f.csv", "f.jsonl")):
        made = ("create", f"c{i}", "--features", file, "-b", "1", "--json")
        found = json.loads(said(*made, capsys=capsys)[0])
        assert found["names"] == ["age", "ward=north", "ward=south"]
        assert found["budget"] == 1
    priced = ("create", "p", "--features", "f.csv", "--prices", "p.csv", "-b", "2.5", "--json")
    assert json.loads(said(*priced, capsys=capsys)[0])["budget"] == 2.5


def test_create_chooses_sizes_from_history(
    ward: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 12))
    y = X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=500)
    kh.streams.write(kh.streams.ArrayStream(X, y, [f"a{j}" for j in range(12)]), "old.csv")
    made = ("create", "c", "--history", "old.csv", "--target", "y", "--json")
    found = json.loads(said(*made, capsys=capsys)[0])
    assert (found["k"], found["budget"]) == (2, reads_for(2, 12, least=1)) == (2, 3)
    out, _ = said("advise", "old.csv", "-t", "y", capsys=capsys)
    assert "Recommended: sparsity 2, budget 6" in out
    assert "After these rows as history: budget 3" in out


def yes_no(folder: Path) -> str:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(900, 4))
    ill = rng.random(900) < 1 / (1 + np.exp(-2 * X[:, 0] + 2 * X[:, 1]))
    lines = [
        f"{','.join(f'{v:.3f}' for v in x)},{('yes' if i % 2 else 'YES') if one else 'no'}"
        for i, (x, one) in enumerate(zip(X, ill, strict=True))
    ]
    (folder / "ill.csv").write_text("\n".join(["a,b,c,d,ill", *lines]) + "\n")
    return str(folder / "ill.csv")


@pytest.mark.parametrize("kind", ["numbers", "yes or no"])
def test_run_and_compare_give_one_figure_for_one_thing(
    kind: str, ward: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file, target = str(ward / "ward.jsonl"), "days"
    if kind != "numbers":
        file, target = yes_no(tmp_path), "ill"
    sizes = (file, "-t", target, "-b", "2", "-k", "2")
    played, _ = said("run", *sizes, capsys=capsys)
    assert run(["compare", *sizes, "-l", "auto", "--seeds", "1", "-j", "1"]) == 0
    compared = capsys.readouterr().out
    name = "mean squared loss" if kind == "numbers" else "Brier score"

    def row(start: str) -> list[str]:
        (line,) = (line for line in played.splitlines() if line.strip().startswith(start))
        return line.strip()[len(start) :].split()

    (ours,) = (line.split() for line in compared.splitlines() if line.strip().startswith("auto "))
    auto = row("auto ")
    assert auto[0] in ours  # the mean squared loss, or the Brier score
    assert auto[-1] in ours  # R2
    assert auto[-2] in ours  # of late
    regret = row("regret against ")
    assert any(word in ours for word in regret)
    best = next(line.split() for line in played.splitlines() if line.strip().startswith("best "))
    assert f"in hindsight: {name} {best[-3]}, R2 {best[-1]}" in compared
    full = row("reading everything")
    assert f"{name} {full[0]} by reading everything ({full[2]} in the last tenth)" in compared
    mean = row("running mean of the label")
    assert f"{mean[0]} by the running mean of the label ({mean[2]} in the last tenth)" in compared
    for out in (played, compared):
        assert ("calibrated" in out) == (kind != "numbers")


def test_what_is_not_known_yet_is_said() -> None:
    assert _error(0.3, 0.012) == "± 0.012"
    assert _error(-0.3, 0.3) == "± 0.3, not known yet"


def test_findings_that_are_coped_with_are_folded_away(
    ward: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = (str(ward / "ward.csv"), "-t", "days", "--ignore", "bill", "--missing", "auto")
    short, _ = said("diagnose", *given, "-b", "2", capsys=capsys)
    long, _ = said("diagnose", *given, "-b", "2", "--all", capsys=capsys)
    (folded,) = re.findall(r"\((\d+) findings that the learner copes with by itself", short)
    shown = long.split("WHAT TO DO FIRST")[1].split("WHAT TO EXPECT")[0]
    assert len(re.findall(r"(?m)^\d+\. ", shown)) == int(folded) > 1
    for page in (short, long):
        assert "tandardise" not in page
    assert "--all shows them" in short


def test_a_first_look_costs_no_pass_and_no_surprise(ward: Path) -> None:
    """In a process of its own, as typed: nothing but what was asked for on standard output."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "keyhole", "run", str(ward / "ward.csv"), "-t", "days"),
            *("-b", "2", "--json"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)["findings"]
    assert [one["severity"] for one in found] == ["serious", "serious"]
