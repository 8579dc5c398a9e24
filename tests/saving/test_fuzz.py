"""Whatever is in a file, loading it gives a learner or a StateError."""

import copy
import functools
import hashlib
import io
import json
import zipfile
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keyhole as kh
from keyhole.learners.registry import learner_classes
from keyhole.saving import api as state

FIELDS = st.sampled_from(["is", "of", "at", "dtype", "shape", "round", "d", "seed"])
NUMBERS = st.integers(-3, 40) | st.just(2**70) | st.floats(allow_nan=False)
WORDS = FIELDS | st.sampled_from(["array", "float", "dict", "tuple", "Draw", "<f8", "|O", "nan"])
PLAIN = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=6,
)


@functools.cache
def members(name: str) -> dict[str, bytes]:
    learner = kh.LEARNERS[name](kh.Problem(6, 2, 6), seed=1)
    X = np.random.default_rng(0).uniform(-1, 1, (70, 6))
    kh.play(learner, kh.streams.ArrayStream(X, X[:, 0]))
    learner.ask()
    with zipfile.ZipFile(io.BytesIO(state.to_bytes(learner))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sealed(parts: dict[str, bytes]) -> bytes:
    """An archive of these members with the right checksum."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
        archive.comment = b"keyhole state, SHA-256 " + b"-" * 64
    return seal(buffer.getvalue()[:-64])


def seal(content: bytes) -> bytes:
    return content + hashlib.sha256(content).hexdigest().encode()


def loads_or_refuses(content: bytes) -> None:
    try:
        learner = state.from_bytes(content)
    except kh.StateError:
        return
    assert type(learner) in learner_classes().values()
    learner.state()


@settings(max_examples=250)
@given(st.binary(max_size=300), st.booleans())
def test_any_bytes(content: bytes, proper: bool) -> None:
    loads_or_refuses(content)
    head = b"PK\x03\x04" if proper else b""
    loads_or_refuses(seal(head + content + b"keyhole state, SHA-256 "))


@pytest.mark.parametrize("name", kh.LEARNERS)
@settings(max_examples=12)
@given(data=st.data())
def test_any_change_of_the_bytes_with_the_right_checksum(name: str, data: st.DataObject) -> None:
    whole = bytearray(sealed(members(name))[:-64])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    loads_or_refuses(seal(bytes(whole)))


@pytest.mark.parametrize("name", kh.LEARNERS)
@settings(max_examples=12)
@given(data=st.data())
def test_any_change_of_the_header(name: str, data: st.DataObject) -> None:
    """A branch of the header is replaced, removed or put elsewhere."""
    parts = dict(members(name))
    header = json.loads(parts["header.json"])
    spare = copy.deepcopy(branches(header))
    for _ in range(data.draw(st.integers(1, 2))):
        parent, key = data.draw(st.sampled_from(branches(header)))
        if data.draw(st.booleans()):
            parent[key] = data.draw(PLAIN)
        elif isinstance(parent, dict) and data.draw(st.booleans()):
            del parent[key]
        else:
            other, place = data.draw(st.sampled_from(spare))
            parent[key] = copy.deepcopy(other[place])
    parts["header.json"] = json.dumps(header).encode()
    loads_or_refuses(sealed(parts))


def branches(tree: Any) -> list[tuple[Any, Any]]:
    """Every place of a tree, as a container and a key in it."""
    keys = tree.keys() if isinstance(tree, dict) else range(len(tree))
    found: list[tuple[Any, Any]] = []
    for key in keys:
        found.append((tree, key))
        if isinstance(tree[key], dict | list):
            found += branches(tree[key])
    return found


@pytest.mark.parametrize("name", kh.LEARNERS)
@settings(max_examples=8)
@given(data=st.data())
def test_any_change_of_the_arrays(name: str, data: st.DataObject) -> None:
    """Arrays change places, types and shapes, or are something else."""
    parts = dict(members(name))
    arrays = [member for member in parts if member != "header.json"]
    if not arrays:
        return
    one = data.draw(st.sampled_from(arrays))
    other = data.draw(st.sampled_from(sorted(parts)))
    shape = data.draw(st.sampled_from([(), (0,), (3,), (36,), (6, 6), (70, 2), (1, 1, 1)]))
    dtype = data.draw(st.sampled_from(["f8", "i8", "f4", "c16", "U3", "M8[s]", ">f8"]))
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(shape, dtype=dtype))
    parts[one] = data.draw(st.sampled_from([buffer.getvalue(), parts[other], b"\x93NUMPY", b""]))
    loads_or_refuses(sealed(parts))
