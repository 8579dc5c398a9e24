"""`import keyhole` is light, and the rooms import one way."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HEAVY = [
    "scipy",
    "highspy",
    "joblib",
    "dask",
    "distributed",
    "fsspec",
    "jinja2",
    "matplotlib",
    "narwhals",
    "psycopg",
    "sqlite3",
    "pandas",
    "polars",
    "pyarrow",
    "sklearn",
    "river",
    "typer",
]
NOT_FOR_A_RUN = (".counter", ".theory", ".diagnosis", ".plots", "report.page.", ".saving")
MODULES_OF_A_RUN = 129


def loaded_after(line: str) -> list[str]:
    """The modules that a new process has loaded after `import keyhole` and this line."""
    code = f"import sys, keyhole; {line}; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return result.stdout.split()


@pytest.mark.parametrize(
    "line",
    ["pass", "keyhole.Problem(d=4, k=1, budget=2)", "list(keyhole.LEARNERS)", "dir(keyhole)"],
)
def test_import_is_light(line: str) -> None:
    assert set(HEAVY) & set(loaded_after(line)) == set()


def test_a_name_loads_what_it_needs_and_no_more() -> None:
    own = [name for name in loaded_after("keyhole.Problem") if name.startswith("keyhole")]
    assert len(own) < 12, own


@pytest.mark.parametrize("sizes", [[], ["--budget", "2", "--sparsity", "1"]])
def test_keyhole_run_loads_what_it_uses(sizes: list[str], tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    rows = np.random.default_rng(1).normal(size=(120, 4))
    np.savetxt(file, rows, delimiter=",", header="a,b,c,y", comments="")
    command = ["run", str(file), "--target", "y", "--json", *sizes]
    printed = loaded_after(f"from keyhole.cli.app import run; run({command!r})")
    own = [name for name in printed if name == "keyhole" or name.startswith("keyhole.")]
    unused = [name for name in own if any(part in name for part in NOT_FOR_A_RUN)]
    assert unused == []
    assert len(own) <= MODULES_OF_A_RUN, own


def test_other_libraries_are_imported_by_their_adapter_only() -> None:
    code = """
import sys
import keyhole.adapters
print([m for m in ("sklearn", "river") if m in sys.modules])
sys.modules["sklearn"] = None  # as if it were not installed
try:
    import keyhole.adapters.sklearn
except keyhole.MissingExtraError as error:
    print(error)
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    expected = "sklearn is needed here and is not installed: pip install 'keyhole[sklearn]'"
    assert result.stdout.splitlines() == ["[]", expected]


def test_the_public_names_exist() -> None:
    import keyhole

    assert sorted(keyhole.__all__) == sorted(set(keyhole.__all__))
    for name in keyhole.__all__:
        assert hasattr(keyhole, name), name


def test_names_mean_the_same_whatever_was_imported_before() -> None:
    # keyhole.hindsight is a function, and importing the module of that name must not hide it.
    code = """
import importlib, pkgutil, sys
from pathlib import Path
import keyhole
for module in pkgutil.walk_packages(keyhole.__path__, "keyhole."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from keyhole._lazy import read_table
wrong = []
for name, (module, attribute) in read_table(Path(keyhole.__file__).with_suffix(".pyi")).items():
    there = sys.modules[module]
    if getattr(keyhole, name) is not (there if attribute is None else getattr(there, attribute)):
        wrong.append(name)
print(wrong)
print(set(keyhole.__all__) - set(dir(keyhole)), hasattr(keyhole, "nothing"))
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines() == ["[]", "set() False"]
