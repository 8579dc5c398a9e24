"""Files with bytes that were changed: tables; saved learners, with or without the right seal."""

from __future__ import annotations

import functools
import hashlib
import io
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import keyhole as kh
from benchmarks.attack.states import genuine
from benchmarks.attack.victims import NAMES
from keyhole.saving.api import from_bytes
from keyhole.saving.archive import encode

Case = list[Any]

DRAWS = 400  # of each kind and learner


def cases() -> Iterator[Case]:
    """Kind, learner, draw."""
    for kind in ("learner", "sealed learner"):
        for name in NAMES:
            for draw in range(DRAWS):
                yield [kind, name, draw]
    for draw in range(20 * DRAWS):
        yield ["table", "", draw]


def suffer(case: Case) -> str:
    """Read it: a KeyholeError, or something whole."""
    kind, name, _ = case
    rng = np.random.default_rng(zlib.crc32(repr(case).encode()))
    try:
        if kind == "table":
            _read(_damaged(TABLE, rng))
        else:
            data = _damaged(_saved(name)[:-64], rng)
            seal = hashlib.sha256(data).hexdigest().encode()
            from_bytes(data + (seal if kind == "sealed learner" else _saved(name)[-64:]))
    except kh.KeyholeError:
        return "refused"
    return "played"


@functools.cache
def _saved(name: str) -> bytes:
    return encode(genuine(name, 0, "waiting"), "attack")


def _damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes changed, put in, left out, or the end cut off."""
    out = bytearray(data)
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(len(out)))
        new = rng.integers(0, 256, size=rng.integers(0, 4)).astype(np.uint8).tobytes()
        out[at : at + int(rng.integers(0, 4))] = new
    if rng.random() < 0.1:
        del out[int(rng.integers(len(out))) :]
    return bytes(out) or b"?"


def _read(data: bytes) -> None:
    """As a table with a target; every row is gone through."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.csv")
        path.write_bytes(data)
        stream = kh.streams.read(path, target="y")
        for _, y in stream:
            if not np.isfinite(y):
                raise AssertionError(f"label {y}")


def _table() -> bytes:
    rng, text = np.random.default_rng(0), io.StringIO()
    text.write("a,b,colour,y\n")
    for a, b, y in rng.normal(size=(30, 3)).tolist():
        text.write(f'{a:.4g},{b:.3f},"{"red" if a > 0 else "blue, dark"}",{y:.4g}\n')
    return text.getvalue().encode()


TABLE = _table()
