"""How keyhole is built: by hatchling, with its C compiled into one library.

An editable install compiles into the package folder, a wheel holds the library and no sources. Its
tag is py3-none-<platform>, for every Python. `KEYHOLE_TARGET`, a row of `TARGETS`, has zig compile
for another platform.
"""

from __future__ import annotations

import importlib.util
import os
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling import build as hatchling
from hatchling.build import (  # noqa: F401
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_sdist,
)
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

INSIDE = "keyhole/core"
TARGETS = {  # what zig is told: the tag of the wheel, the name Python has for the system
    "x86_64-linux-gnu.2.17": ("manylinux_2_17_x86_64", "linux"),
    "aarch64-linux-gnu.2.17": ("manylinux_2_17_aarch64", "linux"),
    "x86_64-macos.11.0": ("macosx_11_0_x86_64", "darwin"),
    "aarch64-macos.11.0": ("macosx_11_0_arm64", "darwin"),
    "x86_64-windows-gnu": ("win_amd64", "win32"),
}


def _compiler() -> Any:
    # By its path: the package itself needs numpy, which building does not.
    path = Path(__file__).parent / "src" / INSIDE / "compiler.py"
    spec = importlib.util.spec_from_file_location("keyhole_compiler", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _needs() -> list[str]:
    compiler = _compiler()
    if os.environ.get("KEYHOLE_TARGET"):
        return ["ziglang"]
    try:
        compiler.compiler()
    except compiler.NoCompiler:
        return ["ziglang"]
    return []


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """What a wheel is built with: where there is no C compiler, the one that ziglang has."""
    return [*hatchling.get_requires_for_build_wheel(config_settings), *_needs()]


def get_requires_for_build_editable(config_settings: dict[str, Any] | None = None) -> list[str]:
    """The same for an editable install."""
    return [*hatchling.get_requires_for_build_editable(config_settings), *_needs()]


class CompiledLibrary(BuildHookInterface):
    """Compiles the library before a wheel is put together, or an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling."""
        if self.target_name != "wheel":
            return
        compiler = _compiler()
        try:
            if version == "editable":
                folder = Path(self.root) / "src" / INSIDE / "lib"
                if not (folder / compiler.name()).exists():
                    compiler.build(folder)
                return
            target = os.environ.get("KEYHOLE_TARGET", "")
            if target and target not in TARGETS:
                known = ", ".join(TARGETS)
                raise SystemExit(f"KEYHOLE_TARGET must be one of {known}, got {target!r}")
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            tag, system = TARGETS.get(target, (platform, None))
            command = [*compiler.zig(), "-target", target] if target else None
            self._folder = tempfile.TemporaryDirectory()
            library = compiler.build(Path(self._folder.name), command, system)
        except compiler.NoCompiler as fault:
            raise SystemExit(str(fault)) from None
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{tag}"
        build_data["force_include"][str(library)] = f"{INSIDE}/lib/{library.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called by hatchling when the wheel is there."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()
