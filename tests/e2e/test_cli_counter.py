"""The counter from the command line: the whole story, in bulk, in two shells, and refused."""

import contextlib
import csv
import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import keyhole as kh
from keyhole.cli.app import run
from tests.helpers.cli import Cli, answer, in_this_process

FEATURES = "feature,unit\nage,years\ncrp,mg/l\ntsh,\nalb,g/l\nbmi,\nsex=f,\n"
PRICES = (
    "feature,price,panel\nblood,5,\nage,0,\ncrp,7.5,blood\ntsh,3,blood\nalb,2.90,blood\n"
    "bmi,1,\nsex=f,0,\n"
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a list of features and a price list."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KEYHOLE_STORE", raising=False)
    (tmp_path / "features.csv").write_text(FEATURES)
    (tmp_path / "prices.csv").write_text(PRICES)
    return tmp_path


class Counter:
    """Commands in this process: what they print, or the line they refuse with."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> str:
        code = run([str(argument) for argument in arguments])
        out, err = self._capsys.readouterr()
        # On a new machine, compiling is said.
        rest = [line for line in err.splitlines() if "compiling its kernels" not in line]
        assert (code, rest) == (0, []), (arguments, err)
        return out

    def json(self, *arguments: object) -> Any:
        return json.loads(self(*arguments, "--json"))

    def refused(self, *arguments: object) -> str:
        code = run([str(argument) for argument in arguments])
        out, err = self._capsys.readouterr()
        assert code == 2, (arguments, out, err)
        assert out == ""
        assert err.startswith("keyhole: ")
        assert err.count("\n") == 1
        return err[len("keyhole: ") : -1]


@pytest.fixture
def counter(here: Path, capsys: pytest.CaptureFixture[str]) -> Counter:
    found = Counter(capsys)
    found("create", "clinic", "--features", "features.csv", "--budget", 3, "--learner", "random")
    return found


@pytest.mark.parametrize(
    "command",
    [
        *("create", "ask", "fill", "tell", "correct", "drop", "tickets", "status", "verify"),
        *("backup", "restore", "delete"),
    ],
)
def test_help_teaches_by_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    page = capsys.readouterr().out
    assert "Example" in page
    assert f"keyhole {command}" in page
    assert "--json" in page
    assert "KEYHOLE_STORE" in page


def test_the_whole_story_from_process_to_process(here: Path, cli: Cli) -> None:
    """create, ask, fill, tell, status, verify; what the learner says is what it says in memory."""
    sizes = ("--prices", "prices.csv", "--budget", 12, "--sparsity", 2, "--learner", "fixed")
    made = answer(
        in_this_process("create", "clinic", "--features", "features.csv", *sizes, "--json")
    )
    assert (made["d"], made["k"], made["budget"], made["priced"]) == (6, 2, 12.0, True)
    asked = cli("ask", "clinic", "--who", "ward 3")
    assert asked.returncode == 0, asked.stderr
    first, *lines = asked.stdout.splitlines()
    id = first.split()[1].rstrip(",")
    assert first == f"Ticket {id}, round 1 of clinic: 8 to pay"
    assert [line.split() for line in lines[:2]] == [["tsh", "3"], ["blood", "5"]]
    assert lines[2] == "  values to fill in: age (years), tsh"
    filled = answer(in_this_process("fill", id.lower(), "age=61", "tsh=0.4", "--json"))
    assert filled["values"] == {"age": 61.0, "tsh": 0.4}
    told = cli("tell", id, "-7.5")
    assert told.stdout == f"Ticket {id} is told: clinic predicted 0, it was -7.5.\n"
    [info] = answer(in_this_process("status", "--json"))["learners"]
    assert (info["told"], info["spent"], info["mean_loss"]) == (1, 8.0, 56.25)
    assert (
        in_this_process("verify").stdout == "clinic: 4 events replayed, everything is as it was\n"
    )
    again = in_this_process("tell", id, "-8")
    assert again.returncode == 2
    assert again.stderr == (
        f"keyhole: ticket {id} was told -7.5 before, now -8: correct it if that was wrong\n"
    )


def test_shells_at_once(here: Path) -> None:
    """Commands that are started together wait for each other: every ticket once, none lost."""
    with kh.Store("keyhole.db") as store:
        store.create("clinic", kh.Problem(d=6, k=2, budget=3), "explore-commit")
    command = [sys.executable, "-m", "keyhole", "ask", "clinic", "--many", "7", "--json"]
    shells = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    ids = [
        ticket["id"] for shell in shells for ticket in json.loads(shell.communicate()[0])["tickets"]
    ]
    assert [shell.returncode for shell in shells] == [0, 0, 0]
    with kh.Store("keyhole.db") as store:
        assert sorted(ticket.id for ticket in store.tickets()) == sorted(ids)
        assert [ticket.round for ticket in store.tickets()] == [*range(1, 22)]
        store.verify()


def test_while_a_program_has_the_store_open(counter: Counter) -> None:
    """A server, or a notebook, that is not writing at the moment is in nobody's way."""
    with kh.Store("keyhole.db") as server:
        [mine] = server.ask("clinic")
        [theirs] = counter.json("ask", "clinic")["tickets"]
        assert theirs["round"] == mine.round + 1
        assert server.ask("clinic")[0].round == mine.round + 2
        server.verify()


