"""Pages and READMEs name files that exist, and list what is there."""

import re
from pathlib import Path

import pytest

from tools.rooms import ROOT, stale

PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "src").rglob("README.md"),
]
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
NAMED = re.compile(r"`((?:src|tests|docs|benchmarks|examples|tools)/[\w/.-]+\.(?:py|md|svg|txt))`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_points_to_is_there(page: Path) -> None:
    text = page.read_text()
    for target in LINK.findall(text):
        if "://" not in target and not target.startswith("mailto:"):
            assert (page.parent / target).exists(), target
    if page.name != "CHANGELOG.md":  # which speaks of the past
        for name in NAMED.findall(text):
            assert "NAME" in name or (ROOT / name).exists(), name


COMMAND = re.compile(r"python\s+-m\s+((?:benchmarks|tools)(?:\.\w+)*)")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "Makefile"], ids=str)
def test_a_command_of_a_page_is_there(page: Path) -> None:
    if page.name != "CHANGELOG.md":
        for module in COMMAND.findall(page.read_text()):
            place = ROOT / module.replace(".", "/")
            assert (place / "__main__.py").exists() or place.with_suffix(".py").exists(), module


SEQUENCE = re.compile(r"(every|any)\W+sequence of (\w+ and )?labels|for \W*every\W+sequence", re.I)
COVERED = re.compile(r"constant labels|labels are constant|predicted\s+exactly|to the\s+last digit")
ON_TIME = re.compile(r"told\s+before\s+the\s+next|unless NP")


def unqualified(text: str) -> list[str]:
    """Paragraphs that promise something for every sequence without saying when it does not hold.

    Intervals contain more than they promise of what is predicted exactly; whatever else is proven
    needs labels that come in time.
    """
    found = []
    for paragraph in re.split(r"\n\s*\n|\n(?=[-|] )", text):
        if SEQUENCE.search(paragraph):
            about_intervals = re.search("interval|coverage", paragraph, re.I)
            if not (COVERED if about_intervals else ON_TIME).search(paragraph):
                found.append(paragraph)
    return found


@pytest.mark.parametrize("folder", ["docs", "src/keyhole", "README.md", "CHANGELOG.md"])
def test_every_sequence_is_said_with_its_exception(folder: str) -> None:
    place = ROOT / folder
    files = [place] if place.is_file() else [*place.rglob("*.md"), *place.rglob("*.py")]
    for file in files:
        assert unqualified(file.read_text()) == [], file


def test_a_promise_without_its_exception_is_found() -> None:
    assert unqualified("Intervals cover 90 %, for **every**\nsequence of labels.\n\nMore.")
    assert unqualified("For every sequence the loss is at most 7.")
    assert not unqualified("For every sequence of labels told before the next prediction.")


def test_the_lists_of_files_are_up_to_date() -> None:
    assert stale() == [], "run: python -m tools.rooms"
