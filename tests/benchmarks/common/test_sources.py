"""What code a result hangs on: what it says counts, not where it stands."""

import ast
import re
from functools import partial
from pathlib import Path

import pytest

import keyhole
from benchmarks.common.factories import made_by
from benchmarks.common.sources import Sources, digest, modules
from keyhole.learners import LEARNERS, LearnerRow
from keyhole.learners.auto import AutoLearner
from keyhole.problem import Learner, Problem

AUTO = "keyhole.learners.auto"


def lazily(problem: Problem, *, seed: int = 0) -> Learner:
    """Imports the learner when called."""
    from keyhole.learners.online_greedy import OnlineGreedyLearner

    return OnlineGreedyLearner(problem, seed=seed)


def by_helper(problem: Problem, *, seed: int = 0) -> Learner:
    """Leaves it to another function."""
    return lazily(problem, seed=seed)


def test_the_code_behind_a_learner() -> None:
    behind = modules(["keyhole.learners.auto"])
    sampling = "keyhole.learners.blocks.draw.sampling"
    assert {"keyhole.learners.auto", "keyhole.problem.problem", sampling} <= set(behind)
    assert any(name.startswith("keyhole.learners.blocks.auto.") for name in behind)
    assert "keyhole.learners.online_greedy" not in behind
    assert digest("keyhole.learners.auto") != digest("keyhole.learners.baselines")
    assert made_by(AutoLearner) == ("", ("keyhole.learners.auto",))
    plain, proper = (made_by(partial(AutoLearner, proper=way)) for way in (False, True))
    assert plain[0] != proper[0]
    assert plain[1] == proper[1] == ("keyhole.learners.auto",)
    for make in (lazily, by_helper):
        assert made_by(make)[1] == ("keyhole.learners.online_greedy",)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the library's text."""
    original, copy = Path(keyhole.__file__).parent, tmp_path / "keyhole"
    for path in [*original.rglob("*.py"), *original.rglob("*.pyi")]:
        target = copy / path.relative_to(original)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(path.read_text())
    return copy


def file_of(package: Path, module: str) -> Path:
    """Where a module of the copy is written."""
    return package.joinpath(*module.split(".")[1:]).with_suffix(".py")


def digest_of(package: Path, *starts: str) -> str:
    """As it is written now."""
    return Sources({"keyhole": package}).digest(*starts)


class Moved(ast.NodeTransformer):
    """Imports modules from where they are now, under the names they had."""

    def __init__(self, places: dict[str, str]) -> None:
        self.places = places

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.ImportFrom]:
        if not (node.module or "").startswith("keyhole"):
            return [node]
        made = []
        for alias in node.names:
            old, kept = f"{node.module}.{alias.name}", alias.asname or alias.name
            if old in self.places:
                folder, _, name = self.places[old].rpartition(".")
                made.append(ast.ImportFrom(folder, [ast.alias(name, kept)], 0))
            else:
                module = self.places.get(node.module or "", node.module)
                made.append(ast.ImportFrom(module, [alias], node.level))
        return made


def test_moving_every_module_changes_nothing(package: Path) -> None:
    behind = modules([AUTO])
    places = {old: f"keyhole.moved.m{i}.renamed{i}" for i, old in enumerate(behind)}
    for old, new in places.items():
        file_of(package, new).parent.mkdir(parents=True)
        file_of(package, old).rename(file_of(package, new))
    for path in [*(package / "moved").rglob("*.py"), *package.rglob("__init__.py*")]:
        path.write_text(ast.unparse(Moved(places).visit(ast.parse(path.read_text()))))
    moved = Sources({"keyhole": package})
    assert moved.modules([places[AUTO]]) == sorted(places.values())
    assert moved.digest(places[AUTO]) == digest(AUTO)


def test_a_module_is_not_known_by_its_name(tmp_path: Path) -> None:
    found = set()
    for name in ("one", "another"):
        (tmp_path / f"{name}.py").write_text("def f():\n    return 1\n")
        (tmp_path / "user.py").write_text(f"from p import {name}\n\nx = {name}.f()\n")
        found.add(Sources({"p": tmp_path}).digest("p.user"))
    assert len(found) == 1


def test_words_and_layout_do_not_count(package: Path) -> None:
    path = file_of(package, AUTO)
    path.write_text(
        path.read_text().replace('"""', '"""Once upon a time. ', 1) + "\n\n# The end.\n"
    )
    assert digest_of(package, AUTO) == digest(AUTO)


def test_a_constant_in_a_callee_counts(package: Path) -> None:
    other = "keyhole.learners.subset_experts"
    alone = [m for m in modules([AUTO]) if ".blocks." in m and m not in modules([other])]
    zero = re.compile(r"= 0\.0$", re.MULTILINE)  # in code: what a docstring says does not count
    callee = next(m for m in alone if zero.search(file_of(package, m).read_text()))
    path = file_of(package, callee)
    path.write_text(zero.sub("= 0.25", path.read_text(), count=1))
    assert digest_of(package, AUTO) != digest(AUTO)
    assert digest_of(package, other) == digest(other)


def test_taking_a_name_from_another_module_counts(tmp_path: Path) -> None:
    for name, value in (("one", 1), ("two", 2)):
        (tmp_path / f"{name}.py").write_text(f"def f():\n    return {value}\n")
    user = tmp_path / "user.py"
    sources = "from p import {0}, {1}\nfrom p.{0} import f\n\ndef g():\n    return f() + {0}.f()\n"
    found = set()
    for order in (("one", "two"), ("two", "one")):
        user.write_text(sources.format(*order))
        found.add(Sources({"p": tmp_path}).digest("p.user"))
    user.write_text(sources.format("one", "two").replace("one.f()", "two.f()"))
    found.add(Sources({"p": tmp_path}).digest("p.user"))
    assert len(found) == 3  # the same three modules each time


def test_packages_hand_names_on(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "__init__.py").write_text("from p.inner.a import a\nfrom p.inner.b import b\n")
    (inner / "a.py").write_text("a = 1\n")
    (inner / "b.py").write_text("b = 2\n")
    (tmp_path / "__init__.pyi").write_text("from p import inner as inner\n")
    for text in (
        "from p.inner import a\n",
        "import p as q\n\ndef f():\n    return q.inner.a\n",
        "def f():\n    from p import inner\n    return inner.a\n",
    ):
        (tmp_path / "user.py").write_text(text)
        behind = Sources({"p": tmp_path}).modules(["p.user"])
        assert "p.inner.a" in behind, text
        assert "p.inner.b" not in behind, text


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_hangs_on_its_own_modules_alone(name: str) -> None:
    _, (start,) = made_by(LEARNERS[name])
    behind = modules([start])
    assert start in behind
    assert "keyhole.learners.registry" not in behind


def test_auto_hangs_on_no_other_learner() -> None:
    others = {f"keyhole.learners.{row.made_by.partition(':')[0]}" for row in LEARNERS.values()}
    assert others & set(modules([AUTO])) == {AUTO}


def test_what_a_row_of_the_registry_says() -> None:
    row = LearnerRow("iht", "hard_thresholding:HardThresholdingLearner", "words", "literature")
    text, behind = made_by(row)
    assert behind == ("keyhole.learners.hard_thresholding",)
    same = LearnerRow("other", row.made_by, "other words", "baseline", compared=True)
    assert made_by(same) == (text, behind)
    moved = LearnerRow("iht", "elsewhere:HardThresholdingLearner", "words", "literature")
    assert made_by(moved)[0] == text
    assert made_by(LearnerRow("", row.made_by, "", "paper", {"hybrid": True}))[0] != text
