"""The compiled library of a copy of the project: with a bug in one source, or watched by gcov."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from keyhole.core import compiler

WATCHING = """
void __gcov_dump(void);
void __gcov_reset(void);
__attribute__((visibility("default"))) void kh_dump(void) { __gcov_dump(); }
__attribute__((visibility("default"))) void kh_reset(void) { __gcov_reset(); }
"""


class Library:
    """Objects of all sources are kept, so that one changed source is all that is compiled again."""

    def __init__(self, place: Path) -> None:
        self.sources = place / "src" / "keyhole" / "core" / "c"
        self.lib = place / "src" / "keyhole" / "core" / "lib"
        self.objects, self.command = place / "objects", compiler.compiler()
        compiler.SOURCES = self.sources  # names are digests of these

    def build(self, changed: Path | None = None) -> None:
        """Put the library there, of these sources, one of which may have changed."""
        if not self.objects.exists():
            self.objects.mkdir()
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(self._compile, sorted(self.sources.glob("*.c"))))
        objects = {file.stem: file for file in self.objects.glob("*.o")}
        if changed is not None:
            objects[changed.stem] = self._compile(changed, self.objects / "changed")
        self._link(list(objects.values()))

    @contextmanager
    def watched(self, names: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Within: the library writes down which lines of these sources are run, if it is asked."""
        if not names:
            yield {"library": "", "watched": {}}
            return
        self.build()
        there = self.objects / "watched"
        extra = self.sources / "watching.c"
        extra.write_text(WATCHING)
        objects = {file.stem: file for file in self.objects.glob("*.o")}
        seen = {Path(name).stem: name for name in names}
        for stem in (*seen, "watching"):
            flag = ["--coverage", "-O0"] if stem in seen else []
            objects[stem] = self._compile(self.sources / f"{stem}.c", there, flag)
        library = self._link(list(objects.values()), ["--coverage"])
        try:
            data = {name: str(there / f"{stem}.gcda") for stem, name in seen.items()}
            yield {"library": str(library), "watched": data}
        finally:
            extra.unlink()

    def _compile(self, source: Path, folder: Path | None = None, more: Sequence[str] = ()) -> Path:
        folder = folder or self.objects
        folder.mkdir(exist_ok=True)
        made = folder / f"{source.stem}.o"
        call = [
            *self.command,
            *compiler.flags(),
            "-fPIC",
            *more,
            "-c",
            str(source),
            "-o",
            str(made),
        ]
        subprocess.run(call, check=True, capture_output=True)
        return made

    def _link(self, objects: Sequence[Path], more: Sequence[str] = ()) -> Path:
        self.lib.mkdir(exist_ok=True)
        library = self.lib / compiler.name()
        call = [*self.command, *more, "-shared", *map(str, objects), "-lm", "-o", str(library)]
        subprocess.run(call, check=True, capture_output=True)
        return library


def compiles(source: str, beside: Path) -> bool:
    """Whether a source of C, which stands in a folder with its headers, can be compiled."""
    flags = [*compiler.flags(), "-w", "-I", str(beside)]
    call = [*compiler.compiler(), *flags, "-fsyntax-only", "-x", "c", "-"]
    return subprocess.run(call, input=source.encode(), capture_output=True).returncode == 0
