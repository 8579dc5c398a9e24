"""Draws the pictures of the gallery by running the code on its pages.

    python -m tools.site.gallery            all of them
    python -m tools.site.gallery drift      one

The examples of docs/gallery/NAME.md are run in order, as pytest runs them, and what is called
`figure` at the end is written to docs/gallery/NAME.svg.
"""

from __future__ import annotations

import doctest
import sys
import time
from pathlib import Path
from typing import Any

from tools.rooms import ROOT

FOLDER = ROOT / "docs" / "gallery"
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def pages() -> list[Path]:
    """The pages with an example."""
    return [page for page in sorted(FOLDER.glob("*.md")) if page.name != "index.md"]


def drawn(page: Path) -> str:
    """The picture of a page as SVG; an example that prints something else is an error."""
    from keyhole.report import plots

    names: dict[str, Any] = {"__name__": "__main__"}
    test = doctest.DocTestParser().get_doctest(page.read_text(), names, page.name, str(page), 0)
    failed, _ = doctest.DocTestRunner(optionflags=OPTIONS).run(test, clear_globs=False)
    if failed:
        raise SystemExit(f"{page.name}: {failed} examples do not print what the page says")
    return plots.svg(test.globs["figure"], page.stem)


def main() -> None:
    """Draw the named pictures, or all."""
    wanted = sys.argv[1:]
    for page in pages():
        if wanted and page.stem not in wanted:
            continue
        began = time.perf_counter()
        picture = drawn(page)
        page.with_suffix(".svg").write_text(picture)
        seconds = time.perf_counter() - began
        sys.stdout.write(f"{page.stem}.svg: {len(picture) / 1e3:.0f} kB in {seconds:.1f} s\n")


if __name__ == "__main__":
    main()
