"""How the C of `core/c` becomes one shared library: which compiler, which flags, which name.

Used when the package is built, and in a checkout whenever a source has changed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

SOURCES = Path(__file__).with_name("c")
# No -ffast-math: block play and single rounds agree bit for bit, and NaN means absent. Not -O2:
# gcc vectorises the loops over features with -O3 only.
FLAGS = (
    "-std=gnu11",
    "-O3",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fvisibility=hidden",
)
CHECKED = (
    "-std=gnu11",
    "-O1",
    "-g",
    "-DKH_DEBUG",
    "-ffp-contract=off",
    "-fno-omit-frame-pointer",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=undefined",
    "-fvisibility=hidden",
)
SANITIZE = "KEYHOLE_SANITIZE"  # set in the environment: checked code, for `make sanitize`
MISSING = (
    "keyhole's C code needs a compiler, and none was found: install gcc or clang (or set CC), or "
    "`pip install ziglang`"
)


class NoCompiler(RuntimeError):
    """There is nothing to compile with."""


def suffix(platform: str = sys.platform) -> str:
    """What shared libraries end with."""
    return {"win32": ".dll", "darwin": ".dylib"}.get(platform, ".so")


def sanitized() -> bool:
    """Whether the environment asks for code that checks itself."""
    return bool(os.environ.get(SANITIZE))


def sanitizing() -> dict[str, str]:
    """The environment of a process that runs code which checks itself, compiled by `cc`."""
    found = [
        subprocess.run(
            ["cc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
        )
        for name in ("libasan.so", "libubsan.so")
    ]
    preloaded = " ".join(done.stdout.strip() for done in found)
    return {SANITIZE: "1", "ASAN_OPTIONS": "detect_leaks=0", "LD_PRELOAD": preloaded}


def flags() -> tuple[str, ...]:
    """What the compiler is told, for the kind of library that the environment asks for."""
    return CHECKED if sanitized() else FLAGS


def name(platform: str = sys.platform) -> str:
    """The file name of the library that these sources and flags make."""
    seen = hashlib.sha256(" ".join(flags()).encode())
    for source in sorted(SOURCES.iterdir()):
        seen.update(source.name.encode() + b"\0" + source.read_bytes())
    return f"keyhole-{seen.hexdigest()[:16]}{suffix(platform)}"


def compiler() -> list[str]:
    """The command of a compiler that answers: $CC, cc, gcc, clang, or the one that ziglang has."""
    named = os.environ.get("CC", "").split()
    for command in ([named] if named else []) + [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(command[0]) and _answers(command):
            return command
    if find_spec("ziglang") is not None:
        return zig()
    raise NoCompiler(MISSING)


def zig() -> list[str]:
    """The command of zig's C compiler; it adds checks of its own unless told not to."""
    return [sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=all"]


def _answers(command: list[str]) -> bool:
    # macOS has a `cc` that only offers to install one.
    done = subprocess.run([*command, "--version"], capture_output=True, check=False)
    return done.returncode == 0


def build(folder: Path, command: Sequence[str] | None = None, platform: str | None = None) -> Path:
    """Compile everything into a library in the folder, for this platform or another; the library.

    It appears there whole or not at all, so that several processes may do this at once.
    """
    command = compiler() if command is None else list(command)
    platform = sys.platform if platform is None else platform
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="building-") as room:
        sources = sorted(SOURCES.glob("*.c"))
        position = [] if platform == "win32" else ["-fPIC"]
        objects = [Path(room) / f"{source.stem}.o" for source in sources]

        def compile_one(source: Path, into: Path) -> None:
            _run([*command, *flags(), *position, "-c", str(source), "-o", str(into)])

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(compile_one, sources, objects))
        library = Path(room) / name(platform)
        linked = [flag for flag in flags() if flag.startswith("-fsanitize")]
        mathematics = [] if platform == "win32" else ["-lm"]
        _run([*command, *linked, "-shared", *map(str, objects), *mathematics, "-o", str(library)])
        return library.replace(folder / library.name)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
