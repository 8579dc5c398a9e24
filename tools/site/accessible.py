"""Mends the HTML that the theme and Sphinx write, so that axe-core finds nothing to say.

Each rule is one substitution on the finished page: what keyboards cannot scroll, landmarks without
a name, headings without a level, header cells without a word, lists that are none. And the
cells of tables are told where their lines may break, for narrow screens.
"""

from __future__ import annotations

import re
from pathlib import Path

RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    # Whatever may scroll sideways can be reached by keyboard.
    (re.compile(r"<pre>"), '<pre tabindex="0">'),
    (re.compile(r'<table class="docutils'), '<table tabindex="0" class="docutils'),
    (re.compile(r"(?<!<td>)<p><img "), '<p class="picture" tabindex="0"><img '),
    (
        re.compile(r'<svg class="picture".*?</svg>', re.DOTALL),
        r'<div class="picture" tabindex="0">\g<0></div>',
    ),
    (re.compile(r'<p class="caption" role="heading">'), '<p class="caption">'),
    (
        re.compile(r'<aside class="sidebar-drawer">'),
        '<aside class="sidebar-drawer" aria-label="Site">',
    ),
    (re.compile(r'<aside class="toc-drawer'), '<aside aria-label="On this page" class="toc-drawer'),
    # Tables that need no header have an empty one in Markdown.
    (
        re.compile(r'<thead>\s*<tr[^>]*>(?:\s*<th class="head"><p></p></th>)+\s*</tr>\s*</thead>'),
        "",
    ),
    (re.compile(r'<th class="head"><p></p></th>'), "<td></td>"),
)
# The type of a property is not shown to extensions before it is written.
ALIAS = re.compile(
    r'TypeAliasForwardRef</span><span class="p"><span class="pre">\(</span></span><span class="s">'
    r"<span class=\"pre\">'(\w+)'</span></span><span class=\"p\"><span class=\"pre\">\)</span>"
)
CELL = re.compile(r"<td>.*?</td>", re.DOTALL)
CODE = re.compile(r'(?<=<span class="pre">)[^<]+')
PAIR = re.compile(r"(?<=\d) ([/±]) (?=[\d.−-])")  # 0.1 ± 0.2, 0.1 / 0.3: on one line
BREAKS = re.compile(r"(?<=[._=(/])(?=\w)")
SIGNATURE = re.compile(r"<dl>\s*((?:<dd><em class=\"sig-param\">.*?</dd>\s*)+)</dl>", re.DOTALL)


def mended(html: str) -> str:
    """The page, mended.

    >>> mended('<div><pre>1</pre></div>')
    '<div><pre tabindex="0">1</pre></div>'
    >>> mended('<dl><dd><em class="sig-param">a</em>,</dd></dl>')
    '<span class="sig-rows"><span><em class="sig-param">a</em>,</span></span>'
    >>> mended('<td><code><span class="pre">kh.play(x)</span></code></td>')
    '<td><code><span class="pre">kh.<wbr>play(<wbr>x)</span></code></td>'
    >>> mended("<td>0.1 ± 0.2</td>")
    '<td>0.1&#160;±&#160;0.2</td>'
    """
    for pattern, better in RULES:
        html = pattern.sub(better, html)
    html = CELL.sub(_cell, html)
    return SIGNATURE.sub(_rows, ALIAS.sub(r"\1", html))


def _cell(cell: re.Match[str]) -> str:
    """A cell of a table that breaks its lines where a reader would."""
    return PAIR.sub("&#160;\\1&#160;", CODE.sub(_breakable, cell[0]))


def _breakable(word: re.Match[str]) -> str:
    """A word of code that may be broken after its dots, parentheses and the like."""
    return BREAKS.sub("<wbr>", word[0])


def _rows(found: re.Match[str]) -> str:
    """The parameters of a long signature, a row each, which are no list of definitions."""
    rows = found[1].strip().replace("<dd>", "<span>").replace("</dd>", "</span>")
    return f'<span class="sig-rows">{rows}</span>'


def mend(folder: Path) -> None:
    """Mend all pages of a site."""
    for page in folder.rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        better = mended(html)
        if better != html:
            page.write_text(better, encoding="utf-8")
