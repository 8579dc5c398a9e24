"""Sums as the bytes of a file, and back: sealed as those of learners are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.problem import StateError
from keyhole.saving.archive import member, opened, write_sealed
from keyhole.saving.seal import Put
from keyhole.version import __version__

FORMAT = 1


def write_sums(sums: DataSums, put: Put) -> None:
    """Everything there is to say of some sums, as the bytes of a file piece by piece."""
    about = {
        "names": None if sums.names is None else list(sums.names),
        "target": sums.target,
        "left_out": sums.left_out,
        "parts": list(sums.parts),
    }
    _write(sums.arrays(), about, put)


def sums_from_bytes(data: bytes) -> DataSums:
    """The sums that `write_sums` was given, or a StateError."""
    arrays, about = arrays_from_bytes(data)
    return DataSums.from_arrays(arrays, **about)


def arrays_to_bytes(arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any]) -> bytes:
    """Named arrays of numbers, and what is to be said of them."""
    pieces = list[memoryview]()
    _write(arrays, about, pieces.append)
    return b"".join(pieces)


def _write(arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any], put: Put) -> None:
    header = {"format": FORMAT, "keyhole": __version__, "sums": dict(about)}
    members = {f"{name}.npy": np.asarray(array, order="C") for name, array in arrays.items()}
    write_sealed(header, members, put)


def arrays_from_bytes(data: bytes) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """What `arrays_to_bytes` was given, or a StateError."""
    return opened(data, _parts)


def _parts(
    header: dict[str, Any], members: dict[str, memoryview]
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    if "sums" not in header:
        raise StateError(f"it holds a {header.get('learner')}, not sums: kh.load(path)")
    if not isinstance(header["format"], int) or header["format"] > FORMAT:
        raise StateError(
            f"its format {header['format']} is newer than this keyhole, which reads up to "
            f"{FORMAT}: it was written by keyhole {header.get('keyhole')}, upgrade to that"
        )
    names = [name for name in members if name.endswith(".npy")]
    return {name[:-4]: np.array(member(members[name])) for name in names}, header["sums"]
