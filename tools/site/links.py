"""Checks the finished site: links and anchors within it exist, nothing is loaded from elsewhere.

python -m tools.site.links build/docs
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


@dataclass
class Page(HTMLParser):
    """What a page links to and loads, and the anchors it has."""

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag points to."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif LOADED.get(tag, "") in given:
            self.loads.append(given[LOADED[tag]])


def read(file: Path) -> Page:
    """A page of the site."""
    page = Page()
    page.feed(file.read_text(encoding="utf-8"))
    return page


def faults(folder: Path) -> list[str]:
    """What is wrong, one line each."""
    pages = {file: read(file) for file in sorted(folder.rglob("*.html"))}
    found = []
    for file, page in pages.items():
        name = file.relative_to(folder)
        found += [f"{name} loads {target}" for target in page.loads if _elsewhere(target)]
        for target in {*page.links, *page.loads}:
            problem = None if _elsewhere(target) else _broken(file, target, pages)
            if problem:
                found.append(f"{name}: {target}: {problem}")
    return found


def _elsewhere(target: str) -> bool:
    parts = urlsplit(target)
    return bool(parts.netloc) or parts.scheme not in ("", "data")


def _broken(file: Path, target: str, pages: dict[Path, Page]) -> str | None:
    parts = urlsplit(target)
    if parts.scheme == "data":
        return None
    other = (file.parent / unquote(parts.path)).resolve() if parts.path else file.resolve()
    if not other.exists():
        return "no such file"
    anchor = unquote(parts.fragment)
    page = next((p for f, p in pages.items() if f.resolve() == other), None)
    if anchor and page is not None and anchor not in page.anchors:
        return "no such place on that page"
    return None


def main() -> int:
    """Print what is wrong with the site in a folder."""
    found = faults(Path(sys.argv[1]))
    for line in found:
        sys.stdout.write(f"{line}\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
