"""Pages without the seconds that drawing takes, for tests of their words."""

import pytest

from keyhole.report import plots

BLANK = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"></svg>'


@pytest.fixture
def blank_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every picture is made and has its place and heading, but nothing is drawn."""
    monkeypatch.setattr(plots, "svg", lambda figure, name: BLANK)
