"""`import keyhole` is light, and the rooms import one way."""

import subprocess
import sys

HEAVY = [
    "numba",
    "scipy",
    "highspy",
    "jinja2",
    "matplotlib",
    "narwhals",
    "pandas",
    "polars",
    "pyarrow",
    "sklearn",
    "river",
    "typer",
]


def test_import_is_light() -> None:
    code = f"import sys, keyhole; print([m for m in {HEAVY} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_the_public_names_exist() -> None:
    import keyhole

    assert sorted(keyhole.__all__) == sorted(set(keyhole.__all__))
    for name in keyhole.__all__:
        assert hasattr(keyhole, name), name
