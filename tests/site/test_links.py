"""The checker of links finds what is broken, and nothing else; so does the one of lower bounds."""

from pathlib import Path

import pytest

from tools.lowest import pins
from tools.site.links import faults

FINE = """<html><head><link rel="stylesheet" href="site.css"><script src="data:,"></script></head>
<body><h1 id="top">x</h1><a href="#top">up</a> <a href="other.html#there">over</a>
<a href="https://example.org">out</a> <img src="p%C3%A4.png"></body></html>"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text(FINE)
    (tmp_path / "other.html").write_text('<p id="there"></p>')
    (tmp_path / "site.css").write_text("")
    (tmp_path / "pä.png").write_text("")
    return tmp_path


def test_a_whole_site_has_no_faults(site: Path) -> None:
    assert faults(site) == []


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('href="#top"', 'href="#bottom"', "index.html: #bottom: no such place on that page"),
        ("other.html#there", "other.html#here", "index.html: other.html#here: no such place"),
        ('href="other.html#there"', 'href="gone.html"', "index.html: gone.html: no such file"),
        ('href="site.css"', 'href="https://example.org/a.css"', "index.html loads https://"),
        ('src="p%C3%A4.png"', 'src="q.png"', "index.html: q.png: no such file"),
    ],
)
def test_what_is_broken_is_named(site: Path, right: str, wrong: str, said: str) -> None:
    (site / "index.html").write_text(FINE.replace(right, wrong))
    [fault] = faults(site)
    assert fault.startswith(said)


def test_every_requirement_of_users_is_pinned_to_its_lower_bound(tmp_path: Path) -> None:
    found = dict(pin.split("==") for pin in pins())
    assert {"numpy", "scipy", "typer", "fastapi", "psycopg"} <= set(found)
    assert not {"sphinx", "mypy", "keyhole"} & set(found)
    loose = tmp_path / "pyproject.toml"
    loose.write_text('[project]\ndependencies = ["numpy"]\n[project.optional-dependencies]\n')
    with pytest.raises(SystemExit, match=r"'numpy' in pyproject\.toml has no lower bound"):
        pins(loose)
