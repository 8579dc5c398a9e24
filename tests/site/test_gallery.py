"""Every example of the gallery has its picture, made by the code on its page."""

from pathlib import Path

import pytest

import keyhole as kh
from tools.rooms import ROOT
from tools.site import gallery
from tools.site.gallery import drawn, pages


def test_there_are_nine_and_each_shows_its_picture() -> None:
    index = (gallery.FOLDER / "index.md").read_text()
    assert len(pages()) == 9
    for page in pages():
        text = page.read_text()
        assert ">>> figure = " in text, page.name
        assert f"]({page.stem}.svg)" in text, page.name
        assert page.with_suffix(".svg").read_text().lstrip().startswith("<?xml"), page.name
        assert f"({page.name})" in index, page.name


def test_a_picture_is_what_a_page_calls_its_figure(tmp_path: Path) -> None:
    page = tmp_path / "one.md"
    page.write_text(
        "```python\n>>> from matplotlib.figure import Figure\n>>> figure = Figure()\n"
        '>>> _ = figure.text(0.5, 0.5, "here")\n\n```\n'
    )
    assert "here" in drawn(page)


def test_a_page_that_prints_something_else_draws_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "one.md"
    page.write_text("```python\n>>> 1 + 1\n3\n\n```\n")
    with pytest.raises(SystemExit, match=r"one\.md: 1 examples do not print"):
        drawn(page)


def test_the_citation_names_this_version() -> None:
    assert f"\nversion: {kh.__version__}\n" in (ROOT / "CITATION.cff").read_text()