def test_in_bulk_by_file(counter: Counter, here: Path) -> None:
    orders = here / "orders.csv"
    said = counter("ask", "clinic", "--many", 4, "--out", orders)
    assert "4 tickets" in said
    with orders.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header[:3] == ["ticket", "to_order", "to_pay"]
    assert counter("fill", "clinic", orders) == "ticket,prediction\n"  # nothing filled in yet
    for row in rows[:3]:
        row[3:] = ["1,5", "2", ""]
    _write(orders, [header, *rows], ";")
    assert "line 2" in counter.refused("fill", "clinic", orders)  # a decimal comma
    rows[2][3] = "4.5"  # a point beside commas: 4.5 or 45?
    _write(orders, [header, *rows], ";")
    assert "line 4" in counter.refused("fill", "clinic", orders, "--decimal", ",")
    rows[2][3] = "4,5"
    _write(orders, [header, *rows], ";")
    filled = counter("fill", "clinic", orders, "--decimal", ",")
    assert [line.partition(",")[0] for line in filled.splitlines()[1:]] == [r[0] for r in rows[:3]]
    assert counter("fill", "clinic", orders, "--decimal", ",") == filled
    labels = here / "labels.csv"
    _write(labels, [["ticket", "days"], *([row[0], "3"] for row in rows[:3]), [rows[3][0], ""]])
    for _ in range(2):
        assert counter("tell", "clinic", labels) == "clinic: 3 labels told, 1 line without\n"
    [info] = counter.json("status")["learners"]
    assert (info["rounds"], info["told"], info["waiting"]) == (4, 3, 1)


def test_a_bad_line_takes_nothing(counter: Counter, here: Path) -> None:
    ids = [t["id"] for t in counter.json("ask", "clinic", "--many", 3)["tickets"]]
    names = counter.json("tickets")["tickets"][0]["features"]
    values = here / "values.csv"
    for cell, line, what in (
        ("x", 3, "must be a number, got 'x'"),
        ("1e200", 3, "1e+150"),
    ):
        _write(values, [["ticket", names[0]], [ids[0], "1"], [ids[1], cell]])
        refused = counter.refused("fill", "clinic", values)
        assert f"values.csv, line {line}" in refused
        assert what in refused
    _write(values, [["ticket", names[0]], [ids[0], "1"], [ids[0], "2"]])
    assert "line 3: ticket" in counter.refused("fill", "clinic", values)
    _write(values, [["ticket", "weight"], [ids[0], "1"]])
    assert "'weight' was not bought" in counter.refused("fill", "clinic", values)
    _write(values, [["ticket", names[0]], [ids[0][:-1] + "?", "1"]])
    assert "line 2" in counter.refused("fill", "clinic", values)
    labels = here / "labels.csv"
    _write(labels, [["ticket", "y"], [ids[0], "1"]])
    refused = counter.refused("tell", "clinic", labels)
    assert "labels.csv, line 2" in refused
    assert "fill it first" in refused
    _write(labels, [["ticket", "y", "z"], [ids[0], "1", "2"]])
    assert "--target" in counter.refused("tell", "clinic", labels)
    [info] = counter.json("status")["learners"]
    assert (info["waiting"], info["events"]) == (3, 4)


def _write(path: Path, rows: list[list[str]], separator: str = ",") -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=separator).writerows(rows)


def test_tickets_and_drop(counter: Counter) -> None:
    ids = [t["id"] for t in counter.json("ask", "clinic", "-n", 3, "--expires", "0s")["tickets"]]
    assert "is dropped" in counter("drop", ids[1])
    listed = counter("tickets", "clinic").splitlines()
    assert [line.split()[0] for line in listed[1:]] == [ids[0], ids[2]]
    assert all(line.endswith("expired") for line in listed[1:])
    page = counter("tickets", "--state", "all", "--limit", 2)
    assert page.splitlines()[-1] == f"and more: --after {ids[1]}"
    assert counter("tickets", "--older-than", "7d") == "no such tickets\n"
    assert counter("tickets", "--state", "filled") == "no tickets are filled\n"
    assert "nothing" in counter.refused("fill", ids[0])
    assert counter.json("fill", ids[0], "--nothing")["prediction"] == 0.0


