"""Tickets step by step, on the command line."""

import json

import pytest

import keyhole as kh
from keyhole.cli.app import run
from tests.helpers.stepwise import stepwise


def test_what_is_next_and_what_is_out(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("counter"))
    with kh.Store("keyhole.db") as store:
        ward = stepwise(store)
        whole = stepwise(store, "explore-commit")
    assert run(["ask", ward, "--steps"]) == 0
    with kh.Store("keyhole.db") as store:
        [ticket] = store.tickets(ward, state="asked")
    first = ticket.names[0]
    assert run(["next", ticket.id]) == 2
    assert "was not filled" in capsys.readouterr().err
    assert run(["fill", ticket.id, f"{first}=2"]) == 0
    assert f"keyhole next {ticket.id}" in capsys.readouterr().out
    assert run(["next", ticket.id]) == 0
    with kh.Store("keyhole.db") as store:
        grown = store.ticket(ticket.id)
    said = capsys.readouterr().out
    assert grown.step
    for word in (*grown.step.items, "more to pay", grown.step.reason):
        assert word in said
    assert run(["fill", ticket.id, f"{first}=2"]) == 0
    assert f"did not arrive yet: {grown.awaited[0]}" in capsys.readouterr().out
    assert run(["fill", ticket.id, f"{first}=3"]) == 2
    assert "correct it" in capsys.readouterr().err
    assert run(["fill", ticket.id, f"{grown.awaited[0]}=2.5"]) == 0
    capsys.readouterr()
    assert run(["next", ticket.id, "--stop-at", "1e9"]) == 0
    said = capsys.readouterr().out
    assert "buy nothing more" in said
    assert "wide" in said
    assert run(["next", ticket.id, "--stop-at", "1e9", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["step"]["enough"]
    assert run(["next", ticket.id, "--stop-at", "-1"]) == 2
    assert run(["tell", ticket.id, "9"]) == 0
    assert run(["ask", whole, "--steps"]) == 0
    with kh.Store("keyhole.db") as store:
        [ticket] = store.tickets(whole, state="asked")
    run(["fill", ticket.id, f"{ticket.names[0]}=2"])
    capsys.readouterr()
    assert run(["next", ticket.id]) == 0
    assert "everything that this ticket is for was bought" in capsys.readouterr().out
