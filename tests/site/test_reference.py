"""Every public name, command and call has its place in the reference."""

import re
from pathlib import Path

import pytest
import typer

import keyhole as kh
from keyhole._lazy import Origin, read_table
from keyhole.cli.app import application
from tools.rooms import PACKAGE, ROOT
from tools.site import commands, http_api, learner_table, lemmas, rooms_map
from tools.site.hooks import GENERATORS, MARK, filled

REFERENCE = ROOT / "docs" / "reference"
TABLE = read_table(PACKAGE / "__init__.pyi")
OBJECT = re.compile(r"^\.\. (?:auto\w+|py:\w+):: ([\w.]+)$", re.MULTILINE)
MODULE = re.compile(r"^\.\. currentmodule:: ([\w.]+)$", re.MULTILINE)


def documented(pages: list[Path]) -> set[str]:
    """Full names of what the directives on these pages show."""
    found = set()
    for page in pages:
        for block in page.read_text().split("```"):
            module = MODULE.search(block)
            for name in OBJECT.findall(block):
                found.add(name if module is None else f"{module[1]}.{name}")
    return found


def missing(table: dict[str, Origin], shown: set[str]) -> list[str]:
    """Public names without a place: a module counts under the name it is imported from."""
    return [
        name
        for name, origin in table.items()
        if f"keyhole.{name}" not in shown
        and not (origin.name is None and origin.module in shown)
        and f"{origin.module}.{origin.name}" not in shown
    ]


def test_every_public_name_is_in_the_reference() -> None:
    assert missing(TABLE, documented(list(REFERENCE.glob("*.md")))) == []


def test_a_name_without_a_place_is_noticed() -> None:
    shown = documented(list(REFERENCE.glob("*.md")))
    assert missing({**TABLE, "novelty": Origin("keyhole.game", "novelty")}, shown) == ["novelty"]
    assert missing(TABLE, shown - {"keyhole.Problem"}) == ["Problem"]


@pytest.mark.parametrize("module", ["streams", "theory", "testing", "report"])
def test_modules_are_shown_with_all_their_names(module: str) -> None:
    text = (REFERENCE / f"{module}.md").read_text()
    assert f".. automodule:: keyhole.{module}\n   :members:\n   :imported-members:" in text
    assert getattr(kh, module).__all__


def test_every_command_is_shown_with_its_help() -> None:
    page = commands.markdown()
    group = typer.main.get_command(application())
    names = set(getattr(group, "commands", {}))
    assert {"run", "serve", "keys"} <= names
    assert set(re.findall(r"^## `keyhole ([\w-]+)`$", page, re.MULTILINE)) == names
    assert "## `keyhole keys create`" in page
    assert "Random seed." in page


def test_every_call_and_every_object_of_the_api_is_shown() -> None:
    found, page = http_api.description(), http_api.markdown()
    for path, methods in found["paths"].items():
        for method in methods:
            assert f"## `{method.upper()} {path}`" in page
    for name in found["components"]["schemas"]:
        assert f"### {name}\n" in page


@pytest.mark.parametrize("name", kh.LEARNERS)
def test_every_learner_is_in_the_table(name: str) -> None:
    assert f"`{name}`" in learner_table.markdown()


def test_every_test_of_the_paper_has_a_section() -> None:
    page = lemmas.markdown()
    for file in (ROOT / "tests" / "paper").glob("test_*.py"):
        assert f"`tests/paper/{file.name}` checks:\n\n- " in page


def test_the_map_says_what_the_imports_say() -> None:
    """The drawn lines, followed as far as they go, are all the imports there are."""
    graph: dict[str, set[str]] = {name: set() for name in rooms_map.imports()}
    for a, b in rooms_map.reduced():
        graph[a].add(b)

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        waiting = [start]
        while waiting:
            for other in graph[waiting.pop()] - found:
                found.add(other)
                waiting.append(other)
        return found

    for name, others in rooms_map.imports().items():
        assert others <= reached(name), name
    picture = rooms_map.svg()
    assert picture.count("<rect") == len(graph)


def test_marks_are_known_and_filled_in() -> None:
    marks = {m for page in (ROOT / "docs").rglob("*.md") for m in MARK.findall(page.read_text())}
    assert marks == set(GENERATORS)
    assert filled("a\n<!-- generated: learners -->\nb") == f"a\n{learner_table.markdown()}\nb"
