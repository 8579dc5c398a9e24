"""A dozen typical mistakes of every command: one line each, in options, never in Python."""

import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import keyhole as kh
from keyhole.cli.app import COMMANDS
from keyhole.cli.spoken import OPTIONS, in_options

# What only Python says: calls, keyword arguments, parameters that are no options, tracebacks.
PYTHON = re.compile(
    r"\bkh\.|\bkeyhole\.(?!db\b)\w|Traceback|\bNone\b|\b[A-Z]\w+\(|\b\w+=(['\"\[]|None|True|False|\d)"
    rf"|((?:^|: |\())({'|'.join(OPTIONS)})(?= must| can|\)|:| is )"
    r"|(?<![-\w])(half_life|most_levels|n_features|zero_based|yes_no|order_by|skip_rows)\b"
)
READING = """
{c} none.csv -t y | {c} t.csv | {c} t.csv -t yy | {c} t.csv -t y --ignore nope | {c} t.csv -t ward
{c} t.csv -t y --positive x | {c} t.csv -t y --dates foo | {c} t.csv -t y --separator ab
{c} t.csv -t y --rounds 0 | {c} t.csv -t y --most-levels 1 | {c} t.csv -t y --encoding xx
{c} t.csv -t y --absent maybe | {c} t.csv -t y --censored maybe | {c} t.csv -t y --yes-no
{c} t.csv -t y --categorical y | {c} t.csv -t y --sheet x | {c} t.pkl -t y | {c} l.npz x.csv -t y
{c} t.csv -t y --skip-rows 99 | {c} t.csv -t y --prices t.csv | {c} t.csv -t y --prices none.csv
{c} t.csv -t y --ignore ward,age | {c} -t y | {c} . -t y | {c} t.csv -t y --decimal xx
"""
SIZES = """
{c} t.csv -t y -b 99 | {c} t.csv -t y -b 2.5 | {c} t.csv -t y -b 0 | {c} t.csv -t y -b nan
{c} t.csv -t y -b 2 -k 5 | {c} t.csv -t y -k 0 | {c} t.csv -t y -k 99 | {c} --prices clinic -b -3
"""
PLAYING = """
{c} t.csv -t y -l atuo | {c} t.csv -t y --worth 2 | {c} t.csv -t y --purse 2
{c} t.csv -t y --history none.csv | {c} t.csv -t y --half-life 3
{c} t.csv -t y --history t.csv --half-life -3 | {c} t.csv -t y --audit 2
{c} --prices clinic -b 30 --worth -1 | {c} --prices clinic -b 30 --purse nan
{c} --prices clinic -b 30 --worth 1 -l random | {c} t.csv -t y -b 1 -l dantzig
{c} t.csv -t y -b 1 -l aelr | {c} t.csv -t y -b 1 -l ds-oslrc
"""
TICKETS = """
{c} nope | {c} KKKK-KKKK-KKKK | {c} clinic none.csv | {c} clinic t.csv
{c} clinic --store none.db | {c} clinic --store t.csv | {c} clinic --nope
"""
MISTAKES = {
    "run": READING
    + SIZES
    + PLAYING
    + """
run t.csv -t y --coverage 2 | run t.csv -t y --coverage nan | run t.csv -t y --save no/l.npz
run t.csv -t y --report no/r.html | run t.csv -t y -b 2 -b 3
""",
    "compare": SIZES
    + PLAYING
    + """
compare t.csv -t y --budgets 3,x | compare t.csv -t y --budgets 2,99
compare t.csv -t y --seeds 0 | compare t.csv -t y --jobs 0 | compare t.csv -t y --plot x.png
compare t.csv -t y -l dantzig,aerr -b 1 | compare t.csv -t y -b 2 --budgets 2,3
""",
    "diagnose": READING + SIZES,
    "advise": READING
    + """
advise t.csv -t y --most 0 | advise t.csv -t y --most 99 | advise t.csv -t y --scout 2
advise t.csv -t y --scout 0 | advise t.csv -t y --plot x.gif | advise t.csv -t y --rounds 5
advise l.npz --most 3 | advise none.npz | advise t.npz
""",
    "predict": """
predict | predict l.npz | predict none.npz t.csv | predict t.csv t.csv | predict t.pkl t.csv
predict l.npz none.csv | predict l.npz l.npz | predict l.npz t.csv --coverage 3
predict l.npz t.csv --coverage nan | predict l.npz t.csv --out x.xyz | predict l.npz t.csv --json
predict l.npz t.csv --prices t.csv | predict l.npz other.csv | predict l.npz t.csv --out no/x.csv
""",
    "simulate": """
simulate | simulate nope --out x.csv | simulate realizable | simulate realizable --out x.xyz
simulate realizable --out no/x.csv | simulate realizable --out x.csv --rows 0
simulate realizable --out x.csv --rows x | simulate realizable --out x.csv --features 0
simulate realizable --out x.csv --features 3 -k 9 | simulate realizable --out x.csv --seed -1
simulate realizable --out x.csv --prices p.csv | simulate clinic --out - --json
""",
    "theory": """
theory --rounds 0 | theory --d 5 | theory --features 5 -k 9 --budget 3 --rounds 10
theory --features 5 -k 2 --budget 9 --rounds 10 | theory --features 0 | theory -k 0
theory --features 5 -k 2 --budget nan --rounds 10 | theory --noise-sd -1 | theory --rounds x
theory --features 5 -k 2 --budget 2.5 --rounds 10 | theory --budget 3 --budget 4
""",
    "learners": "learners --x | learners auto | learners --json yes",
    "create": """
create | create x | create x --features none.csv -b 2 | create x --history t.csv -b 2
create x --history t.csv -t yy | create x --history t.csv -t y -b 99
create x --history t.csv -t y -b 2 -k 9 | create x --features f.csv | create x --features f.csv -b 9
create x --features f.csv -b 0 | create x --features f.csv -b 1.5 | create x --features t.pkl -b 1
create x --features f.csv -b 1 -l atuo | create a/b --features f.csv -b 1
create clinic --features f.csv -b 1 | create x --features f.csv --prices t.csv -b 1
create x --features f.csv -b 1 -l full | create x --features f.csv -b 1 -l dantzig
create x --features f.csv -b 1 --half-life 3 | create x --history t.csv -t y -b 2 --half-life 0
create x --history t.csv -t y --positive x
create x --history t.csv -t ward -b 2 | create x --history t.csv -t y --dates foo -b 2
""",
    "ask": TICKETS
    + """
ask clinic --many 0 | ask clinic --without nope | ask clinic --known age | ask clinic --known age=x
ask clinic --known nope=2 | ask clinic -b -2 | ask clinic --expires soon | ask clinic --out no/x.csv
ask clinic --known ward=nord
""",
    "fill": TICKETS + "fill {t} | fill {t} nope=1 | fill {t} age=x | fill {t} ward=nord",
    "tell": TICKETS + "tell {t} | tell {t} x | tell {t} 3 | tell {t} nan | tell {t} 1e999",
    "drop": TICKETS,
    "tickets": TICKETS + "tickets --state opne | tickets --older-than week | tickets --limit 0",
    "status": TICKETS,
    "verify": TICKETS,
    "next": "next | next NOPE | next {t} | next {t} --stop-at x | next {t} --store none.db",
    "restore": "restore | restore no.db --store new.db | restore t.csv --store new.db",
    "backup": "backup | backup keyhole.db | backup no/b.db | backup b.db --store none.db",
    "delete": TICKETS + "delete clinic | delete clinic --store t.csv --yes",
    "serve": """
serve --port 99999999 | serve --store none/x.db | serve --port x | serve --nope | serve clinic
""",
    "keys": """
keys nope | keys create | keys create --role x | keys revoke | keys revoke nope | keys list x
""",
}
PLAY = """
import contextlib, io, json, sys, traceback
from keyhole.cli.app import run
said = []
for line in json.loads(sys.stdin.read()):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = run(line.split())
        except BaseException:
            code = 1
            traceback.print_exc()
    said.append((line, code, err.getvalue()))
sys.stdout.write(json.dumps(said))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of patients, a learner of it, a store, and files that are something else."""
    here = tmp_path_factory.mktemp("mistakes")
    rng = np.random.default_rng(0)
    rows = "".join(
        f"{rng.integers(20, 90)},{rng.choice(['north', 'south', 'west'])},{rng.normal():.2f},"
        f"{rng.normal():.2f}\n"
        for _ in range(120)
    )
    (here / "t.csv").write_text(f"age,ward,crp,y\n{rows}")
    (here / "other.csv").write_text("a,b\n1,2\n")
    (here / "f.csv").write_text("age,ward\n31,north\n40,south\n")
    (here / "t.pkl").write_bytes(pickle.dumps([1, 2]))
    (here / "t.npz").write_bytes(pickle.dumps([1, 2]))
    learner = kh.AutoLearner(kh.Problem(3, 2, 2, ["age", "crp", "bmi"]), seed=0)
    kh.play(learner, kh.streams.ArrayStream(rng.normal(size=(200, 3)), rng.normal(size=200)))
    kh.save(learner, here / "l.npz")
    with kh.Store(str(here / "keyhole.db"), create=True) as store:
        store.create("clinic", kh.Problem(3, 1, 2, ["age", "ward=north", "ward=south"]), "auto")
        ticket = store.ask("clinic")[0]
    (here / "ticket").write_text(ticket.id)
    return here


