"""States and sums as the bytes of an .npz archive with a checksum, and back.

A file is an .npz, which is a zip archive: `header.json` and one .npy for every larger array.
Nothing is pickled and nothing of a file is executed. The archive's comment ends in a SHA-256 of all
the bytes before it, so a file that was cut off or changed anywhere is refused before it is parsed.
"""

from __future__ import annotations

import io
import json
import math
import struct
import zipfile
from collections.abc import Callable, Mapping
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.problem import Problem, StateError
from keyhole.problem.prices import Prices
from keyhole.problem.problem import limits_from, problem_to_dict
from keyhole.problem.state import LearnerState, Tree
from keyhole.saving.checksum import (
    CHECKSUM_PLACEHOLDER,
    ChecksummedWriter,
    WritePiece,
    verify_checksum,
)
from keyhole.version import __version__

LEARNER_FORMAT = 2  # of the files written here; all up to this one can be read
SUMS_FORMAT = 1
MAX_ARRAY_HEADER = 1 << 16  # bytes that the header of an array has at most
MAX_INLINE_SIZE = 64  # arrays of at most this many numbers are in the header

_NUMBERS = frozenset(("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"))


def encode(state: LearnerState, version: str) -> bytes:
    """A state as the bytes of a file, written by this version of the package."""
    pieces = list[memoryview]()
    write_state(state, version, pieces.append)
    return b"".join(pieces)


def write_state(state: LearnerState, version: str, put: WritePiece) -> None:
    """The same, piece by piece: nothing is copied."""
    arrays: dict[str, NDArray[Any]] = {}
    problem = problem_to_dict(state.problem)
    if state.problem.prices is None:  # files without prices do not name them
        del problem["prices"]
    header = {
        "format": LEARNER_FORMAT,
        "keyhole": version,
        "learner": state.learner,
        "problem": problem,
        "round": state.round,
        "settings": {k: _plain(v, f"settings.{k}", arrays) for k, v in state.settings.items()},
        "parts": {k: _plain(v, k, arrays) for k, v in state.parts.items()},
    }
    write_archive(header, arrays, put)


def write_archive(header: dict[str, Any], arrays: dict[str, NDArray[Any]], put: WritePiece) -> None:
    """A header and arrays as the bytes of a file, with the checksum of all of them."""
    with ChecksummedWriter(put) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        # ZipInfo without a time: the same state gives the same bytes.
        archive.writestr(zipfile.ZipInfo("header.json"), _header(header))
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
                _write_array(member, array)
        archive.comment = CHECKSUM_PLACEHOLDER


def _write_array(member: IO[bytes], array: NDArray[Any]) -> None:
    """What `np.save` writes, without a copy of the array in pieces."""
    header = np.lib.format.header_data_from_array_1_0(array)
    np.lib.format.write_array_header_1_0(member, header)
    flat = np.ascontiguousarray(array.T if header["fortran_order"] else array)
    member.write(flat.reshape(-1).view(np.uint8).data)


