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


def test_the_lists_of_files_are_up_to_date() -> None:
    assert stale() == [], "run: python -m tools.rooms"
