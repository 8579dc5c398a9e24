"""Compile kernels ahead of time, into an extension module that needs no numba.

    python -m tools.build_kernels [--into FOLDER] [--remove] [--kernels NAME ...]

It takes some minutes. Without a folder, the module is put beside `keyhole.blocks.jit.ahead`, which
uses it from then on; any edit of a kernel makes it stale, and numba compiles again. What is in it
is noted while learners play (`tools/kernel_calls.py`); a wheel is built with all of it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from keyhole.blocks.jit import ahead
from keyhole.blocks.jit.forms import Form
from keyhole.blocks.jit.sources import digest
from tools.kernel_calls import Call, form, record


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    home = Path(ahead.__file__).parent
    parser.add_argument("--into", type=Path, default=home, help="the folder for the module")
    parser.add_argument("--kernels", nargs="+", metavar="NAME", help="only these, as module:name")
    parser.add_argument("--remove", action="store_true", help="remove the module that is there")
    options = parser.parse_args(arguments)
    if options.remove:
        remove(options.into)
        return 0
    _for_the_target()
    began, made_from = time.process_time(), digest()
    calls = [
        call for call in record() if call.kernel.name in (options.kernels or [call.kernel.name])
    ]
    files = build(options.into, calls, made_from)
    size = sum(file.stat().st_size for file in files) / 1e6
    _say(f"{len(calls)} kernels, {size:.1f} MB, {time.process_time() - began:.0f} CPU seconds")
    return 0


def remove(folder: Path) -> None:
    """Take away what `build` made there."""
    for file in folder.glob(f"{ahead.NAME}.*"):
        file.unlink()


def build(folder: Path, calls: Sequence[Call], made_from: str) -> list[Path]:
    """Compile kernels for these calls, and write the module and its list; the files."""
    remove(folder)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # numba's about the future of pycc, setuptools' about its own
        cc: Any = import_module("numba.pycc").CC(ahead.NAME, source_module=__name__)
        cc.target_cpu, cc.output_dir = ahead.target(), str(folder)
        rows: dict[str, list[dict[str, Any]]] = {}
        for number, call in enumerate(calls):
            _say(f"[{number + 1}/{len(calls)}] {call.kernel.name}")
            rows.setdefault(call.kernel.name, []).append(_export(cc, f"kernel_{number}", call))
        _say("making one module of them")
        cc.compile()
    about = {"format": ahead.FORMAT, "digest": made_from, "target": ahead.target()}
    text = json.dumps({**about, "kernels": rows}, separators=(",", ":"))
    (folder / f"{ahead.NAME}.json").write_text(text, encoding="utf-8")
    return sorted(folder.glob(f"{ahead.NAME}.*"))


def _export(cc: Any, symbol: str, call: Call) -> dict[str, Any]:
    # Compile a kernel, and export a function that takes and returns its numbers and arrays. Tuples
    # of a class would be taken apart and made by code of numba's, which would have to be imported.
    target = call.kernel.compiled()
    target.compile(call.types)
    returned = target.overloads[call.types].signature.return_type
    result = None if str(returned) == "none" else form(returned)
    known: dict[str, Any] = {"target": target}
    leaves: list[Any] = []
    arguments = ", ".join(_made(kind, leaves, known) for kind in call.types)
    names = ", ".join(f"a{i}" for i in range(len(leaves)))
    back = "" if result is None else f"return {_taken('r', result)}"
    exec(f"def {symbol}({names}):\n    r = target({arguments})\n    {back}\n", known)
    cc.export(symbol, tuple(leaves))(known[symbol])
    return {"symbol": symbol, "arguments": [form(kind) for kind in call.types], "result": result}


def _made(kind: Any, leaves: list[Any], known: dict[str, Any]) -> str:
    # An expression that makes an argument out of a0, a1, ...
    from numba import types

    if not isinstance(kind, types.BaseTuple):
        leaves.append(kind)
        return f"a{len(leaves) - 1}"
    parts: Any = kind
    inside = "".join(_made(part, leaves, known) + ", " for part in parts)
    if (made := getattr(kind, "instance_class", None)) is None:
        return f"({inside})"
    name = f"{made.__module__}_{made.__qualname__}".replace(".", "_")
    known[name] = made
    return f"{name}({inside})"


def _taken(name: str, form: Form) -> str:
    # An expression that makes plain tuples out of a result.
    if isinstance(form, str) or form[0] == "array":
        return name
    inside = "".join(_taken(f"{name}[{i}]", part) + ", " for i, part in enumerate(form[2]))
    return f"({inside})"


def _for_the_target() -> None:
    # What kernels call is compiled for the processor that numba believes in: start anew with ours.
    wanted = {"NUMBA_CPU_NAME": ahead.target(), "NUMBA_CPU_FEATURES": ""}
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        command = [sys.executable, "-m", "tools.build_kernels", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, **wanted})


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