def _header(header: dict[str, Any]) -> bytes:
    text = json.dumps(header, allow_nan=False, ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        around = text[max(error.start - 20, 0) : error.end + 20]
        raise StateError(
            "this learner cannot be saved: a name or a setting has an unpaired surrogate, which "
            f"cannot be written as text, near {around!r}; rename it"
        ) from None


def decode(data: bytes) -> LearnerState:
    """The state that `encode` was given, or a StateError."""
    return decode_in_place(data).copied()


def decode_in_place(data: bytes) -> LearnerState:
    """The same, but larger arrays are where the data have them: to be read, and not for long."""
    return read_archive(data, _state)


def _state(header: dict[str, Any], members: dict[str, memoryview]) -> LearnerState:
    if "sums" in header:
        raise StateError("it holds sums, not a learner: kh.load(path, kh.DataSums)")
    _refuse_format(header, LEARNER_FORMAT)
    return LearnerState(
        _text(header["learner"]),
        _problem(**header["problem"]),
        int(header["round"]),
        {_text(k): _tree(v, members) for k, v in header["settings"].items()},
        {_text(k): _tree(v, members) for k, v in header["parts"].items()},
    )


T = TypeVar("T")


def read_archive(data: bytes, make: Callable[[dict[str, Any], dict[str, memoryview]], T]) -> T:
    """What is made of the header and the members of a sealed file, or a StateError."""
    verify_checksum(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {
                info.filename: _member_bytes(data, info) for info in _stored(archive, len(data))
            }
        return make(json.loads(bytes(members["header.json"])), members)
    except StateError:
        raise
    except Exception as error:  # the checksum is right: made by hand, or by something else
        what = f"{type(error).__name__}: {error}"
        raise StateError(f"the file is not what keyhole.save writes ({what})") from None


def _problem(
    prices: dict[str, Any] | None = None, limits: dict[str, Any] | None = None, **sizes: Any
) -> Problem:
    """The problem of a header; its prices are not made from a list, they are what was saved."""
    kept = None if prices is None else Prices.from_dict(prices)
    return Problem(**sizes, prices=kept, limits=limits_from(limits, sizes["d"]))


def _refuse_format(header: dict[str, Any], newest: int) -> None:
    version = header["format"]
    if type(version) is not int or version < 1:
        raise StateError(f"its format is {version!r}, not a number")
    if version > newest:
        raise StateError(
            f"its format {version} is newer than this keyhole, which reads up to {newest}: "
            f"it was written by keyhole {header.get('keyhole')}, upgrade to that"
        )


def _stored(archive: zipfile.ZipFile, size: int) -> list[zipfile.ZipInfo]:
    """The members, if they are what a file of this size can hold.

    A compressed one may be a bomb, and so may many that share the same bytes.
    """
    infos = archive.infolist()
    if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
        raise StateError("the file is not what keyhole.save writes: it is compressed")
    names = [info.filename for info in infos]
    if len(set(names)) < len(names) or sum(info.file_size for info in infos) > size:
        raise StateError("the file is not what keyhole.save writes: its members overlap")
    return infos


def _member_bytes(data: bytes, info: zipfile.ZipInfo) -> memoryview:
    """The bytes of a stored member where they are: the checksum of all bytes vouches for them."""
    start = info.header_offset
    name, extra = struct.unpack("<HH", data[start + 26 : start + 30])
    begin = start + 30 + name + extra
    if data[start : start + 4] != b"PK\x03\x04" or begin + info.file_size > len(data):
        raise StateError(f"the file is not what keyhole.save writes: {info.filename} is not there")
    return memoryview(data)[begin : begin + info.file_size]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise StateError(f"the file has {value!r} where a name should be")
    return value


def _plain(tree: Tree, where: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """A tree as JSON; larger arrays are left behind in `arrays`. Every float is kept exactly."""
    if isinstance(tree, dict):
        return {key: _plain(value, f"{where}.{key}", arrays) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_plain(value, f"{where}.{i}", arrays) for i, value in enumerate(tree)]
    if isinstance(tree, float) and not math.isfinite(tree):
        return {"is": "float", "of": repr(tree)}  # JSON has no word for it
    if not isinstance(tree, np.ndarray):
        return tree
    dtype = tree.dtype.newbyteorder("<").str
    if tree.size > MAX_INLINE_SIZE or not tree.flags.c_contiguous:
        arrays[f"{where}.npy"] = tree.astype(dtype, copy=False)
        return {"is": "array", "at": f"{where}.npy"}
    values = [v if math.isfinite(v) else repr(v) for v in tree.ravel().tolist()]
    return {"is": "array", "dtype": dtype, "shape": list(tree.shape), "of": values}


def _tree(plain: Any, members: dict[str, memoryview]) -> Tree:
    """What `_plain` was given."""
    if isinstance(plain, list):
        return [_tree(value, members) for value in plain]
    if not isinstance(plain, dict):
        return plain
    if plain.get("is") == "float":
        return float(plain["of"])
    if plain.get("is") == "array" and "at" in plain:
        return member(members[plain["at"]])
    if plain.get("is") == "array":
        values = np.array(plain["of"], dtype=_number_type(plain["dtype"]))
        return _native_order(values.reshape(plain["shape"]))
    return {key: _tree(value, members) for key, value in plain.items()}


def member(data: memoryview) -> NDArray[Any]:
    """The array of an .npy member, where the data are: it can only be read."""
    file = io.BytesIO(data[:MAX_ARRAY_HEADER])
    version = np.lib.format.read_magic(file)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, fortran, dtype = read_header(file)
    kind = _number_type(dtype.str)
    held = data[file.tell() :]
    if math.prod(shape) * kind.itemsize != len(held):
        raise StateError(f"an array of shape {shape} is said to have {len(held)} bytes")
    flat = np.frombuffer(held, dtype=kind)
    return _native_order(flat.reshape(shape, order="F" if fortran else "C"))


def _number_type(name: object) -> np.dtype[Any]:
    """A type of numbers by its name, or a StateError; names can stand for types of any size."""
    if not isinstance(name, str) or name[1:] not in _NUMBERS:
        raise StateError(f"the file has an array of {name!r}")
    return np.dtype(name)


def _native_order(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def write_sums(sums: DataSums, put: WritePiece) -> None:
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


def _write(arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any], put: WritePiece) -> None:
    header = {"format": SUMS_FORMAT, "keyhole": __version__, "sums": dict(about)}
    members = {f"{name}.npy": np.asarray(array, order="C") for name, array in arrays.items()}
    write_archive(header, members, put)


def arrays_from_bytes(data: bytes) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """What `arrays_to_bytes` was given, or a StateError."""
    return read_archive(data, _parts)


def _parts(
    header: dict[str, Any], members: dict[str, memoryview]
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    if "sums" not in header:
        raise StateError(f"it holds a {header.get('learner')}, not sums: kh.load(path)")
    _refuse_format(header, SUMS_FORMAT)
    names = [name for name in members if name.endswith(".npy")]
    return {name[:-4]: np.array(member(members[name])) for name in names}, header["sums"]