def test_every_command_is_tried() -> None:
    assert {*MISTAKES, "correct"} >= {*COMMANDS}


@pytest.mark.parametrize("command", MISTAKES)
def test_mistakes_are_told_in_one_line_of_options(command: str, folder: Path) -> None:
    said = MISTAKES[command].format(c=command, t=(folder / "ticket").read_text())
    lines = [one.strip() for line in said.split("\n") for one in line.split("|") if one.strip()]
    played = subprocess.run(
        [sys.executable, "-c", PLAY],
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=300,
        check=True,
    )
    wrong = []
    for line, code, err in json.loads(played.stdout):
        told = [row for row in err.splitlines() if ": assumed " not in row]
        fine = code == 2 and len(told) == 1 and told[0].startswith("keyhole: ")
        if not fine or PYTHON.search(told[0]):
            wrong.append((line, code, err))
    assert not wrong, "\n".join(f"{line}: {code}\n  {err}" for line, code, err in wrong)


def test_python_is_recognised_and_put_in_options() -> None:
    spoken = {
        "coverage must be a share, got 2.0": "--coverage must be a share, got 2",
        "make the problem with budget=2.0": "use --budget 2",
        "the budget of 1.0 does not buy k = 3 features": "the budget of 1 does not buy 3 features",
        "y is never 'x' (positive)": "y is never 'x' (--positive)",
        "half_life must be positive, got 0: rows, or None": "--half-life must be positive, got 0: "
        "rows",
        "what 3 features cost with weighting='exact', got": "what 3 features cost, got",
    }
    for python, options in spoken.items():
        assert in_options(python) == options
    for python in [*spoken, "use kh.Problem(3)", "k must be 3", "w.csv: dates can be", "x=None"]:
        if "k = 3" not in python:
            assert PYTHON.search(python), python
    for plain in ("a.b=c.csv, v1.0.csv, 'budget=3.0'", "x.csv: column 'k' must be numbers"):
        assert in_options(plain) == plain
