"""How wheels are built: by hatchling, with kernels compiled ahead of time inside.

`KEYHOLE_WHEEL=pure` leaves them out, for a wheel that fits every system and Python;
`KEYHOLE_WHEEL=aot` fails where they cannot be compiled. Without it they are compiled if that works,
and left out with a warning if not. An editable install compiles nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from hatchling import build as hatchling
from hatchling.build import (  # noqa: F401
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
)
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PURE, AOT = "pure", "aot"
INSIDE = "keyhole/blocks/jit"  # where the module belongs


def wish() -> str:
    """What kind of wheel is asked for; empty if that is left to us."""
    found = os.environ.get("KEYHOLE_WHEEL", "")
    if found not in ("", PURE, AOT):
        raise SystemExit(f"KEYHOLE_WHEEL must be {PURE} or {AOT}, not {found!r}")
    return found


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """What a wheel is built with: learners play, to compile their kernels. Not an editable one."""
    required: list[str] = hatchling.get_requires_for_build_wheel(config_settings)
    if wish() == PURE:
        return required
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*required, *project["dependencies"], "setuptools"]


class CompiledKernels(BuildHookInterface):
    """Compiles the kernels before a wheel is put together."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling."""
        if self.target_name != "wheel" or version == "editable" or wish() == PURE:
            return
        self._folder = tempfile.TemporaryDirectory()
        paths = [str(Path(self.root) / "src"), self.root, os.environ.get("PYTHONPATH", "")]
        known = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "tools.build_kernels", "--into", self._folder.name]
        done = subprocess.run(command, cwd=self.root, env={**os.environ, **known}, check=False)
        if done.returncode == 0:
            build_data["pure_python"], build_data["infer_tag"] = False, True
            for file in sorted(Path(self._folder.name).iterdir()):
                build_data["force_include"][str(file)] = f"{INSIDE}/{file.name}"
        elif wish() == AOT:
            raise SystemExit("the kernels could not be compiled (see above)")
        else:
            self.app.display_warning(
                "the kernels could not be compiled ahead of time (see above): this wheel has none, "
                "and numba will compile them when they are first used"
            )

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called by hatchling when the wheel is there."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()
