"""A learner's state as the bytes of a file, and back.

A file is an .npz, which is a zip archive: `header.json` and one .npy for every larger array.
Nothing is pickled and nothing of a file is executed. The archive's comment ends in a SHA-256 of all
the bytes before it, so a file that was cut off or changed anywhere is refused before it is parsed.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from keyhole.prices import Prices
from keyhole.problem import Problem, StateError
from keyhole.saving.serialize import Tree
from keyhole.saving.snapshot import State

FORMAT = 2  # of the files written here; all up to this one can be read
SMALL = 64  # arrays of at most this many numbers are in the header

_SEAL = b"keyhole state, SHA-256 "
_NUMBERS = frozenset(("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"))


def encode(state: State, version: str) -> bytes:
    """A state as the bytes of a file, written by this version of the package."""
    arrays: dict[str, NDArray[Any]] = {}
    problem = state.problem
    header = {
        "format": FORMAT,
        "keyhole": version,
        "learner": state.learner,
        "problem": {
            "d": problem.d,
            "k": problem.k,
            "budget": problem.budget,
            "names": None if problem.names is None else list(problem.names),
            **({} if problem.prices is None else {"prices": asdict(problem.prices)}),
        },
        "round": state.round,
        "settings": {k: _plain(v, f"settings.{k}", arrays) for k, v in state.settings.items()},
        "parts": {k: _plain(v, k, arrays) for k, v in state.parts.items()},
    }
    return sealed(header, arrays)


def sealed(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """A header and arrays as the bytes of a file, with the checksum of all of them."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        # ZipInfo without a time: the same state gives the same bytes.
        text = json.dumps(header, allow_nan=False, ensure_ascii=False)
        archive.writestr(zipfile.ZipInfo("header.json"), text.encode())
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        archive.comment = _SEAL + b"-" * 64
    data = buffer.getvalue()[:-64]
    return data + hashlib.sha256(data).hexdigest().encode()


def decode(data: bytes) -> State:
    """The state that `encode` was given, or a StateError."""
    return opened(data, _state)


def _state(header: dict[str, Any], members: dict[str, bytes]) -> State:
    if "sums" in header:
        raise StateError("it holds sums, not a learner: kh.load(path, kh.DataSums)")
    _refuse_format(header)
    return State(
        _text(header["learner"]),
        _problem(**header["problem"]),
        int(header["round"]),
        {_text(k): _tree(v, members) for k, v in header["settings"].items()},
        {_text(k): _tree(v, members) for k, v in header["parts"].items()},
    )


T = TypeVar("T")


def opened(data: bytes, make: Callable[[dict[str, Any], dict[str, bytes]], T]) -> T:
    """What is made of the header and the members of a sealed file, or a StateError."""
    if not data[:-64].endswith(_SEAL):
        if data[:4] == b"PK\x03\x04":
            raise StateError("not a file of keyhole.save, or one that was cut off")
        raise StateError("not a file of keyhole.save")
    if hashlib.sha256(data[:-64]).hexdigest().encode() != data[-64:]:
        raise StateError("the file is damaged: its checksum is wrong")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in _stored(archive, len(data))}
        return make(json.loads(members["header.json"]), members)
    except StateError:
        raise
    except Exception as error:  # the checksum is right: made by hand, or by something else
        what = f"{type(error).__name__}: {error}"
        raise StateError(f"the file is not what keyhole.save writes ({what})") from None


def _problem(prices: dict[str, Any] | None = None, **sizes: Any) -> Problem:
    """The problem of a header; its prices are not made from a list, they are what was saved."""
    if prices is None:
        return Problem(**sizes)
    needs = tuple(map(tuple, prices.pop("needs")))
    items, units = tuple(prices.pop("items")), tuple(prices.pop("units"))
    return Problem(**sizes, prices=Prices(items=items, units=units, needs=needs, **prices))


def _refuse_format(header: dict[str, Any]) -> None:
    version = header["format"]
    if type(version) is not int or version < 1:
        raise StateError(f"its format is {version!r}, not a number")
    if version > FORMAT:
        raise StateError(
            f"its format {version} is newer than this keyhole, which reads up to {FORMAT}: "
            f"it was written by keyhole {header.get('keyhole')}, upgrade to that"
        )


def _stored(archive: zipfile.ZipFile, size: int) -> list[str]:
    """The names of the members, if they are what a file of this size can hold.

    A compressed one may be a bomb, and so may many that share the same bytes.
    """
    infos = archive.infolist()
    if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
        raise StateError("the file is not what keyhole.save writes: it is compressed")
    names = [info.filename for info in infos]
    if len(set(names)) < len(names) or sum(info.file_size for info in infos) > size:
        raise StateError("the file is not what keyhole.save writes: its members overlap")
    return names


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
    if tree.size > SMALL or not tree.flags.c_contiguous:
        arrays[f"{where}.npy"] = tree.astype(dtype)
        return {"is": "array", "at": f"{where}.npy"}
    values = [v if math.isfinite(v) else repr(v) for v in tree.ravel().tolist()]
    return {"is": "array", "dtype": dtype, "shape": list(tree.shape), "of": values}


def _tree(plain: Any, members: dict[str, bytes]) -> Tree:
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
        return _native(values.reshape(plain["shape"]))
    return {key: _tree(value, members) for key, value in plain.items()}


def member(data: bytes) -> NDArray[Any]:
    """The array of an .npy member; nothing is allocated that the member does not hold."""
    file = io.BytesIO(data)
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
    return _native(flat.reshape(shape, order="F" if fortran else "C"))


def _number_type(name: object) -> np.dtype[Any]:
    """A type of numbers by its name, or a StateError; names can stand for types of any size."""
    if not isinstance(name, str) or name[1:] not in _NUMBERS:
        raise StateError(f"the file has an array of {name!r}")
    return np.dtype(name)


def _native(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(array.dtype.newbyteorder("="))