def test_the_store_by_the_environment(
    counter: Counter, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter("backup", "copy.db")
    monkeypatch.setenv("KEYHOLE_STORE", "copy.db")
    counter("ask", "clinic")
    assert counter.json("status")["learners"][0]["rounds"] == 1
    assert counter.json("status", "--store", "keyhole.db")["learners"][0]["rounds"] == 0
    assert "already exists" in counter.refused("backup", "copy.db")


def test_what_was_backed_up_is_restored(counter: Counter, here: Path) -> None:
    counter("ask", "clinic")
    assert counter.json("backup", "copy.db")["verified"] == {"clinic": 2}
    assert "already exists" in counter.refused("restore", "copy.db")
    words = counter("restore", "copy.db", "--store", "new.db")
    assert words == "new.db: restored from copy.db, learners: 1, 2 events replayed\n"
    assert counter.json("status", "--store", "new.db")["learners"][0]["rounds"] == 1
    with contextlib.closing(sqlite3.connect(here / "keyhole.db")) as raw:
        raw.execute("UPDATE kh_event SET who = 'x' WHERE seq = 2")
        raw.commit()
    refused = counter.refused("backup", "bad.db")
    assert "bad.db was written and is no better than the store" in refused
    assert "event 2" in refused
    counter.refused("restore", "bad.db", "--store", "other.db")
    assert not (here / "other.db").exists()


def test_create_from_history(counter: Counter, here: Path) -> None:
    rows = [["age", "crp", "tsh", "y"], *([str(i), str(i % 3), "1", str(2 * i)] for i in range(30))]
    _write(here / "old.csv", rows)
    old = ("--history", "old.csv", "--target", "y", "--budget", 2, "--learner", "fixed")
    made = counter.json("create", "old", *old)
    assert (made["names"], made["history"]) == (["age", "crp", "tsh"], 30)
    assert "--target" in counter.refused("create", "x", "--history", "old.csv", "--budget", 2)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("age\ncrp\ntsh\n", ["age", "crp", "tsh"]),
        ("Feature;Unit\nage;years\ncrp;\n", ["age", "crp"]),
        ("age,crp,y\n1,2,3\n", ["age", "crp"]),
        ("\ufeffage\n3.5\n", ["age"]),
    ],
)
def test_lists_of_features(counter: Counter, here: Path, text: str, names: list[str]) -> None:
    (here / "names.csv").write_text(text)
    target = ("--target", "y") if "y\n1" in text else ()
    given = ("--features", "names.csv", "--budget", 1, "--learner", "random", *target)
    assert counter.json("create", "other", *given)["names"] == names


def test_refusals_are_one_line(counter: Counter, here: Path) -> None:
    [ticket] = counter.json("ask", "clinic")["tickets"]
    id = ticket["id"]
    wrong = ("X" if id[0] != "X" else "Y") + id[1:]
    make = ("create", "x", "--features", "features.csv")
    for arguments, words in (
        (("ask", "clinc"), "did you mean 'clinic'"),
        (("fill", wrong, "age=1"), "check character is wrong"),
        (("fill", id, "agee=1"), "which asks for"),
        (("fill", id, "age"), "is not FEATURE=VALUE"),
        (("fill", id, f"{ticket['features'][0]}=abc"), "must be a number"),
        (("tell", id, "1"), "fill it first"),
        (("tell", id, "nan"), "drop it if it never comes"),
        (("tell", id, "clinic.csv"), "is not a number"),
        (("tickets", "--state", "opne"), "did you mean 'open'"),
        (("tickets", "--older-than", "week"), "such as 7d"),
        (("status", "--store", "none.db"), "there is no store at"),
        (("status", "--store", "features.csv"), "no database"),
        (("create", "clinic", *make[2:], "--budget", 3), "another name"),
        (("create", "a b", *make[2:], "--budget", 3), "letters, digits"),
        ((*make, "--budget", 9), "more than the 6 features"),
        ((*make, "--budget", 2.5), "number of features"),
        ((*make, "--budget", 3, "--learner", "randm"), "did you mean 'random'"),
        (("create", "x", "--features", "none.csv", "--budget", 3), "cannot read none.csv"),
        (("create", "x", "--budget", 3), "--features"),
        (("ask", "clinic", "--known", "age=3"), "takes no 'known'"),
        (("ask", "clinic", "--out", "no/such.csv"), "cannot write"),
    ):
        assert words in counter.refused(*arguments), arguments
    assert not Path("none.db").exists()
    assert counter.json("status")["learners"][0]["rounds"] == 1  # none of them asked for anything


def test_a_learner_is_deleted_once_that_is_confirmed(
    counter: Counter, capsys: pytest.CaptureFixture[str]
) -> None:
    counter("ask", "clinic")
    assert run(["delete", "clinic"]) == 2  # nobody is there to type its name
    assert "add --yes" in capsys.readouterr().err
    assert run(["delete", "clinic", "--yes"]) == 2
    assert "an open ticket" in capsys.readouterr().err
    assert run(["delete", "clini", "--yes"]) == 2
    assert "clinic" in capsys.readouterr().err
    assert run(["delete", "clinic", "--yes", "--force"]) == 0
    assert capsys.readouterr().out == "clinic is deleted: 1 examples, 0 labels\n"
    assert run(["ask", "clinic"]) == 2
