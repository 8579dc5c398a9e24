"""At the counter from the shell: doubts, limits, corrections, yes or no."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest

import keyhole as kh
from keyhole.cli.app import run
from tests.helpers.counted import learnt, values_for

PRICES = "feature,price,low,high\nage,0,0,120\ncrp,2.5,0,600\ntsh,1,,\n"


class Terminal(io.StringIO):
    """A terminal at which somebody types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def ward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A learner in the store of this folder that has seen enough to doubt."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KEYHOLE_STORE", raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with kh.Store("keyhole.db") as store:
        return learnt(store)


def asked(ward: str) -> kh.StoredTicket:
    with kh.Store("keyhole.db") as store:
        return store.ask(ward)[0]


def now(ticket: kh.StoredTicket) -> kh.StoredTicket:
    with kh.Store("keyhole.db") as store:
        store.verify()
        return store.ticket(ticket.id)


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What a command that is refused says."""
    capsys.readouterr()  # of what was done before
    code = run([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.count("keyhole: ") == 1
    return err


def pairs(ticket: kh.StoredTicket, **other: float) -> list[str]:
    return [f"{name}={value}" for name, value in {**values_for(ticket), **other}.items()]


def test_a_pipe_needs_confirm(ward: str, capsys: pytest.CaptureFixture[str]) -> None:
    ticket = asked(ward)
    wrong = pairs(ticket, crp=2000.0)
    words = refused(capsys, "fill", ticket.id, *wrong)
    assert "did you mean 2?" in words
    assert "confirm it with --confirm" in words
    assert now(ticket).state == "asked"
    assert run(["fill", ticket.id, *wrong, "--confirm"]) == 0
    assert "the label: 6,000" in refused(capsys, "tell", ticket.id, 6000)
    assert run(["tell", ticket.id, "6000", "--confirm"]) == 0
    assert now(ticket).label == 6000.0


def test_files_too(ward: str, capsys: pytest.CaptureFixture[str]) -> None:
    ticket = asked(ward)
    values = {**values_for(ticket), "crp": 2000.0}
    rows = [",".join(["ticket", *values]), ",".join([ticket.id, *map(str, values.values())])]
    Path("values.csv").write_text("\n".join(rows))
    words = refused(capsys, "fill", ward, "values.csv")
    assert "values.csv, line 2" in words
    assert "--confirm" in words
    assert run(["fill", ward, "values.csv", "--confirm"]) == 0
    Path("labels.csv").write_text(f"ticket,days\n{ticket.id},6000\n")
    assert "--confirm" in refused(capsys, "tell", ward, "labels.csv")
    assert run(["tell", ward, "labels.csv", "--confirm"]) == 0
    assert now(ticket).label == 6000.0


@pytest.mark.parametrize(
    ("answer", "state"), [("y\n", "filled"), ("n\n", "asked"), ("\n", "asked")]
)
def test_a_terminal_is_asked(
    ward: str,
    answer: str,
    state: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ticket = asked(ward)
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    code = run(["fill", ticket.id, *pairs(ticket, crp=2000.0)])
    said = capsys.readouterr().err
    assert "crp: 2,000 is" in said
    assert "Keep it as it is?" in said
    assert now(ticket).state == state
    assert code == (0 if state == "filled" else 2)


def test_correct(ward: str, capsys: pytest.CaptureFixture[str]) -> None:
    ticket = asked(ward)
    run(["fill", ticket.id, *pairs(ticket, crp=2.6)])
    capsys.readouterr()
    assert run(["correct", ticket.id, "crp=2,4", "--decimal", ",", "--why", "typo"]) == 0
    assert "is corrected" in capsys.readouterr().out
    assert now(ticket).as_dict()["values"]["crp"] == 2.4
    run(["tell", ticket.id, "6"])
    more = ["--who", "ward 3"]
    assert "did you mean 5.5?" in refused(capsys, "correct", ticket.id, "--label", "-5.5", *more)
    assert run(["correct", ticket.id, "tsh=", "--label", "-5.5", *more, "--confirm"]) == 0
    found = now(ticket)
    assert (found.label, found.as_dict()["values"]["tsh"]) == (-5.5, None)
    assert "6,000" in refused(capsys, "correct", ticket.id, "--label", 6000)
    assert "nothing to correct" in refused(capsys, "correct", ticket.id)
    assert "is missing" in refused(capsys, "correct", ticket.id, "--label", "")
    with kh.Store("keyhole.db") as store:
        assert [event.who for event in store.ticket_history(ticket.id)][-1] == "ward 3"


def test_create_with_limits_and_yes_no(ward: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("prices.csv").write_text(PRICES)
    Path("features.csv").write_text("feature\nage\ncrp\ntsh\n")
    made: list[Any] = ["--features", "features.csv", "--prices", "prices.csv", "--budget", "5"]
    assert run(["create", "limited", *made, "--label-limits", "0:400"]) == 0
    with kh.Store("keyhole.db") as store:
        limits = store.learner("limited").problem.limits
        expected = kh.Problem(
            3, 1, 1, ("age", "crp", "tsh"), limits={0: (0, 120), 1: (0, 600)}, label_limits=(0, 400)
        ).limits
        assert limits == expected
        [ticket] = store.ask("limited")
    capsys.readouterr()
    assert "its limits are 0 to 600" in refused(capsys, "fill", ticket.id, "crp=700", "--confirm")
    for wrong in ("5", "a:b", "4:0"):
        assert "limits" in refused(capsys, "create", "no", *made, "--label-limits", wrong)
    assert run(["create", "fraud", "--features", "features.csv", "--budget", "2", "--yes-no"]) == 0
    capsys.readouterr()
    assert run(["fill", asked("fraud").id, "--nothing"]) == 0
    assert "gives yes (1) a probability of" in capsys.readouterr().out


def test_run_keeps_to_limits(ward: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is played from a file is refused, too, by name."""
    Path("prices.csv").write_text(PRICES)
    rows = [f"{30 + i % 9},{i % 7 if i != 17 else 700},{i % 5},{i % 7}" for i in range(60)]
    Path("rows.csv").write_text("\n".join(["age,crp,tsh,days", *rows]))
    played = ["run", "rows.csv", "--target", "days", "--prices", "prices.csv", "--budget", "5"]
    assert "crp is 700 in round 18: its limits are 0 to 600" in refused(capsys, *played)
